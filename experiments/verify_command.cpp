// verify: proves an algorithm's schedule on an ideal cluster of each number of ranks, or on a given one.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "algorithms/registry.hpp"
#include "experiments/commands.hpp"
#include "experiments/files.hpp"
#include "experiments/inputs.hpp"
#include "experiments/outcome.hpp"
#include "sim/core/quantity_text.hpp"
#include "sim/core/spelling.hpp"
#include "sim/model/proof.hpp"

namespace collsim::program {

namespace {

constexpr std::int64_t ranks_max = 1 << 24;
constexpr std::int32_t gpus_per_node_max = 8;
constexpr std::int64_t bytes_default = 1 << 20;

struct Verdict {
  std::string algorithm;
  Collective collective;
  std::int32_t ranks = 1;
  std::int32_t nodes = 1;
  std::string status;  // proven, refuted, undecided (the proof would cost too much), impossible
  std::string reason;  // of impossible
  Proof proof;
};

[[noreturn]] void wrong_ranks(const std::string& text) {
  throw Stop{ExitCode::usage, "collsim: --ranks " + text +
                                  ": expected numbers of ranks such as 8 or 1-33,64, " + "from 1 to " +
                                  std::to_string(ranks_max) + "\n"};
}

std::int64_t rank_number(std::string_view word, const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size() || number < 1 || number > ranks_max) {
    wrong_ranks(text);
  }
  return number;
}

// "1-3,64" -> 1, 2, 3, 64.
std::vector<std::int32_t> rank_counts(const std::string& text) {
  std::vector<std::int32_t> counts;
  std::string_view rest = text;
  while (true) {
    const std::string_view part = rest.substr(0, rest.find(','));
    const std::size_t dash = part.find('-');
    const std::int64_t first = rank_number(part.substr(0, dash), text);
    const std::int64_t last = dash == part.npos ? first : rank_number(part.substr(dash + 1), text);
    if (last < first) wrong_ranks(text);
    for (std::int64_t count = first; count <= last; ++count)
      counts.push_back(static_cast<std::int32_t>(count));
    if (part.size() == rest.size()) return counts;
    rest.remove_prefix(part.size() + 1);
  }
}

// Nodes of `gpus` GPUs with a NIC each, in which all switches reduce.
Placement ideal(std::int32_t ranks, std::int32_t gpus) {
  Placement placement;
  placement.nodes = ranks / gpus;
  placement.gpus_per_node = gpus;
  placement.nics_per_node = gpus;
  placement.interconnect = InterconnectKind::nvswitch;
  placement.fabric = placement.nodes > 1 ? FabricKind::fat_tree : FabricKind::none;
  placement.node_reduction.enabled = true;
  placement.fabric_reduction.enabled = placement.nodes > 1;
  return placement;
}

// The ideal clusters of so many ranks, the preferred one first: nodes of the largest divisor up to 8, one
// node, nodes of one GPU.
std::vector<Placement> ideal_clusters(std::int32_t ranks) {
  std::int32_t gpus = std::min(ranks, gpus_per_node_max);
  while (ranks % gpus != 0) --gpus;
  return {ideal(ranks, gpus), ideal(ranks, ranks), ideal(ranks, 1)};
}

Verdict verdict_of(const AlgorithmRequest& request, const Collective& collective,
                   const std::vector<Placement>& placements) {
  Verdict verdict;
  verdict.algorithm = algorithms::find(request.name)->name;
  verdict.collective = collective;
  verdict.ranks = placements.front().ranks();
  verdict.nodes = placements.front().nodes;
  for (const Placement& placement : placements) {
    const auto made = algorithms::make_schedule(request, collective, placement);
    if (const auto* impossible = std::get_if<Impossible>(&made)) {
      if (verdict.reason.empty()) verdict.reason = impossible->reason;
      continue;
    }
    verdict.nodes = placement.nodes;
    verdict.reason.clear();
    verdict.proof = prove(std::get<Schedule>(made));
    verdict.status = verdict.proof.proven ? "proven" : is_undecided(verdict.proof) ? "undecided" : "refuted";
    return verdict;
  }
  verdict.status = "impossible";
  return verdict;
}

std::string text_of(const Verdict& verdict) {
  const std::string head =
      fmt::format("{} on {} rank{} ({} node{} of {}): {}", verdict.algorithm, verdict.ranks,
                  verdict.ranks == 1 ? "" : "s", verdict.nodes, verdict.nodes == 1 ? "" : "s",
                  verdict.ranks / verdict.nodes, verdict.status);
  if (verdict.status == "impossible") return head + ": " + verdict.reason + "\n";
  std::string text = head + "\n";
  if (verdict.status != "undecided")
    text = head +
           fmt::format(", {} message{}\n", verdict.proof.messages, verdict.proof.messages == 1 ? "" : "s");
  for (const ProofFailure& failure : verdict.proof.failures) text += "  " + failure.text + "\n";
  return text;
}

std::string json_of(const std::vector<Verdict>& verdicts) {
  nlohmann::ordered_json json;
  json["collsim"] = COLLSIM_VERSION;
  json["proofs"] = nlohmann::ordered_json::array();
  for (const Verdict& verdict : verdicts) {
    nlohmann::ordered_json failures = nlohmann::ordered_json::array();
    for (const ProofFailure& failure : verdict.proof.failures) {
      failures.push_back({{"rank", failure.rank},
                          {"stream", failure.stream},
                          {"step", failure.step},
                          {"text", failure.text}});
    }
    json["proofs"].push_back({{"collective", name_of(verdict.collective.kind)},
                              {"algorithm", verdict.algorithm},
                              {"ranks", verdict.ranks},
                              {"nodes", verdict.nodes},
                              {"bytes", verdict.collective.bytes.count()},
                              {"status", verdict.status},
                              {"reason", verdict.reason},
                              {"deadlock", verdict.proof.deadlock},
                              {"messages", verdict.proof.messages},
                              {"failures", failures}});
  }
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

const algorithms::AlgorithmInfo& algorithm_named(const std::string& name) {
  if (const auto* info = algorithms::find(name)) return *info;
  std::vector<std::string> names;
  for (const algorithms::AlgorithmInfo& info : algorithms::all()) {
    names.emplace_back(info.name);
    if (!info.alias.empty()) names.emplace_back(info.alias);
  }
  std::string expected = "one of ";
  for (std::size_t i = 0; i < names.size(); ++i) expected += (i > 0 ? ", " : "") + names[i];
  stop_with(command_line_error("ALGORITHM", "unknown algorithm " + collsim::quoted(name), expected,
                               nearest(name, names)));
}

Collective collective_of(const ClusterWords& words, const algorithms::AlgorithmInfo& info) {
  Collective collective;
  collective.kind = info.collectives.front();
  if (!words.collective.empty()) {
    const auto kind = collective_from_name(words.collective);
    if (!kind) {
      std::string expected = "one of";
      for (const CollectiveKind each : info.collectives) expected += " " + std::string(name_of(each));
      stop_with(command_line_error("--collective", "unknown collective " + collsim::quoted(words.collective),
                                   expected, ""));
    }
    collective.kind = *kind;
  }
  collective.bytes = Bytes(bytes_default);
  if (words.sizes.empty()) return collective;
  const auto size = bytes_from_text(words.sizes);
  if (const auto* error = std::get_if<QuantityError>(&size)) {
    stop_with(command_line_error("--size", error->message, error->expected, error->hint));
  }
  collective.bytes = std::get<Bytes>(size);
  const int element = element_bytes(collective.datatype);
  if (collective.bytes.count() % element != 0) {
    stop_with(command_line_error(
        "--size", std::to_string(collective.bytes.count()) + " B is no whole number of elements",
        "a multiple of " + std::to_string(element) + " B", ""));
  }
  return collective;
}

std::vector<Verdict> on_ideal_clusters(const VerifyCommand& command) {
  const algorithms::AlgorithmInfo& info = algorithm_named(command.algorithm);
  const Collective collective = collective_of(command.words, info);
  std::vector<Verdict> verdicts;
  for (const std::int32_t ranks : rank_counts(command.ranks)) {
    verdicts.push_back(verdict_of({std::string(info.name), {}}, collective, ideal_clusters(ranks)));
  }
  return verdicts;
}

std::vector<Verdict> on_given_cluster(const VerifyCommand& command, const Options& options) {
  ClusterWords words = command.words;
  words.algorithms = command.algorithm;
  if (words.sizes.empty()) words.sizes = "1 MiB";
  const ReadResult read = read_words(words, overrides_of(options), options.quiet);
  const Experiment& experiment = *read.experiment;
  const Topology topology = build_topology(read);
  std::vector<Verdict> verdicts;
  for (const AlgorithmRequest& request : experiment.algorithms) {
    for (const Bytes bytes : experiment.sizes) {
      const Collective collective{experiment.collective, bytes, experiment.datatype, experiment.reduction};
      verdicts.push_back(verdict_of(request, collective, {topology.placement()}));
    }
  }
  return verdicts;
}

}  // namespace

ExitCode verify(const VerifyCommand& command, const Options& options) {
  OutputFile json(options.json);
  const std::vector<Verdict> verdicts =
      command.words.cluster.empty() ? on_ideal_clusters(command) : on_given_cluster(command, options);
  const auto proven = std::count_if(verdicts.begin(), verdicts.end(),
                                    [](const Verdict& verdict) { return verdict.proof.proven; });
  if (json.wanted()) json.write(json_of(verdicts));
  if (!json.is_stdout()) {
    std::string text;
    for (const Verdict& verdict : verdicts) text += text_of(verdict);
    if (verdicts.size() > 1) text += fmt::format("# {} of {} proven\n", proven, verdicts.size());
    write_stdout(text);
  }
  return proven == static_cast<std::ptrdiff_t>(verdicts.size()) ? ExitCode::done : ExitCode::negative;
}

}  // namespace collsim::program
