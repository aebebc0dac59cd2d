#include <utility>

#include "sim/config/table_parts.hpp"
#include "sim/core/distribution.hpp"

namespace collsim::config {
namespace {

using namespace parts;

Key optional(Key key) { return with_default(std::move(key), ""); }

// A distribution of times, as a map.
Key distribution_table(std::string name, std::string description) {
  using Kind = DistributionKind;
  return table(std::move(name), std::move(description),
               {required(choice("distribution",
                                enum_names<Kind>({Kind::constant, Kind::uniform, Kind::exponential,
                                                  Kind::normal, Kind::lognormal, Kind::pareto}),
                                "how the times are distributed")),
                required(optional(duration("mean", "mean of the distribution"))),
                optional(duration("deviation", "standard deviation; of normal and lognormal"))});
}

// [] is a value too.
Key or_none(Key key) {
  key.may_be_empty = true;
  return key;
}

}  // namespace

Key faults_table(const Registries& registries) {
  Key fallback = choice("fallback", {}, "aggregation: the algorithm that is run instead");
  fallback.noun = "algorithm";
  for (const Registries::Algorithm& algorithm : registries.algorithms) {
    fallback.names.push_back(algorithm.name);
    if (!algorithm.alias.empty()) fallback.aliases.push_back(algorithm.alias);
  }
  return or_none(list_of(
      table("faults", "what changes, each one thing",
            {text("link", "name of a link, such as 'leaf0 -> spine1', or of both with <->"),
             text("switch", "name of a switch"), text("nic", "name of a NIC, such as node2/nic1"),
             integer("rank", 0, ranks_max - 1, "a rank whose GPU is slow"),
             boolean("aggregation", "", "the aggregation of the switches"),
             duration("at", "when; default: from the start"),
             bandwidth("bandwidth", "from then on, of the link, or of all links of the switch or NIC"),
             part("bandwidth_factor", "part of its bandwidth that each of these links keeps"),
             optional(duration("latency", "of these links from then on")),
             boolean("down", "", "carries nothing from then on"),
             part("speed", "part of its speed that the rank keeps: reductions, copies, overheads"),
             optional(duration(
                 "reroute", "routes avoid what is down so long after; not given: a run that needs it fails")),
             std::move(fallback)}),
      faults_max));
}

Key skew_table() {
  Key key = distribution_table("skew", "how late ranks begin: a distribution, or ranks with their delays");
  key.list = {list_of(table("skew", "ranks that begin late",
                            {required(integer("rank", 0, ranks_max - 1, "number of a rank")),
                             required(optional(duration("delay", "how late it begins")))}))};
  return key;
}

Key jitter_table() { return distribution_table("jitter", "added to the latency of every message"); }

Key background_table() {
  return or_none(list_of(
      table("background", "traffic of others, on links or from rank to rank",
            {text("link", "name of a link, or of several with '*'"),
             part("load", "part of the link's bandwidth that it would take alone"),
             integer("from", 0, ranks_max - 1, "a rank"), integer("to", 0, ranks_max - 1, "another rank"),
             bandwidth("rate", "that it would take alone")}),
      background_max));
}

}  // namespace collsim::config
