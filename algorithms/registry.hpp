// The algorithms by name. An algorithm is a pure function (Collective, Placement, options) -> Schedule in its
// own file.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/model/algorithm_options.hpp"
#include "sim/model/collective.hpp"
#include "sim/model/placement.hpp"
#include "sim/model/schedule.hpp"

namespace collsim::algorithms {

using ScheduleOrReason = std::variant<Schedule, Impossible>;

struct AlgorithmInfo {
  std::string_view name;     // "double_binary_tree"
  std::string_view alias;    // "tree", or empty
  std::string_view summary;  // one line for `collsim list algorithms`
  std::string_view source;   // where the definition comes from
  std::vector<CollectiveKind> collectives;
  std::vector<std::string_view>
      options;              // the keys of AlgorithmOptions that it uses: "channels", "slices", ...
  bool in_predict = false;  // shown by `collsim predict` by default
  std::vector<std::string_view> forms;  // what the option form can be; the first is the default
  ScheduleOrReason (*make)(const Collective&, const Placement&, const AlgorithmOptions&) = nullptr;
  bool by_number = false;  // peers follow from rank numbers alone; nodes do not matter
};

// Whether the schedule goes by rank numbers with these options, so that which GPU is which rank decides how
// far messages go. Also with order: rank, and with levels, which are of rank numbers. Else the algorithm sees
// to nodes itself.
bool goes_by_number(const AlgorithmInfo& info, const AlgorithmOptions& options);

// The algorithms of one file of entries each; registry.cpp puts them in order.
std::vector<AlgorithmInfo> entries_of_rings_and_exchanges();  // entries_exchanges.cpp
std::vector<AlgorithmInfo> entries_of_trees_and_direct();     // entries_trees.cpp
std::vector<AlgorithmInfo> entries_of_levels_and_switches();  // entries_levels.cpp

// All algorithms, in the order in which `predict` and `list` show them.
const std::vector<AlgorithmInfo>& all();
// By name or alias; null if there is none.
const AlgorithmInfo* find(std::string_view name);

// REQUIRES: find(request.name) is not null. Impossible: this cluster cannot run it, the algorithm has not
// this collective, the parts are no whole number of elements, or an option does not fit.
ScheduleOrReason make_schedule(const AlgorithmRequest& request, const Collective& collective,
                               const Placement& placement);

}  // namespace collsim::algorithms
