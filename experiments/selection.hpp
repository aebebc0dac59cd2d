// Selection: `algorithm: auto` and `algorithm: nccl` become an algorithm of the registry, size by size.
//
//   auto  The fastest by simulation on this cluster. Candidates are all algorithms of the registry that do
//         the collective, in each of their forms, and up to 16 ranks `synthesized` (above, packing its forest
//         may take seconds), except those that the cluster cannot run or that would take longer than the
//         limits say; these are named in Choice::left_out. Equally fast ones: the first in that order.
//   nccl  What NCCL's own model (algorithms/nccl_model.hpp) picks, and the time that it predicts. Its
//         protocol is simulated as the bytes that it puts on the wire: LL carries 4 bytes of data in 8, LL128
//         120 in 128. Options: channels (else derived from the cluster, and the algorithm's own number is
//         simulated), form (the generation of the GPUs; preset = by the name of the preset).
//
// How to use  Selector::choose() for a request with is_selection(name); then make the schedule of
//             choice.request for choice.collective. Sizes and bandwidths of reports are those of the
//             collective that was asked for. What was chosen is proven as any other schedule is.
// Threads     choose() may be called by any thread; the answer depends on the question alone.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "algorithms/registry.hpp"
#include "experiments/seating.hpp"
#include "sim/core/units.hpp"
#include "sim/execution/simulation.hpp"
#include "sim/model/algorithm_options.hpp"
#include "sim/model/cluster.hpp"
#include "sim/model/collective.hpp"
#include "sim/model/topology.hpp"

namespace collsim::program {

bool is_selection(std::string_view name);  // "auto", "nccl"
// What the registry's entries would say; `make` is null.
const std::vector<algorithms::AlgorithmInfo>& selection_infos();

struct Choice {
  AlgorithmRequest request;           // of the registry, or synthesized
  Collective collective;              // what is simulated: bytes as the protocol puts them on the wire
  std::string protocol;               // nccl: "ll", "ll128", "simple"; else empty
  std::int32_t channels = 0;          // nccl: as NCCL's search would find them
  std::optional<Duration> predicted;  // nccl: by its model
  std::optional<Duration> time;       // auto: simulated
  std::vector<std::string> left_out;  // auto: candidates that were not run for the time that they would take

  std::string text() const;  // "ring", "cascade, form themis", "ring, ll128"
};
using ChoiceOrReason = std::variant<Choice, Impossible>;

// By estimates, never by a clock, so that an answer does not depend on the machine.
struct SelectionLimits {
  std::int64_t seconds_max = 2;   // to run a candidate
  std::int64_t seconds_all = 10;  // to build and run all candidates of one question, in their order
  std::int64_t connections_max = 1LL << 21;  // built for a candidate
};

// As `options`, but for the fluid network: candidates are compared on the healthy cluster.
RunOptions selection_options(RunOptions options);

class Selector {
 public:
  // The topology must outlive it, and be built from `cluster`. `seats`: of the ranks that it chooses for.
  Selector(const ClusterSpec& cluster, const Topology& topology, const RunOptions& run_options,
           const SelectionLimits& limits = {}, Seats seats = {});
  ~Selector();
  // REQUIRES: is_selection(request.name)
  ChoiceOrReason choose(const AlgorithmRequest& request, const Collective& collective);
  // The fastest of these by simulation. REQUIRES: names of the registry
  ChoiceOrReason fastest_of(const std::vector<AlgorithmRequest>& candidates, const Collective& collective);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace collsim::program
