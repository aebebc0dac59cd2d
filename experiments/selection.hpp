// Selection: `algorithm: auto` and `algorithm: nccl` become an algorithm of the registry, size by size.
//
//   auto  The fastest of the candidates by simulation on this cluster. Candidates are all algorithms that do
//         the collective, can run on the cluster, are proven and take no longer to simulate than the limits
//         say. Equally fast ones: the first in the order of the registry.
//   nccl  What NCCL's own model (algorithms/nccl_model.hpp) picks, and the time that it predicts. Its
//         protocol is simulated as the bytes that it puts on the wire: LL carries 4 bytes of data in 8, LL128
//         120 in 128. Options: channels (else derived from the cluster), form (the generation of the GPUs,
//         else by the name of the preset).
//
// How to use  Selector::choose() for a request with is_selection(name); then make_schedule(choice.request,
//             choice.collective). Sizes and bandwidths of reports are those of the collective that was asked
//             for.
// Threads     choose() may be called by any thread; the answer depends on the question alone.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/config/experiment.hpp"
#include "sim/core/units.hpp"
#include "sim/execution/simulation.hpp"
#include "sim/model/algorithm_options.hpp"
#include "sim/model/collective.hpp"
#include "sim/model/topology.hpp"
#include "sim/report/point.hpp"

namespace collsim::program {

bool is_selection(std::string_view name);        // "auto", "nccl"
std::vector<std::string_view> selection_names();  // for lists and "did you mean"
// The options that a selection takes: channels and form of nccl, none of auto.
std::vector<std::string_view> selection_options(std::string_view name);
// One line for `collsim list algorithms`.
std::string_view selection_summary(std::string_view name);

struct Choice {
  AlgorithmRequest request;           // of the registry
  Collective collective;              // what is simulated: bytes as the protocol puts them on the wire
  std::string protocol;               // nccl: "ll", "ll128", "simple"; else empty
  std::optional<Duration> predicted;  // nccl: by its model
  std::optional<Duration> time;       // auto: simulated
};
using ChoiceOrReason = std::variant<Choice, Impossible>;

struct SelectionLimits {
  std::int64_t seconds_max = 10;  // of a candidate, by Simulator::estimate()
  std::int64_t events_max = std::numeric_limits<std::int64_t>::max();
};

class Selector {
 public:
  // The topology must outlive it, and be built from `cluster`.
  Selector(const ClusterSpec& cluster, const Topology& topology, const RunOptions& run_options,
           const SelectionLimits& limits);
  ~Selector();
  // REQUIRES: is_selection(request.name)
  ChoiceOrReason choose(const AlgorithmRequest& request, const Collective& collective);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The winners of a list of points, by size: a range of sizes that the same algorithm wins. Of points of status
// ok, of one collective; sizes that lie next to each other in the list and have the same winner are one range.
struct WinnerRange {
  Bytes from;
  Bytes to;
  std::string algorithm;
};
std::vector<WinnerRange> crossovers(const std::vector<Point>& points);

}  // namespace collsim::program
