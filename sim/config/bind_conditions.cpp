#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "sim/config/bind.hpp"
#include "sim/core/distribution.hpp"

namespace collsim::config {
namespace {

Factor factor_of(const Value& value) { return {value.number, value.denominator}; }

// What can be changed, and by which keys. `needed`: one of these must be there.
struct TargetRule {
  FaultTarget target;
  std::string key;
  std::string noun;
  std::vector<std::string> effects;
  std::vector<std::string> needed;
};
const std::vector<TargetRule>& target_rules() {
  static const std::vector<std::string> changes = {"bandwidth", "bandwidth_factor", "latency", "down"};
  static const std::vector<std::string> of_links = {"bandwidth", "bandwidth_factor", "latency", "down",
                                                    "reroute"};
  static const std::vector<TargetRule> rules = {
      {FaultTarget::link, "link", "a link", of_links, changes},
      {FaultTarget::switch_, "switch", "a switch", of_links, changes},
      {FaultTarget::nic, "nic", "a NIC", of_links, changes},
      {FaultTarget::rank, "rank", "a rank", {"speed"}, {"speed"}},
      {FaultTarget::aggregation,
       "aggregation",
       "the aggregation",
       {"down", "reroute", "fallback"},
       {"down", "fallback"}}};
  return rules;
}
const std::vector<std::string> all_effects = {"bandwidth", "bandwidth_factor", "latency", "down",
                                              "speed",     "reroute",          "fallback"};

class FaultBinder {
 public:
  FaultBinder(const Value& value, std::string path, std::int64_t ranks, const Registries& registries,
              Findings& findings)
      : value_(value), path_(std::move(path)), ranks_(ranks), registries_(registries), findings_(findings) {}

  FaultSpec bind() {
    FaultSpec spec;
    spec.at = Instant() + duration_of(value_["at"]);
    spec.bandwidth = optional_bandwidth(value_["bandwidth"]);
    spec.bandwidth_factor = optional_of<Factor>(value_["bandwidth_factor"], factor_of);
    spec.latency = optional_duration(value_["latency"]);
    spec.down = says("down") || says("fallback");
    spec.speed = optional_of<Factor>(value_["speed"], factor_of);
    spec.reroute = optional_duration(value_["reroute"]);
    if (says("fallback")) spec.fallback = algorithm_name(value_["fallback"].text, registries_);
    if (const TargetRule* rule = target()) {
      spec.target = rule->target;
      spec.name = value_[rule->key].text;
      if (rule->target == FaultTarget::rank) spec.rank = bind_rank();
      check_effects(*rule);
    }
    return spec;
  }

 private:
  // Written, and not `false`.
  bool says(const std::string& key) const {
    const Value& value = value_[key];
    const bool is_truth = key == "down" || key == "aggregation";
    return value.given && (!is_truth || value.number != 0);
  }
  std::string at(const std::string& key) const { return joined_path(path_, key); }

  const TargetRule* target() {
    const TargetRule* found = nullptr;
    std::vector<std::string> keys;
    for (const TargetRule& rule : target_rules()) keys.push_back(rule.key);
    for (const TargetRule& rule : target_rules()) {
      if (!says(rule.key)) continue;
      if (found) {
        findings_.error(at(rule.key), "a second target beside " + found->key,
                        "one of " + joined(keys) + " in each entry");
        return nullptr;
      }
      found = &rule;
    }
    if (!found) findings_.error(path_, "has no target", "one of " + joined(keys));
    return found;
  }

  Rank bind_rank() {
    const std::int64_t rank = value_["rank"].number;
    exists(rank, ranks_, at("rank"), findings_);
    return static_cast<Rank>(rank);
  }

  void check_effects(const TargetRule& rule) {
    bool fits = true;
    for (const std::string& effect : all_effects) {
      if (!says(effect) || contains(rule.effects, effect)) continue;
      fits = false;
      findings_.error(at(effect), "does not apply to " + rule.noun,
                      (rule.effects.size() > 1 ? "one of " : "") + joined(rule.effects));
    }
    if (!fits) return;
    const bool changes = std::any_of(rule.needed.begin(), rule.needed.end(),
                                     [&](const std::string& effect) { return says(effect); });
    if (!changes && says("reroute"))
      return findings_.error(at("reroute"), "has no effect on what is not down", "down: true beside it");
    if (!changes)
      return findings_.error(path_, "changes nothing",
                             (rule.needed.size() > 1 ? "one of " : "") + joined(rule.needed));
    check_links();
  }

  // What is down has no bandwidth, and what is not has one.
  void check_links() {
    for (const char* effect : {"bandwidth", "bandwidth_factor", "latency"})
      if (says("down") && says(effect))
        findings_.error(at(effect), "has no effect on what is down", "one of down, " + std::string(effect));
    if (says("bandwidth") && says("bandwidth_factor"))
      findings_.error(at("bandwidth_factor"), "a second bandwidth", "one of bandwidth, bandwidth_factor");
    if (says("reroute") && !says("down") && !says("fallback"))
      findings_.error(at("reroute"), "has no effect on what is not down", "down: true beside it");
  }

  const Value& value_;
  std::string path_;
  std::int64_t ranks_;
  const Registries& registries_;
  Findings& findings_;
};

Distribution distribution_from(const Value& value, const std::string& path, Findings& findings) {
  Distribution result;
  const std::string& name = value["distribution"].text;
  result.kind = *distribution_from_name(name);
  result.mean = duration_of(value["mean"]);
  result.deviation = duration_of(value["deviation"]);
  const bool has_deviation =
      result.kind == DistributionKind::normal || result.kind == DistributionKind::lognormal;
  if (has_deviation && !value["deviation"].given)
    findings.error(path + ".deviation", "missing", "a time such as '500 ns'; " + name + " needs it");
  if (!has_deviation && value["deviation"].given)
    findings.error(path + ".deviation", "has no effect with distribution " + name,
                   "distribution: one of normal, lognormal");
  return result;
}

SkewSpec skew_from(const Value& value, std::int64_t ranks, Findings& findings) {
  SkewSpec spec;
  if (!value.given) return spec;
  if (value.items.empty()) {
    spec.distribution = distribution_from(value, "skew", findings);
    return spec;
  }
  std::vector<bool> seen(static_cast<std::size_t>(ranks));
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    const std::string path = indexed_path("skew", i) + ".rank";
    const std::int64_t rank = value.items[i]["rank"].number;
    if (!exists(rank, ranks, path, findings)) continue;
    if (seen[static_cast<std::size_t>(rank)])
      findings.error(path, "rank " + std::to_string(rank) + " stands here twice", "every rank once");
    seen[static_cast<std::size_t>(rank)] = true;
    spec.ranks.emplace_back(static_cast<Rank>(rank), duration_of(value.items[i]["delay"]));
  }
  return spec;
}

BackgroundSpec background_from(const Value& value, const std::string& path, std::int64_t ranks,
                               Findings& findings) {
  BackgroundSpec spec;
  spec.link = value["link"].text;
  spec.load = optional_of<Factor>(value["load"], factor_of);
  spec.rate = optional_bandwidth(value["rate"]);
  const std::string forms = "link and load, or from, to and rate";
  const std::vector<std::string> of_link = {"link", "load"};
  const std::vector<std::string> of_ranks = {"from", "to", "rate"};
  const auto given = [&](const std::string& key) { return value[key].given; };
  const bool some_link = std::any_of(of_link.begin(), of_link.end(), given);
  const bool some_ranks = std::any_of(of_ranks.begin(), of_ranks.end(), given);
  if (some_link == some_ranks) {
    findings.error(path, some_link ? "is both on a link and from rank to rank" : "says no traffic", forms);
    return spec;
  }
  for (const std::string& key : some_link ? of_link : of_ranks)
    if (!given(key)) findings.error(joined_path(path, key), "missing", forms);
  if (!given("from") || !given("to")) return spec;
  spec.from = static_cast<Rank>(value["from"].number);
  spec.to = static_cast<Rank>(value["to"].number);
  for (const auto& [key, rank] : {std::pair{"from", spec.from}, std::pair{"to", spec.to}})
    exists(rank, ranks, joined_path(path, key), findings);
  if (spec.from == spec.to) findings.error(path, "leads from a rank to itself", "two ranks");
  return spec;
}

}  // namespace

ConditionsSpec conditions_from(const Value& root, std::int64_t ranks, const Registries& registries,
                               Findings& findings) {
  ConditionsSpec spec;
  for (std::size_t i = 0; i < root["faults"].items.size(); ++i)
    spec.faults.push_back(
        FaultBinder(root["faults"].items[i], indexed_path("faults", i), ranks, registries, findings).bind());
  spec.skew = skew_from(root["skew"], ranks, findings);
  if (root["jitter"].given) spec.jitter = distribution_from(root["jitter"], "jitter", findings);
  for (std::size_t i = 0; i < root["background"].items.size(); ++i)
    spec.background.push_back(
        background_from(root["background"].items[i], indexed_path("background", i), ranks, findings));
  return spec;
}

}  // namespace collsim::config
