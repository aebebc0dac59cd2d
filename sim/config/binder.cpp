#include "sim/config/binder.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "sim/core/check.hpp"
#include "sim/core/quantity_text.hpp"
#include "sim/core/spelling.hpp"

namespace collsim::config {
namespace {

int int_of(const Value& value) { return static_cast<int>(value.number); }
Bandwidth bandwidth_of(const Value& value) { return Bandwidth::bytes_per_second(value.number); }
Duration duration_of(const Value& value) { return Duration::picoseconds(value.number); }

template <class Result, class Convert>
std::optional<Result> optional_of(const Value& value, Convert convert) {
  if (!value.given || value.automatic) return std::nullopt;
  return convert(value);
}
std::optional<int> optional_int(const Value& value) { return optional_of<int>(value, int_of); }
std::optional<Bandwidth> optional_bandwidth(const Value& value) {
  return optional_of<Bandwidth>(value, bandwidth_of);
}

// The enumerator of that name; `none` if no kind was given.
template <class Enum, std::size_t count>
Enum kind_of(const Value& kind, const std::array<Enum, count>& all, Enum none) {
  if (!kind.given) return none;
  for (const Enum candidate : all)
    if (kind.text == name_of(candidate)) return candidate;
  COLLSIM_CHECK_MSG(false, "a kind of the table has no enumerator: " + kind.text);
}

ReductionSpec reduction_from(const Value& value) {
  ReductionSpec spec;
  spec.enabled = value["enabled"].number != 0;
  if (!spec.enabled) return spec;
  spec.bandwidth = optional_bandwidth(value["bandwidth"]);
  spec.operations = optional_int(value["operations"]);
  spec.radix = optional_int(value["radix"]);
  spec.message_size_max =
      optional_of<Bytes>(value["message_size"], [](const Value& v) { return Bytes(v.number); });
  return spec;
}

InterconnectSpec interconnect_from(const Value& value) {
  using Kind = InterconnectKind;
  static constexpr std::array kinds = {Kind::none, Kind::nvswitch, Kind::full_mesh,
                                       Kind::ring, Kind::pcie,     Kind::hybrid_cube_mesh};
  InterconnectSpec spec;
  spec.kind = kind_of(value["kind"], kinds, Kind::none);
  spec.bandwidth = bandwidth_of(value["bandwidth"]);
  spec.latency = duration_of(value["latency"]);
  spec.reduction = reduction_from(value["reduction"]);
  spec.planes = int_of(value["planes"]);
  spec.gpus_per_switch = int_of(value["gpus_per_switch"]);
  return spec;
}

NodeSpec node_from(const Value& value) {
  NodeSpec spec;
  spec.gpus = int_of(value["gpus"]);
  spec.interconnect = interconnect_from(value["interconnect"]);
  const Value& nics = value["nics"];
  if (nics.given)
    spec.nics = {int_of(nics["count"]), bandwidth_of(nics["bandwidth"]), duration_of(nics["latency"])};
  const Value& gpu = value["gpu"];
  spec.gpu.reduce_bandwidth = optional_bandwidth(gpu["reduce_bandwidth"]);
  spec.gpu.copy_bandwidth = optional_bandwidth(gpu["copy_bandwidth"]);
  spec.gpu.send_overhead = duration_of(gpu["send_overhead"]);
  spec.gpu.receive_overhead = duration_of(gpu["receive_overhead"]);
  return spec;
}

FabricSpec fabric_from(const Value& value) {
  using Kind = FabricKind;
  static constexpr std::array kinds = {Kind::none,  Kind::single_switch, Kind::fat_tree,  Kind::rail_fat_tree,
                                       Kind::torus, Kind::mesh,          Kind::dragonfly, Kind::hypercube,
                                       Kind::ring,  Kind::full_mesh,     Kind::custom};
  FabricSpec spec;
  spec.kind = kind_of(value["kind"], kinds, Kind::none);
  spec.bandwidth = bandwidth_of(value["bandwidth"]);
  spec.latency = duration_of(value["latency"]);
  spec.reduction = reduction_from(value["reduction"]);
  spec.levels = int_of(value["levels"]);
  spec.radix = int_of(value["radix"]);
  spec.oversubscription_numerator = int_of(value["oversubscription"]);
  spec.oversubscription_denominator = static_cast<int>(value["oversubscription"].denominator);
  for (const Value& side : value["dimensions"].items) spec.dimensions.push_back(int_of(side));
  spec.dragonfly_routers = int_of(value["routers"]);
  spec.dragonfly_nodes = int_of(value["nodes_per_router"]);
  spec.dragonfly_global_links = int_of(value["global_links"]);
  for (const Value& link : value["links"].items)
    spec.links.push_back({int_of(link["from"]), int_of(link["to"]), optional_bandwidth(link["bandwidth"]),
                          optional_of<Duration>(link["latency"], duration_of)});
  return spec;
}

AlgorithmOptions options_from(const Value& value) {
  AlgorithmOptions options;
  options.channels = optional_int(value["channels"]);
  options.slices = optional_int(value["slices"]);
  if (value["slots"].node) options.slots = int_of(value["slots"]);
  options.channel_bandwidth = optional_bandwidth(value["channel_bandwidth"]);
  options.order = value["order"].text == "rank" ? RankOrder::rank : RankOrder::automatic;
  for (const Value& level : value["levels"].items) options.levels.push_back(int_of(level));
  options.root = optional_int(value["root"]);
  options.radix = optional_int(value["radix"]);
  options.servers = optional_int(value["servers"]);
  for (const Value& rate : value["level_bandwidths"].items)
    options.level_bandwidths.push_back(bandwidth_of(rate));
  options.form = value["form"].text;
  return options;
}

class Binder {
 public:
  Binder(const Value& root, const Registries& registries, const Places& places, Diagnostics& diagnostics)
      : root_(root), registries_(registries), places_(places), diagnostics_(diagnostics) {}

  Experiment bind() {
    bind_cluster();
    bind_names();
    bind_root();
    bind_algorithms();
    bind_sizes();
    check_sums();
    return std::move(experiment_);
  }

 private:
  void error(const Where& where, std::string key, std::string message, std::string expected) {
    diagnostics_.add(diagnostic_at(where, std::move(key), std::move(message), std::move(expected)));
  }
  void warn(const std::string& key, std::string message) {
    const Where& where = place(key);
    if (!where.source || where.source->layer == Layer::preset) return;
    Diagnostic diagnostic = diagnostic_at(where, key, std::move(message));
    diagnostic.severity = Severity::warning;
    diagnostics_.add(std::move(diagnostic));
  }

  // Where `key` was written; nowhere if it was not.
  const Where& place(const std::string& key) const {
    static const Where nowhere;
    const auto found = places_.find(key);
    return found == places_.end() ? nowhere : found->second;
  }

  void bind_cluster() {
    const Value& cluster = root_["cluster"];
    ClusterSpec& spec = experiment_.cluster;
    spec.preset = cluster["preset"].text;
    spec.nodes = int_of(cluster["nodes"]);
    spec.node = node_from(cluster["node"]);
    spec.fabric = fabric_from(cluster["fabric"]);
    if (!spec.fabric.dimensions.empty()) bind_dimensions();
    if (std::int64_t{spec.nodes} * spec.node.gpus > ranks_max)
      error(place(places_.count("cluster.nodes") ? "cluster.nodes" : "cluster.node.gpus"), "cluster",
            std::to_string(spec.nodes) + " nodes of " + std::to_string(spec.node.gpus) +
                " GPUs are too many ranks",
            "at most " + std::to_string(ranks_max));
    check_links();
    warn_unused();
  }

  // The dimensions give the number of nodes; a preset's number gives way to the file's dimensions.
  void bind_dimensions() {
    ClusterSpec& spec = experiment_.cluster;
    std::int64_t product = 1;
    for (const int side : spec.fabric.dimensions) {
      product *= side;
      if (product > ranks_max)
        return error(place("cluster.fabric.dimensions"), "cluster.fabric.dimensions",
                     "the dimensions have too many nodes", "at most " + std::to_string(ranks_max));
    }
    const Where& nodes = place("cluster.nodes");
    const Where& dimensions = place("cluster.fabric.dimensions");
    const bool gives_way =
        nodes.source && nodes.source->layer == Layer::preset && dimensions.source->layer != Layer::preset;
    if (nodes.source && !gives_way && spec.nodes != product)
      error(nodes, "cluster.nodes",
            std::to_string(spec.nodes) + " nodes do not fill the " + root_["cluster"]["fabric"]["kind"].text +
                ", whose dimensions have " + std::to_string(product),
            "no nodes, or cluster.fabric.dimensions with that product");
    spec.nodes = static_cast<int>(product);
  }

  void check_links() {
    const ClusterSpec& spec = experiment_.cluster;
    for (std::size_t i = 0; i < spec.fabric.links.size(); ++i) {
      const CustomLink& link = spec.fabric.links[i];
      const std::string path = indexed_path("cluster.fabric.links", i);
      for (const auto& [name, end] : {std::pair{".from", link.from}, std::pair{".to", link.to}})
        if (end >= spec.nodes)
          error(place(path + name), path + name, "there is no node " + std::to_string(end),
                "a node from 0 to " + std::to_string(spec.nodes - 1));
      if (link.from == link.to) error(place(path), path, "the link leads from a node to itself", "two nodes");
    }
  }

  void warn_unused() {
    const ClusterSpec& spec = experiment_.cluster;
    const bool joined_nodes = spec.fabric.kind != FabricKind::none;
    if (!joined_nodes && spec.node.nics.count > 0)
      warn("cluster.node.nics", "has no effect without cluster.fabric");
    if (joined_nodes && spec.nodes == 1 && spec.fabric.dimensions.empty())
      warn("cluster.fabric", "has no effect with one node");
    if (spec.node.interconnect.kind != InterconnectKind::none && spec.node.gpus == 1)
      warn("cluster.node.interconnect", "has no effect with one GPU a node");
    const Value& cluster = root_["cluster"];
    for (const auto& [key, value] :
         {std::pair{"cluster.node.interconnect.reduction", &cluster["node"]["interconnect"]["reduction"]},
          std::pair{"cluster.fabric.reduction", &cluster["fabric"]["reduction"]}})
      if (value->given && (*value)["enabled"].number == 0)
        for (const char* limit : {"bandwidth", "operations", "radix", "message_size"})
          if ((*value)[limit].node)
            warn(std::string(key) + "." + limit, "has no effect, because the switches do not reduce");
  }

  void bind_names() {
    experiment_.collective = *collective_from_name(root_["collective"].text);
    experiment_.datatype = *datatype_from_name(root_["datatype"].text);
    experiment_.reduction = *reduction_from_name(root_["reduction"].text);
    experiment_.launch_overhead = duration_of(root_["launch_overhead"]);
    experiment_.credit_latency = duration_of(root_["credit_latency"]);
    experiment_.seed = static_cast<std::uint64_t>(root_["seed"].number);
  }

  // Too many are an error that was reported already.
  std::int64_t ranks() const {
    return std::min(std::int64_t{experiment_.cluster.nodes} * experiment_.cluster.node.gpus, ranks_max);
  }

  // The root, and the keys that the collective makes nothing of.
  void bind_root() {
    const CollectiveKind kind = experiment_.collective;
    const std::string none = "has no effect with collective " + std::string(name_of(kind));
    experiment_.root = static_cast<Rank>(root_["root"].number);
    if (has_root(kind) && experiment_.root >= ranks())
      error(place("root"), "root", "there is no rank " + std::to_string(experiment_.root),
            "a rank from 0 to " + std::to_string(ranks() - 1));
    if (!has_root(kind) && root_["root"].node) warn("root", none);
    if (!reduces(kind) && root_["reduction"].node) warn("reduction", none);
    if (kind == CollectiveKind::barrier && root_["datatype"].node) warn("datatype", none);
  }

  // The values of a key that takes one or a list, with their paths.
  static std::vector<std::pair<std::string, const Value*>> each(const Value& value, const std::string& path) {
    std::vector<std::pair<std::string, const Value*>> result;
    if (!value.given) return result;
    if (value.items.empty()) return {{path, &value}};
    for (std::size_t i = 0; i < value.items.size(); ++i)
      result.emplace_back(indexed_path(path, i), &value.items[i]);
    return result;
  }

  void bind_algorithms() {
    const auto requests = each(root_["algorithm"], "algorithm");
    if (static_cast<std::int64_t>(requests.size()) > algorithms_max)
      return error(place("algorithm"), "algorithm", "the list is too long",
                   "at most " + std::to_string(algorithms_max) + " algorithms");
    for (const auto& [path, value] : requests) {
      const Value& name = (*value)["name"];
      const auto info = std::find_if(
          registries_.algorithms.begin(), registries_.algorithms.end(),
          [&](const auto& entry) { return entry.name == name.text || entry.alias == name.text; });
      const bool is_file = info == registries_.algorithms.end();
      COLLSIM_CHECK(!is_file || !registries_.file_suffix.empty());
      check_options(
          *value, is_file ? Registries::Algorithm{name.text, "", registries_.file_options, {}} : *info, path);
      experiment_.algorithms.push_back({is_file ? path_of(name) : info->name, options_from(*value)});
    }
  }

  // The path of an algorithm's file. What a file says is relative to the folder of that file.
  static std::string path_of(const Value& name) {
    const Source& source = *name.node->where.source;
    const std::size_t folder = source.layer == Layer::file ? source.name.rfind('/') : std::string::npos;
    if (folder == std::string::npos || name.text.front() == '/') return name.text;
    return source.name.substr(0, folder + 1) + name.text;
  }

  void check_options(const Value& value, const Registries::Algorithm& info, const std::string& path) {
    if (value.node->kind != Node::Kind::map) return;
    std::vector<std::string> options = info.options;
    if (!info.forms.empty() && !contains(options, "form")) options.emplace_back("form");
    for (const Entry& entry : value.node->entries)
      if (entry.key != "name" && !contains(options, entry.key))
        error(entry.where, joined_path(path, entry.key), info.name + " does not take this option",
              options.empty() ? "no options" : "one of " + joined(options));
    const Value& form = value["form"];
    if (form.given && !info.forms.empty() && !contains(info.forms, form.text))
      diagnostics_.add(diagnostic_at(form.node->where, joined_path(path, "form"),
                                     info.name + " has no form " + quoted(form.text),
                                     "one of " + joined(info.forms), nearest(form.text, info.forms)));
  }

  void bind_sizes() {
    const auto values = each(root_["size"], "size");
    if (experiment_.collective == CollectiveKind::barrier) return bind_nothing(values);
    for (const auto& [path, value] : values) {
      if (value->keys.empty())
        add_size(value->number, path, *value);
      else
        add_range(*value, path);
      if (static_cast<std::int64_t>(experiment_.sizes.size()) > sizes_max)
        return error(place("size"), "size", "there are too many sizes",
                     "at most " + std::to_string(sizes_max));
    }
    warn_rounded();
  }

  // A barrier has the size 0, said or not.
  void bind_nothing(const std::vector<std::pair<std::string, const Value*>>& values) {
    for (const auto& [path, value] : values)
      if (!value->keys.empty() || value->number != 0)
        error(value->node->where, path, "a barrier moves no data", "no size, or 0 B");
    experiment_.sizes = {Bytes()};
  }

  void add_range(const Value& range, const std::string& path) {
    const std::int64_t to = range["to"].number;
    if (range["from"].number > to)
      return error(place(path), path, "'from' is larger than 'to'", "from <= to");
    std::int64_t last = 0;
    for (std::int64_t size = range["from"].number; size <= to; size *= range["factor"].number) {
      last = size;
      if (rounded(size) == 0)
        too_small_.push_back(size);
      else if (!add_size(size, path + ".from", range["from"]))
        return;
    }
    if (rounded(last) > 0) return;
    too_small_.clear();
    add_size(last, path + ".to", range["to"]);
  }

  // The size that the collective can have: whole elements, as many for each rank where it has parts.
  std::int64_t rounded(std::int64_t size) const {
    return rounded_to_parts(experiment_.collective, Bytes(size), experiment_.datatype,
                            static_cast<std::int32_t>(ranks()))
        .count();
  }

  bool add_size(std::int64_t size, const std::string& path, const Value& value) {
    const int element = element_bytes(experiment_.datatype);
    if (size % element != 0) {
      error(value.node->where, path,
            quoted(value.node->text) + " is no whole number of elements of " + root_["datatype"].text,
            "a multiple of " + std::to_string(element) + " B");
      return false;
    }
    const std::int64_t effective = rounded(size);
    if (effective == 0 && size > 0) {
      error(value.node->where, path,
            quoted(value.node->text) + " is less than one element of " + root_["datatype"].text +
                " for each of " + std::to_string(ranks()) + " ranks",
            "at least " + text_from(Bytes(element * ranks())));
      return false;
    }
    if (effective != size) rounded_.push_back({size, effective});
    if (size > largest_size_) {
      largest_size_ = size;
      largest_path_ = path;
    }
    experiment_.sizes.emplace_back(effective);
    return true;
  }

  // One warning for all sizes that are not run as they were written.
  void warn_rounded() {
    constexpr std::size_t named_max = 4;
    const std::string parts = "equal parts for " + std::to_string(ranks()) + " ranks: ";
    const auto listed = [&](std::size_t count, const auto& text) {
      std::string list;
      for (std::size_t i = 0; i < std::min(count, named_max); ++i) list += (i > 0 ? ", " : "") + text(i);
      if (count > named_max) list += " and " + std::to_string(count - named_max) + " more";
      return list;
    };
    if (!rounded_.empty())
      warn("size", "rounded down to " + parts + listed(rounded_.size(), [&](std::size_t i) {
                     return text_from(Bytes(rounded_[i].first)) + " to " +
                            text_from(Bytes(rounded_[i].second));
                   }));
    if (!too_small_.empty())
      warn("size",
           "less than one element for each of " + std::to_string(ranks()) + " ranks, left out: " +
               listed(too_small_.size(), [&](std::size_t i) { return text_from(Bytes(too_small_[i])); }));
  }

  std::int64_t smallest_bandwidth() const {
    std::int64_t smallest = bandwidth_max;
    const auto take = [&](std::optional<Bandwidth> rate) {
      if (rate && rate->bytes_per_second() > 0) smallest = std::min(smallest, rate->bytes_per_second());
    };
    const ClusterSpec& spec = experiment_.cluster;
    for (const Bandwidth rate :
         {spec.node.interconnect.bandwidth, spec.node.nics.bandwidth, spec.fabric.bandwidth})
      take(rate);
    for (const std::optional<Bandwidth>& rate :
         {spec.node.interconnect.reduction.bandwidth, spec.fabric.reduction.bandwidth,
          spec.node.gpu.reduce_bandwidth, spec.node.gpu.copy_bandwidth})
      take(rate);
    for (const CustomLink& link : spec.fabric.links) take(link.bandwidth);
    for (const AlgorithmRequest& request : experiment_.algorithms) take(request.options.channel_bandwidth);
    if (spec.node.interconnect.planes > 1) smallest /= spec.node.interconnect.planes;
    return std::max<std::int64_t>(smallest, 1);
  }

  // Latencies and overheads on the way of one message, at most.
  Int128 message_latency() const {
    const ClusterSpec& spec = experiment_.cluster;
    Int128 hops = 2 * spec.fabric.levels + 6;
    if (spec.fabric.kind == FabricKind::hypercube) hops = 24;
    const bool may_be_long = spec.fabric.kind == FabricKind::ring || spec.fabric.kind == FabricKind::custom;
    if (may_be_long) hops = spec.nodes;
    for (const int side : spec.fabric.dimensions) hops += side;
    Duration hop = spec.fabric.latency;
    for (const CustomLink& link : spec.fabric.links) hop = std::max(hop, link.latency.value_or(hop));
    const Int128 inside_hops = spec.node.interconnect.kind == InterconnectKind::ring ? spec.node.gpus : 4;
    const NodeSpec& node = spec.node;
    return hops * hop.picoseconds() + inside_hops * node.interconnect.latency.picoseconds() +
           Int128{2} * node.nics.latency.picoseconds() + node.gpu.send_overhead.picoseconds() +
           node.gpu.receive_overhead.picoseconds() + experiment_.credit_latency.picoseconds();
  }

  // No run may leave int64: at worst one link carries every rank's vector, and every message waits for the
  // last.
  void check_sums() {
    constexpr std::int64_t sum_max = std::int64_t{1} << 61;
    constexpr Int128 slices_default = 256;
    const Int128 volume = Int128{ranks()} * largest_size_;
    const Int128 seconds_max = sum_max / picoseconds_per_second;
    if (volume > sum_max || volume / smallest_bandwidth() > seconds_max) {
      error(place(largest_path_), largest_path_,
            text_from(Bytes(largest_size_)) + " on " + std::to_string(ranks()) +
                (ranks() == 1 ? " rank" : " ranks") + " could take longer than simulated time reaches",
            "size * ranks / the smallest bandwidth below " + text_from(Duration::picoseconds(sum_max)));
    }
    Int128 slices = slices_default;
    for (const AlgorithmRequest& request : experiment_.algorithms)
      slices = std::max<Int128>(slices, request.options.slices.value_or(1));
    if (message_latency() > sum_max / (2 * ranks() * slices))
      error(place("cluster"), "cluster",
            "the latencies of all messages could add up to more than simulated time reaches",
            "latency * ranks * slices below " + text_from(Duration::picoseconds(sum_max)));
  }

  const Value& root_;
  const Registries& registries_;
  const Places& places_;
  Diagnostics& diagnostics_;
  Experiment experiment_;
  std::vector<std::pair<std::int64_t, std::int64_t>> rounded_;  // as written, as run
  std::vector<std::int64_t> too_small_;                         // of ranges
  std::int64_t largest_size_ = 0;
  std::string largest_path_ = "size";
};

}  // namespace

Experiment experiment_from(const Value& root, const Registries& registries, const Places& places,
                           Diagnostics& diagnostics) {
  return Binder(root, registries, places, diagnostics).bind();
}

}  // namespace collsim::config
