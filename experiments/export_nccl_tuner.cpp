// export nccl-tuner: the choice by size as a file of NCCL's example tuner plugin (plugins/tuner/example).
//
// The algorithm of a size is the fastest by simulation of those that NCCL has (`auto`: all of them); with
// `nccl` it is NCCL's own choice. The protocol is the one that NCCL's model takes for that algorithm and
// size, since the simulation has no protocols. A range begins at the first size of the experiment that its
// choice wins; the first begins at 0 and the last has no end.
#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>
#include <variant>

#include "algorithms/nccl_model.hpp"
#include "experiments/commands.hpp"
#include "experiments/files.hpp"
#include "experiments/inputs.hpp"
#include "experiments/schedules.hpp"
#include "experiments/selection.hpp"

namespace collsim::program {

namespace {

using algorithms::NcclAlgorithm;
using algorithms::NcclGeneration;
using algorithms::NcclProtocol;

constexpr std::array nccl_algorithms = {NcclAlgorithm::tree,
                                        NcclAlgorithm::ring,
                                        NcclAlgorithm::collnet_direct,
                                        NcclAlgorithm::collnet_chain,
                                        NcclAlgorithm::nvls,
                                        NcclAlgorithm::nvls_tree,
                                        NcclAlgorithm::pat};
constexpr std::array nccl_protocols = {NcclProtocol::ll, NcclProtocol::ll128, NcclProtocol::simple};

std::optional<std::string> tuner_name_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce:
      return "allreduce";
    case CollectiveKind::reduce_scatter:
      return "reducescatter";
    case CollectiveKind::all_gather:
      return "allgather";
    case CollectiveKind::broadcast:
      return "broadcast";
    case CollectiveKind::reduce:
      return "reduce";
    default:
      return std::nullopt;
  }
}

std::optional<NcclAlgorithm> nccl_algorithm_of(std::string_view registry_name, int nodes) {
  for (const NcclAlgorithm algorithm : nccl_algorithms)
    if (algorithms::registry_name_of(algorithm, nodes) == registry_name) return algorithm;
  return std::nullopt;
}

// One row of the file.
struct Row {
  std::int64_t from = 0;
  std::string algorithm;
  std::string protocol;
  std::string channels;
  bool same_choice(const Row& other) const {
    return algorithm == other.algorithm && protocol == other.protocol && channels == other.channels;
  }
};

class TunerTable {
 public:
  TunerTable(const ReadResult& input, const Topology& topology, bool quiet)
      : experiment_(*input.experiment),
        topology_(topology),
        selector_(experiment_.cluster, topology, run_options(experiment_)) {
    for (const AlgorithmRequest& request : experiment_.algorithms)
      if (request.name == "nccl") nccl_ = request;
    const std::string form = nccl_ ? nccl_->options.form : "";
    const bool by_preset = form.empty() || form == "preset";
    const auto generation = by_preset ? algorithms::nccl_generation_of_preset(experiment_.cluster.preset)
                                      : algorithms::nccl_generation_from_name(form);
    knows_gpus_ = generation.has_value();
    // What NCCL has on a cluster does not depend on the generation, but for its protocols' speeds.
    system_ = algorithms::nccl_system(topology.placement(), generation.value_or(NcclGeneration::hopper),
                                      algorithms::nccl_cpu_of_preset(experiment_.cluster.preset), {});
    Diagnostics diagnostics;
    for (const AlgorithmRequest& request : experiment_.algorithms) add(request, input, diagnostics);
    print(diagnostics, quiet);
  }

  // By increasing size, neighbours with the same choice as one. Sizes that nothing can run are left out.
  std::vector<Row> rows() {
    std::vector<Bytes> sizes = experiment_.sizes;
    std::sort(sizes.begin(), sizes.end());
    std::vector<Row> rows;
    if (candidates_.empty() && !nccl_) return rows;
    for (const Bytes bytes : sizes) {
      const std::optional<Row> row = row_of(bytes);
      if (row && (rows.empty() || !rows.back().same_choice(*row))) rows.push_back(*row);
    }
    return rows;
  }

  // Why there are no rows.
  const std::string& reason() const { return reason_; }
  bool knows_protocols() const { return knows_gpus_; }

 private:
  static RunOptions run_options(const Experiment& experiment) {
    RunOptions options;
    options.launch_overhead = experiment.launch_overhead;
    options.credit_latency = experiment.credit_latency;
    options.alike_runs = static_cast<std::int64_t>(experiment.sizes.size());
    return options;
  }

  void add(const AlgorithmRequest& request, const ReadResult& input, Diagnostics& diagnostics) {
    if (request.name == "nccl") return;
    if (request.name == "auto") {
      for (const NcclAlgorithm algorithm : nccl_algorithms)
        if (is_there(algorithm))
          candidates_.push_back({std::string(algorithms::registry_name_of(algorithm, nodes())), {}});
    } else if (nccl_algorithm_of(full_name_of(request.name), nodes())) {
      candidates_.push_back(request);
      candidates_.back().name = full_name_of(request.name);
    } else {
      Diagnostic diagnostic = input.at("algorithm");
      diagnostic.severity = Severity::warning;
      diagnostic.message = "NCCL has no " + full_name_of(request.name) + "; it is left out";
      diagnostics.add(std::move(diagnostic));
    }
  }

  // Whether NCCL would use the algorithm for this collective on such a cluster.
  bool is_there(NcclAlgorithm algorithm) const {
    if (topology_.ranks() < 2) return false;
    for (const NcclProtocol protocol : nccl_protocols)
      if (algorithms::nccl_time(system_, experiment_.collective, algorithm, protocol, Bytes(1))) return true;
    return false;
  }

  std::optional<Row> row_of(Bytes bytes) {
    const Collective collective = collective_of(experiment_, bytes);
    std::vector<AlgorithmRequest> candidates = candidates_;
    std::string protocol;
    if (candidates.empty() && nccl_) {
      const ChoiceOrReason own = selector_.choose(*nccl_, collective);
      if (const auto* impossible = std::get_if<Impossible>(&own)) return nothing(*impossible);
      const Choice& choice = std::get<Choice>(own);
      return row(bytes, choice.request, choice.protocol);
    }
    const ChoiceOrReason fastest = selector_.fastest_of(candidates, collective);
    if (const auto* impossible = std::get_if<Impossible>(&fastest)) return nothing(*impossible);
    const AlgorithmRequest& request = std::get<Choice>(fastest).request;
    return row(bytes, request, protocol_of(*nccl_algorithm_of(request.name, nodes()), collective));
  }

  std::optional<Row> nothing(const Impossible& impossible) {
    reason_ = impossible.reason;
    return std::nullopt;
  }

  int nodes() const { return topology_.placement().nodes; }

  Row row(Bytes bytes, const AlgorithmRequest& request, std::string protocol) const {
    const std::optional<std::int32_t>& channels = request.options.channels;
    return {bytes.count(), std::string(name_of(*nccl_algorithm_of(request.name, nodes()))),
            std::move(protocol), channels ? std::to_string(*channels) : "-1"};
  }

  // The fastest protocol of the algorithm in NCCL's model; simple where that does not know the cluster.
  std::string protocol_of(NcclAlgorithm algorithm, const Collective& collective) const {
    std::optional<double> best;
    NcclProtocol protocol = NcclProtocol::simple;
    for (const NcclProtocol each : nccl_protocols) {
      if (!knows_gpus_ || topology_.ranks() < 2) break;
      const auto time = algorithms::nccl_time(system_, collective.kind, algorithm, each, collective.bytes);
      if (!time || (best && *best <= *time)) continue;
      best = time;
      protocol = each;
    }
    return std::string(name_of(protocol));
  }

  const Experiment& experiment_;
  const Topology& topology_;
  Selector selector_;
  std::vector<AlgorithmRequest> candidates_;
  std::optional<AlgorithmRequest> nccl_;
  algorithms::NcclSystem system_;
  bool knows_gpus_ = false;
  std::string reason_;
};

// As the plugin reads it; what it does not read are comments.
std::string text_of(const std::vector<Row>& rows, const std::string& kind, const Topology& topology,
                    bool knows_protocols) {
  std::string text = "# " + topology.name() + ", by collsim\n";
  if (!knows_protocols) text += "# The GPUs are not known, so every protocol is simple.\n";
  text +=
      "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff\n";
  const std::string tail =
      "," + std::to_string(topology.placement().nodes) + "," + std::to_string(topology.ranks()) + ",-1,-1\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int64_t from = i == 0 ? 0 : rows[i].from;
    const std::int64_t to =
        i + 1 < rows.size() ? rows[i + 1].from - 1 : std::numeric_limits<std::int64_t>::max();
    text += kind + "," + std::to_string(from) + "," + std::to_string(to) + "," + rows[i].algorithm + "," +
            rows[i].protocol + "," + rows[i].channels + tail;
  }
  return text;
}

ReadResult read(const ExportCommand& command, const Options& options) {
  const std::vector<Override> overrides = overrides_of(options);
  if (!command.ranks.empty())
    throw Stop{ExitCode::usage,
               "collsim: --ranks: a choice by size needs a cluster: --cluster, or an "
               "experiment\n"};
  if (command.words.cluster.empty())
    return read_checked(read_input(command.input), command.input, overrides, options.quiet, ReadFor::run);
  ClusterWords words = command.words;
  words.algorithms = command.input;
  if (words.sizes.empty()) words.sizes = "1KiB:4GiB:2";
  return read_words(words, overrides, options.quiet);
}

}  // namespace

ExitCode export_nccl_tuner(const ExportCommand& command, const Options& options) {
  OutputFile out(command.output);
  const ReadResult input = read(command, options);
  const Experiment& experiment = *input.experiment;
  const std::optional<std::string> kind = tuner_name_of(experiment.collective);
  if (!kind) {
    Diagnostic diagnostic = input.at("collective");
    diagnostic.message = "NCCL's tuner has no " + std::string(name_of(experiment.collective));
    diagnostic.expected = "one of all_reduce, reduce_scatter, all_gather, broadcast, reduce";
    stop_with(std::move(diagnostic));
  }
  const Topology topology = build_topology(input);
  TunerTable table(input, topology, options.quiet);
  const std::vector<Row> rows = table.rows();
  if (rows.empty())
    throw Stop{
        ExitCode::negative,
        "collsim: nothing to choose from: " +
            (table.reason().empty() ? std::string("NCCL has none of the algorithms") : table.reason()) +
            "\n"};
  out.write(text_of(rows, *kind, topology, table.knows_protocols()));
  return ExitCode::done;
}

}  // namespace collsim::program
