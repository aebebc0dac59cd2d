#include "tests/support/requests.hpp"

#include <algorithm>

namespace collsim::testing {
namespace {

std::int32_t from_to(Random& random, std::int32_t least, std::int32_t most) {
  return least + static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(most - least + 1)));
}

// Factors whose product is `ranks`, in a random order.
std::vector<std::int32_t> random_levels(Random& random, std::int32_t ranks) {
  std::vector<std::int32_t> levels;
  std::int32_t rest = ranks;
  for (std::int32_t factor = 2; rest > 1; ++factor)
    while (rest % factor == 0) {
      rest /= factor;
      if (!levels.empty() && random.below(3) == 0)
        levels.back() *= factor;
      else
        levels.push_back(factor);
    }
  for (std::size_t i = levels.size(); i > 1; --i)
    std::swap(levels[i - 1], levels[static_cast<std::size_t>(random.below(i))]);
  return levels;
}

}  // namespace

AlgorithmRequest Variant::request(AlgorithmOptions options) const {
  options.form = form;
  return {std::string(info->name), std::move(options)};
}

bool Variant::takes(std::string_view option) const {
  return std::find(info->options.begin(), info->options.end(), option) != info->options.end();
}

std::string Variant::text() const {
  return std::string(info->name) + " " + std::string(name_of(kind)) + (form.empty() ? "" : " form " + form);
}

std::vector<Variant> variants() {
  std::vector<Variant> all;
  for (const algorithms::AlgorithmInfo& info : algorithms::all())
    for (const CollectiveKind kind : info.collectives) {
      if (info.forms.empty()) all.push_back({&info, kind, {}});
      for (const std::string_view form : info.forms) all.push_back({&info, kind, std::string(form)});
    }
  return all;
}

Collective collective_of(CollectiveKind kind, std::int64_t elements, std::int32_t ranks, Rank root) {
  Collective collective;
  collective.kind = kind;
  if (in_parts(kind)) elements = (elements + ranks - 1) / ranks * ranks;
  if (kind == CollectiveKind::barrier) elements = 0;
  collective.bytes = Bytes(elements * element_bytes(collective.datatype));
  if (has_root(kind)) collective.root = root;
  return collective;
}

AlgorithmOptions random_options(Random& random, const algorithms::AlgorithmInfo& info, std::int32_t ranks) {
  AlgorithmOptions options;
  const auto given = [&](std::string_view key) {
    return std::find(info.options.begin(), info.options.end(), key) != info.options.end() &&
           random.below(5) < 2;
  };
  if (given("channels")) options.channels = from_to(random, 1, 4);
  if (given("slices")) options.slices = from_to(random, 1, 4);
  if (given("slots")) options.slots = from_to(random, 1, 4);
  if (given("channel_bandwidth"))
    options.channel_bandwidth =
        Bandwidth::bytes_per_second(static_cast<std::int64_t>(1'000'000 + 1'000'000'007 * random.below(400)));
  if (given("order")) options.order = RankOrder::rank;
  if (given("root")) options.root = from_to(random, 0, ranks - 1);
  if (given("radix")) options.radix = from_to(random, 2, 5);
  if (given("servers")) options.servers = from_to(random, 1, ranks);
  if (given("levels") && ranks > 1) options.levels = random_levels(random, ranks);
  if (!info.forms.empty()) options.form = info.forms[random.below(info.forms.size())];
  return options;
}

std::string text_of(const AlgorithmOptions& options) {
  std::string text;
  const auto add = [&](const char* name, const std::optional<std::int32_t>& value) {
    if (value) text += (text.empty() ? "" : ", ") + std::string(name) + " " + std::to_string(*value);
  };
  add("channels", options.channels);
  add("slices", options.slices);
  add("slots", options.slots);
  add("root", options.root);
  add("radix", options.radix);
  add("servers", options.servers);
  for (const std::int32_t level : options.levels) add("level", level);
  if (options.order == RankOrder::rank) text += ", order rank";
  if (options.channel_bandwidth) text += ", channel_bandwidth";
  if (!options.form.empty()) text += ", form " + options.form;
  return text;
}

}  // namespace collsim::testing
