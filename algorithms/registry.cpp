#include "algorithms/registry.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "algorithms/common.hpp"
#include "sim/core/check.hpp"

namespace collsim::algorithms {
namespace {

// In this order; what is not named comes last.
constexpr std::array order = {"ring",           "bidirectional_ring",
                              "segmented_ring", "double_binary_tree",
                              "binomial_tree",  "knomial_tree",
                              "kary_tree",      "chain",
                              "van_de_geijn",   "recursive_doubling",
                              "rabenseifner",   "halving_doubling",
                              "bcube",          "swing",
                              "bruck",          "pat",
                              "pairwise",       "hierarchical",
                              "cascade",        "torus_bucket",
                              "one_shot",       "two_shot",
                              "direct",         "parameter_server",
                              "nvls",           "nvls_tree",
                              "collnet_direct", "collnet_chain",
                              "sharp"};

std::vector<AlgorithmInfo> registry() {
  std::vector<AlgorithmInfo> entries = entries_of_rings_and_exchanges();
  for (auto* more : {&entries_of_trees_and_direct, &entries_of_levels_and_switches})
    for (AlgorithmInfo& info : more()) entries.push_back(std::move(info));
  for (AlgorithmInfo& info : entries)
    if (!info.forms.empty() &&
        std::find(info.options.begin(), info.options.end(), "form") == info.options.end())
      info.options.push_back("form");
  const auto place = [](const AlgorithmInfo& info) {
    return std::find(order.begin(), order.end(), info.name);
  };
  std::stable_sort(entries.begin(), entries.end(),
                   [&](const AlgorithmInfo& a, const AlgorithmInfo& b) { return place(a) < place(b); });
  return entries;
}

std::string joined(const std::vector<std::string_view>& words) {
  std::string text;
  for (const std::string_view word : words) text += (text.empty() ? "" : ", ") + std::string(word);
  return text;
}

std::optional<Impossible> check_form(const AlgorithmInfo& info, const std::string& form) {
  if (form.empty() || std::find(info.forms.begin(), info.forms.end(), form) != info.forms.end())
    return std::nullopt;
  if (info.forms.empty())
    return Impossible{std::string(info.name) + " has one form only, not '" + form + "'"};
  return Impossible{"form is '" + form + "'; " + std::string(info.name) + " has " + joined(info.forms)};
}

std::optional<Impossible> check_collective(const AlgorithmInfo& info, const Collective& collective,
                                           std::int32_t ranks) {
  const CollectiveKind kind = collective.kind;
  if (std::find(info.collectives.begin(), info.collectives.end(), kind) == info.collectives.end())
    return Impossible{std::string(info.name) + " does not do " + std::string(name_of(kind))};
  if (has_root(kind) && (collective.root < 0 || collective.root >= ranks))
    return Impossible{"the root is rank " + std::to_string(collective.root) + " of " + std::to_string(ranks)};
  if (in_parts(kind) && collective.elements() % ranks != 0)
    return Impossible{std::to_string(collective.elements()) + " elements are not equal parts for " +
                      std::to_string(ranks) + " ranks"};
  if (kind == CollectiveKind::barrier && collective.bytes.count() != 0)
    return Impossible{"a barrier moves no data; its size is 0"};
  return std::nullopt;
}

}  // namespace

bool goes_by_number(const AlgorithmInfo& info, const AlgorithmOptions& options) {
  const auto takes = [&](std::string_view option) {
    return std::find(info.options.begin(), info.options.end(), option) != info.options.end();
  };
  return info.by_number || (takes("order") && options.order == RankOrder::rank) ||
         (takes("levels") && !options.levels.empty());
}

const std::vector<AlgorithmInfo>& all() {
  static const std::vector<AlgorithmInfo> table = registry();
  return table;
}

const AlgorithmInfo* find(std::string_view name) {
  for (const AlgorithmInfo& info : all())
    if (info.name == name || (!info.alias.empty() && info.alias == name)) return &info;
  return nullptr;
}

ScheduleOrReason make_schedule(const AlgorithmRequest& request, const Collective& collective,
                               const Placement& placement) {
  const AlgorithmInfo* info = find(request.name);
  COLLSIM_CHECK_MSG(info != nullptr, request.name);
  if (auto wrong = check_options(request.options, placement.ranks())) return *wrong;
  if (auto wrong = check_form(*info, request.options.form)) return *wrong;
  if (auto wrong = check_collective(*info, collective, placement.ranks())) return *wrong;
  return info->make(collective, placement, request.options);
}

}  // namespace collsim::algorithms
