#include "sim/config/binder.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "sim/config/bind.hpp"
#include "sim/config/jobs.hpp"
#include "sim/config/sizes.hpp"
#include "sim/core/quantity_text.hpp"

namespace collsim::config {
namespace {

class Binder {
 public:
  Binder(const Value& root, const Registries& registries, Findings findings)
      : root_(root), registries_(registries), findings_(std::move(findings)) {}

  Experiment bind() {
    bind_names();
    experiment_.cluster = cluster_from(root_, findings_);
    bind_ranks();
    bind_credit();
    experiment_.network = network_from(root_, findings_);
    experiment_.conditions = conditions_from(root_, ranks_, registries_, findings_);
    if (root_["jobs"].given) {
      extent_ = bind_jobs(root_, ranks_, registries_, findings_, experiment_.jobs);
    } else {
      bind_root();
      bind_algorithms();
      bind_sizes();
    }
    bind_repeat();
    check_limits(experiment_, extent_, findings_);
    return std::move(experiment_);
  }

 private:
  void bind_names() {
    experiment_.collective = *collective_from_name(root_["collective"].text);
    experiment_.datatype = *datatype_from_name(root_["datatype"].text);
    experiment_.reduction = *reduction_from_name(root_["reduction"].text);
    experiment_.launch_overhead = duration_of(root_["launch_overhead"]);
    experiment_.seed = static_cast<std::uint64_t>(root_["seed"].number);
  }

  void bind_ranks() {
    const std::int64_t gpus = gpus_of(experiment_.cluster);
    experiment_.placement = placement_from(root_, gpus, findings_);
    const auto placed = static_cast<std::int64_t>(experiment_.placement.gpus.size());
    ranks_ = placed > 0 ? placed : gpus;
  }

  // A credit takes no time unless it is said, or there are sites.
  void bind_credit() {
    const Value& credit = root_["credit_latency"];
    experiment_.credit_latency = duration_of(credit);
    experiment_.credit_by_route = credit.automatic || (!credit.node && experiment_.cluster.sites.count > 1);
  }

  // The root, and the keys that the collective makes nothing of.
  void bind_root() {
    const CollectiveKind kind = experiment_.collective;
    experiment_.root = static_cast<Rank>(root_["root"].number);
    if (has_root(kind)) exists(experiment_.root, ranks_, "root", findings_);
    warn_useless_keys(root_, "", kind, findings_);
  }

  void bind_algorithms() {
    const auto requests = each(root_["algorithm"], "algorithm");
    if (static_cast<std::int64_t>(requests.size()) > algorithms_max)
      return findings_.error("algorithm", "the list is too long",
                             "at most " + std::to_string(algorithms_max) + " algorithms");
    for (const auto& [path, value] : requests)
      experiment_.algorithms.push_back(request_from(*value, path, registries_, findings_));
  }

  void bind_sizes() {
    SizeList list(experiment_.collective, experiment_.datatype, ranks_, findings_);
    for (const auto& [path, value] : each(root_["size"], "size")) {
      list.add(*value, path);
      if (static_cast<std::int64_t>(list.sizes().size()) > sizes_max)
        return findings_.error("size", "there are too many sizes", "at most " + std::to_string(sizes_max));
    }
    list.warn_rounded("size");
    experiment_.sizes = list.sizes();
    if (experiment_.collective == CollectiveKind::barrier) experiment_.sizes = {Bytes()};
    extent_.bytes = Int128{ranks_} * list.largest();
    extent_.ranks = ranks_;
    extent_.vector = list.largest();
    extent_.place = list.largest_path();
    extent_.text = text_from(Bytes(list.largest())) + " on " + std::to_string(ranks_) +
                   (ranks_ == 1 ? " rank" : " ranks");
  }

  void bind_repeat() {
    experiment_.repeat = static_cast<std::int32_t>(root_["repeat"].number);
    const ConditionsSpec& conditions = experiment_.conditions;
    const auto varies = [](const Distribution& distribution) {
      return distribution.kind != DistributionKind::constant && !distribution.is_zero();
    };
    const RoutingKind routing = experiment_.cluster.routing.kind;
    const FabricKind fabric = experiment_.cluster.fabric.kind;
    const bool random = routing == RoutingKind::ecmp || routing == RoutingKind::valiant ||
                        routing == RoutingKind::table || fabric == FabricKind::dragonfly ||
                        fabric == FabricKind::custom || varies(conditions.jitter) ||
                        varies(conditions.skew.distribution) || experiment_.network.packet.ecn;
    if (experiment_.repeat > 1 && !random)
      findings_.warn("repeat", "all runs are alike, because nothing in this experiment is random");
  }

  const Value& root_;
  const Registries& registries_;
  Findings findings_;
  Experiment experiment_;
  std::int64_t ranks_ = 1;
  Extent extent_;
};

}  // namespace

Experiment experiment_from(const Value& root, const Registries& registries, const Places& places,
                           Diagnostics& diagnostics) {
  return Binder(root, registries, Findings(places, diagnostics)).bind();
}

}  // namespace collsim::config
