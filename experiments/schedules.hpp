// schedule_of(): what the user asked for by name becomes a schedule on a topology.
//
//   a name of algorithms/registry.hpp   algorithms::make_schedule
//   synthesized                         topologies::pack_forest, algorithms::synthesized
//   a path that ends in .xml            an MSCCL file: algorithms::read_msccl, schedule_from
//
// Paths are relative to the current folder (sim/config has put the experiment's folder in front).
// Threads     A ScheduleCache may be shared by threads.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "algorithms/msccl_file.hpp"
#include "algorithms/registry.hpp"
#include "experiments/program.hpp"
#include "sim/config/experiment.hpp"
#include "sim/model/algorithm_options.hpp"
#include "sim/model/collective.hpp"
#include "sim/model/forest.hpp"
#include "sim/model/topology.hpp"

namespace collsim::program {

using algorithms::ScheduleOrReason;

// Every algorithm that an experiment names: of its table, of its jobs, and fallbacks.
std::vector<AlgorithmRequest> requests_of(const Experiment& experiment);

// What is made once for all sizes of a run on one topology: forests and files.
class ScheduleCache {
 public:
  using ForestOrReason = std::variant<Forest, Impossible>;

  // Reads the files that the algorithms of an experiment are. Throws Stop with what is malformed and where;
  // warnings go to stderr unless quiet.
  void read_files(const std::vector<AlgorithmRequest>& requests, bool quiet);
  // REQUIRES: read_files() has read it
  const algorithms::MscclFile& file(const std::string& path) const;
  // The reference stays valid. Packed when first asked for; others that ask wait.
  const ForestOrReason& forest(const Topology& topology, CollectiveKind kind, Rank root);

 private:
  std::map<std::string, algorithms::MscclFile> files_;
  std::mutex mutex_;
  std::map<std::pair<CollectiveKind, Rank>, ForestOrReason> forests_;
};

// Reads one file. Throws Stop with what is malformed and where (exit 65), or that there is no such file (66).
algorithms::MscclFile read_algorithm_file(const std::string& path, bool quiet);
// What a finding says of a file, at its line.
Diagnostic diagnostic_of(const algorithms::MscclFinding& finding, const std::string& path,
                         std::string_view text);

// Of a file that the cache has read, for so many ranks.
ScheduleOrReason schedule_of_file(const AlgorithmRequest& request, const Collective& collective,
                                  std::int32_t ranks, const ScheduleCache& cache);
// REQUIRES: find_algorithm(request.name) is not null and no selection (selection.hpp), or the cache has read
// the file
ScheduleOrReason schedule_of(const AlgorithmRequest& request, const Collective& collective,
                             const Topology& topology, ScheduleCache& cache);

// Everything that `algorithm:` can name but files: the registry, then what needs more than a Placement.
const std::vector<algorithms::AlgorithmInfo>& known_algorithms();
// By name or alias; null if there is none.
const algorithms::AlgorithmInfo* find_algorithm(std::string_view name);
bool does(const algorithms::AlgorithmInfo& info, CollectiveKind kind);

constexpr const char* algorithm_file_suffix = ".xml";
bool is_algorithm_file(std::string_view name);
std::vector<std::string> algorithm_file_options();

// "unknown algorithm 'rng'", with what there is and what is near; `key` names the argument.
Diagnostic unknown_algorithm(const std::string& key, std::string_view name);

// The name under which an algorithm is reported: an alias becomes its name, a file stays its path.
std::string full_name_of(std::string_view name);
// What the user asked for, as in an experiment: "channels: 8, form: themis".
std::string options_text(const AlgorithmOptions& options);

}  // namespace collsim::program
