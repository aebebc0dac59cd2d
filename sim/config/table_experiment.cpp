#include <limits>
#include <utility>

#include "sim/config/table_parts.hpp"
#include "sim/model/collective.hpp"

namespace collsim::config {
namespace {

using namespace parts;

const std::string size_text = "bytes of the vector, as nccl-tests counts them";

Key size_key() {
  Key key = size("size", 0, size_text + "; one, a list, or a range");
  key.keys = {required(size("from", 1, "smallest size")), required(size("to", 1, "largest size")),
              with_default(integer("factor", 2, 1 << 20, "from one size to the next"), "2")};
  return required(one_or_list_of(std::move(key)));
}

Key datatype_key() {
  return with_default(
      choice("datatype",
             enum_names<Datatype>({Datatype::int8, Datatype::uint8, Datatype::int32, Datatype::uint32,
                                   Datatype::int64, Datatype::uint64, Datatype::float16, Datatype::bfloat16,
                                   Datatype::float32, Datatype::float64, Datatype::float8_e4m3,
                                   Datatype::float8_e5m2}),
             "type of an element"),
      "float32");
}

Key collective_key() { return choice("collective", enum_names(collective_kinds()), "what is computed"); }

Key reduction_key() {
  return choice("reduction",
                enum_names<ReductionOp>({ReductionOp::sum, ReductionOp::prod, ReductionOp::min,
                                         ReductionOp::max, ReductionOp::avg}),
                "operation of the reduction");
}

Key credit_key() {
  Key key = duration("credit_latency",
                     "from a completed receive to the sender seeing the free slot; route: what the "
                     "message took over the links, which is the default where there are sites");
  key.word = "route";
  return key;
}

}  // namespace

Key algorithm_table(const Registries& registries) {
  Key name = required(choice("name", {}, "name or alias of an algorithm"));
  name.noun = "algorithm";
  name.file_suffix = registries.file_suffix;
  Key form = choice("form", {}, "which form of the algorithm; default: its first");
  form.open = true;
  for (const Registries::Algorithm& algorithm : registries.algorithms) {
    name.names.push_back(algorithm.name);
    if (!algorithm.alias.empty()) name.aliases.push_back(algorithm.alias);
    for (const std::string& each : algorithm.forms)
      if (!contains(form.names, each)) form.names.push_back(each);
  }
  Key order = with_default(
      choice("order", {"auto", "rank"}, "order of the ranks: neighbours close, or by number"), "auto");
  Key result = table(
      "algorithm", "what is run; one, or a list",
      {std::move(name), automatic(integer("channels", 1, 64, "copies of the algorithm that share the data")),
       automatic(integer("slices", 1, 1024, "pieces that follow each other through the algorithm")),
       with_default(integer("slots", 1, 1 << 20, "messages that a connection holds"), "8"),
       bandwidth("channel_bandwidth", "of one channel; not given: unlimited"), std::move(order),
       list_of(integer("levels", 1, ranks_max, "sizes of the groups, innermost first")),
       list_of(bandwidth("level_bandwidths", "of a rank at each level, for form: themis")),
       integer("root", 0, ranks_max - 1, "rank at the root of the trees of an all-reduce"),
       integer("radix", 2, ranks_max, "children of a rank in a tree, or the base of an exchange"),
       integer("servers", 1, ranks_max, "parameter servers"), std::move(form)});
  result.short_form = "name";
  return required(one_or_list_of(std::move(result)));
}

Key placement_key() {
  Key key =
      with_default(choice("placement", {"packed", "round_robin"},
                          "where ranks sit: node by node, or on one node after the other, or on these GPUs"),
                   "packed");
  Key gpus = numbers("placement", ranks_max - 1, "GPUs of rank 0, 1, ..., numbered node by node");
  key.list = {list_of(std::move(gpus))};
  return key;
}

Key jobs_table(const Registries& registries) {
  Key algorithm = algorithm_table(registries);
  algorithm.count = Count::one;
  algorithm.required = false;
  algorithm.description = "what is run";
  Key result =
      list_of(table("jobs",
                    "collectives that run at once or one after the other; what is not given is that of the "
                    "experiment, where it has one",
                    {text("name", "no two alike; default: job and its number from 0"), collective_key(),
                     std::move(algorithm), size("size", 0, size_text),
                     integer("root", 0, ranks_max - 1, "place of the root in the list of ranks"),
                     with_default(datatype_key(), ""), reduction_key(),
                     one_or_list_of(numbers("ranks", ranks_max - 1, "its ranks, in order; default: all")),
                     duration("start", "when it begins"),
                     text("after", "name or number of an earlier job that must be done before")}),
              jobs_max);
  return result;
}

Key experiment_table(const Registries& registries) {
  Key root = with_default(
      integer("root", 0, ranks_max - 1, "rank at the root of broadcast, reduce, scatter and gather"), "0");
  Key seed = with_default(
      integer("seed", 0, std::numeric_limits<std::int64_t>::max(), "of every random choice"), "1");
  return table(
      "", "an experiment of collsim",
      {required(cluster_table(registries)), with_default(collective_key(), "all_reduce"), std::move(root),
       algorithm_table(registries), size_key(), datatype_key(), with_default(reduction_key(), "sum"),
       network_table(), routing_table(), duration("launch_overhead", "paid once per collective"),
       credit_key(), placement_key(), jobs_table(registries), faults_table(registries), skew_table(),
       jitter_table(), background_table(),
       with_default(integer("repeat", 1, repeat_max, "runs with the seeds seed, seed + 1, ..."), "1"),
       std::move(seed)});
}

}  // namespace collsim::config
