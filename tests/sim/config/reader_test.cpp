#include "sim/config/reader.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/sim/config/accepted.hpp"
#include "tests/sim/config/full_experiment.hpp"

using namespace collsim;

namespace {

constexpr std::int64_t gb = 1'000'000'000;

std::string with_fabric(const std::string& fabric) {
  return "cluster: {nodes: 2, fabric: " + fabric + "}\nalgorithm: ring\nsize: 4 B\n";
}

}  // namespace

TEST_CASE("An experiment has what its file says: node and interconnect") {
  const NodeSpec node = accepted(full_experiments()[0]).cluster.node;
  CHECK(node.gpus == 8);
  CHECK(node.interconnect.kind == InterconnectKind::nvswitch);
  CHECK(node.interconnect.bandwidth == Bandwidth::gigabytes_per_second(450));
  CHECK(node.interconnect.latency == Duration::nanoseconds(500));
  CHECK(node.interconnect.planes == 2);
  CHECK(node.interconnect.reduction.enabled);
  CHECK(node.interconnect.reduction.bandwidth == Bandwidth::gigabytes_per_second(400));
  CHECK(node.interconnect.reduction.operations == 3);
  CHECK(node.interconnect.reduction.radix == 8);
  CHECK(node.interconnect.reduction.message_size_max == Bytes(1 << 30));
  CHECK(node.nics.count == 4);
  CHECK(node.nics.bandwidth == Bandwidth::gigabytes_per_second(50));
  CHECK(node.nics.latency == Duration::nanoseconds(1'250));
  CHECK(node.gpu.reduce_bandwidth == Bandwidth::gigabytes_per_second(1'200));
  CHECK(node.gpu.copy_bandwidth == Bandwidth::gigabytes_per_second(2'000));
  CHECK(node.gpu.send_overhead == Duration::nanoseconds(1));
  CHECK(node.gpu.receive_overhead == Duration::nanoseconds(2));
}

TEST_CASE("An experiment has what its file says: fabric") {
  const ClusterSpec cluster = accepted(full_experiments()[0]).cluster;
  CHECK(cluster.preset.empty());
  CHECK(cluster.nodes == 4);
  const FabricSpec& fabric = cluster.fabric;
  CHECK(fabric.kind == FabricKind::fat_tree);
  CHECK(fabric.levels == 3);
  CHECK(fabric.radix == 40);
  CHECK(fabric.oversubscription_numerator == 3);
  CHECK(fabric.oversubscription_denominator == 2);
  CHECK(fabric.bandwidth == Bandwidth::gigabytes_per_second(25));
  CHECK(fabric.latency == Duration::nanoseconds(250));
  CHECK(cluster.routing.kind == RoutingKind::ecmp);
  CHECK(fabric.reduction.enabled);
  CHECK_FALSE(fabric.reduction.radix.has_value());
}

TEST_CASE("An experiment has what its file says: algorithms") {
  const std::vector<AlgorithmRequest> algorithms = accepted(full_experiments()[0]).algorithms;
  REQUIRE(algorithms.size() == 8);
  CHECK(algorithms[0].name == "ring");
  CHECK_FALSE(algorithms[0].options.channels.has_value());
  CHECK_FALSE(algorithms[0].options.slots.has_value());
  CHECK(algorithms[0].options.order == RankOrder::automatic);
  CHECK(algorithms[1].name == "double_binary_tree");  // an alias gives the name
  CHECK(algorithms[2].options.channels == 2);
  CHECK_FALSE(algorithms[2].options.slices.has_value());
  CHECK(algorithms[2].options.slots == 4);
  CHECK(algorithms[2].options.channel_bandwidth == Bandwidth::gigabytes_per_second(20));
  CHECK(algorithms[2].options.order == RankOrder::rank);
  CHECK(algorithms[3].options.levels == std::vector<std::int32_t>{8, 4});
  CHECK(algorithms[4].options.root == 3);
  CHECK(algorithms[4].options.radix == 4);
  CHECK(algorithms[4].options.form.empty());
  CHECK(algorithms[5].options.form == "themis");
  CHECK(algorithms[5].options.level_bandwidths ==
        std::vector<Bandwidth>{Bandwidth::gigabytes_per_second(450), Bandwidth::gigabytes_per_second(50)});
  CHECK(algorithms[6].options.servers == 2);
  CHECK(algorithms[7].name == "mine/ring.xml");
  CHECK(algorithms[7].options.slots == 1);
}

TEST_CASE("A file of an algorithm is sought beside the file that names it, or from the current folder") {
  const auto path = [](const std::string& file, const std::string& name,
                       const std::vector<Override>& overrides) {
    const std::string text = "cluster: {}\nalgorithm: " + name + "\nsize: 4 B\n";
    const ReadResult result = read_experiment(text, file, overrides, test_registries());
    REQUIRE(result.experiment.has_value());
    return result.experiment->algorithms.front().name;
  };
  CHECK(path("x.yaml", "ring.xml", {}) == "ring.xml");
  CHECK(path("a/b/x.yaml", "c/ring.xml", {}) == "a/b/c/ring.xml");
  CHECK(path("a/x.yaml", "/c/ring.xml", {}) == "/c/ring.xml");
  CHECK(path("a/x.yaml", "ring", {{"algorithm", "c/ring.xml"}}) == "c/ring.xml");
  CHECK(path("<command line>", "c/ring.xml", {}) == "c/ring.xml");
}

TEST_CASE("Every collective is read as itself, with its root") {
  for (const CollectiveKind kind : collective_kinds()) {
    const std::string name(name_of(kind));
    CAPTURE(name);
    const std::string root = has_root(kind) ? "root: 2\n" : "";
    const std::string size = kind == CollectiveKind::barrier ? "" : "size: 12 B\n";
    const Experiment experiment = accepted(
        "cluster: {nodes: 3, fabric: {kind: ring, bandwidth: 1 GB/s}}\n"
        "algorithm: ring\ncollective: " +
        name + "\n" + root + size);
    const Collective collective = collective_of(experiment, experiment.sizes.front());
    CHECK(collective.kind == kind);
    CHECK(collective.root == (has_root(kind) ? 2 : 0));
    CHECK(collective.bytes == Bytes(kind == CollectiveKind::barrier ? 0 : 12));
  }
}

TEST_CASE("Sizes of collectives in parts are rounded down to equal parts, with one warning") {
  const auto sizes = [](const std::string& collective, const std::string& size) {
    const ReadResult result =
        read("cluster: {nodes: 3, fabric: {kind: ring, bandwidth: 1 GB/s}}\nalgorithm: ring\ncollective: " +
             collective + "\nsize: " + size + "\n");
    REQUIRE(result.experiment.has_value());
    CHECK(result.diagnostics.items().size() == (collective == "all_gather" ? 1 : 0));
    return result.experiment->sizes;
  };
  CHECK(sizes("all_gather", "[16 B, 100 B]") == std::vector<Bytes>{Bytes(12), Bytes(96)});
  CHECK(sizes("all_reduce", "[16 B, 100 B]") == std::vector<Bytes>{Bytes(16), Bytes(100)});
  CHECK(sizes("all_to_all", "[12 B, 96 B, 0 B]") == std::vector<Bytes>{Bytes(12), Bytes(96), Bytes(0)});
}

TEST_CASE("An experiment has what its file says: the rest") {
  const Experiment experiment = accepted(full_experiments()[0]);
  CHECK(experiment.collective == CollectiveKind::all_reduce);
  CHECK(experiment.sizes == std::vector<Bytes>{Bytes(8 << 20), Bytes(1024), Bytes(4096), Bytes(0)});
  CHECK(experiment.datatype == Datatype::bfloat16);
  CHECK(experiment.reduction == ReductionOp::max);
  CHECK(experiment.network.kind == NetworkKind::fluid);
  CHECK(experiment.launch_overhead == Duration::microseconds(5));
  CHECK(experiment.credit_latency == Duration::nanoseconds(3));
  CHECK(experiment.seed == 7);
}

TEST_CASE("Other fabrics have their own keys") {
  const Experiment torus = accepted(full_experiments()[1]);
  CHECK(torus.cluster.nodes == 24);
  CHECK(torus.cluster.fabric.dimensions == std::vector<int>{2, 3, 4});
  CHECK(torus.cluster.node.interconnect.kind == InterconnectKind::pcie);
  CHECK(torus.cluster.node.interconnect.gpus_per_switch == 4);

  const Experiment dragonfly = accepted(full_experiments()[2]);
  CHECK(dragonfly.cluster.fabric.dragonfly_routers == 3);
  CHECK(dragonfly.cluster.fabric.dragonfly_nodes == 2);
  CHECK(dragonfly.cluster.fabric.dragonfly_global_links == 1);
  CHECK(dragonfly.sizes == std::vector<Bytes>{Bytes(4), Bytes(8), Bytes(16)});

  const Experiment custom = accepted(full_experiments()[3]);
  REQUIRE(custom.cluster.fabric.links.size() == 2);
  CHECK_FALSE(custom.cluster.fabric.links[0].bandwidth.has_value());
  CHECK_FALSE(custom.cluster.fabric.links[0].latency.has_value());
  CHECK(custom.cluster.fabric.links[1].from == 1);
  CHECK(custom.cluster.fabric.links[1].to == 2);
  CHECK(custom.cluster.fabric.links[1].bandwidth == Bandwidth::gigabytes_per_second(10));
  CHECK(custom.cluster.fabric.links[1].latency == Duration::nanoseconds(5));
}

TEST_CASE("What is not written has the default of the contract") {
  const Experiment experiment = accepted("cluster: {}\nalgorithm: ring\nsize: 4 B\n");
  const ClusterSpec& cluster = experiment.cluster;
  CHECK(cluster.nodes == 1);
  CHECK(cluster.node.gpus == 1);
  CHECK(cluster.node.interconnect.kind == InterconnectKind::none);
  CHECK(cluster.node.nics.count == 0);
  CHECK_FALSE(cluster.node.gpu.reduce_bandwidth.has_value());
  CHECK(cluster.node.gpu.send_overhead == Duration());
  CHECK(cluster.fabric.kind == FabricKind::none);
  CHECK(experiment.collective == CollectiveKind::all_reduce);
  CHECK(experiment.datatype == Datatype::float32);
  CHECK(experiment.reduction == ReductionOp::sum);
  CHECK(experiment.launch_overhead == Duration());
  CHECK(experiment.credit_latency == Duration());
  CHECK(experiment.seed == 1);
  const FabricSpec fabric =
      accepted(with_fabric("{kind: fat_tree, radix: 8, bandwidth: 1 GB/s}")).cluster.fabric;
  CHECK(fabric.levels == 2);
  CHECK(fabric.oversubscription_numerator == 1);
  CHECK(fabric.oversubscription_denominator == 1);
  CHECK(fabric.latency == Duration());
  CHECK_FALSE(fabric.reduction.enabled);
  CHECK(cluster.routing.kind == RoutingKind::minimal);
}

TEST_CASE("Every kind of fabric and interconnect is read as itself") {
  for (const FabricKind kind :
       {FabricKind::hypercube, FabricKind::ring, FabricKind::full_mesh, FabricKind::single_switch})
    CHECK(accepted(with_fabric("{kind: " + std::string(name_of(kind)) + ", bandwidth: 1 GB/s}"))
              .cluster.fabric.kind == kind);
  CHECK(accepted(with_fabric("{kind: mesh, dimensions: [2], bandwidth: 1 GB/s}")).cluster.fabric.kind ==
        FabricKind::mesh);
  CHECK(accepted(with_fabric("{kind: rail_fat_tree, radix: 4, bandwidth: 1 GB/s}")).cluster.fabric.kind ==
        FabricKind::rail_fat_tree);
  CHECK(accepted(with_fabric("{kind: none}")).cluster.fabric.kind == FabricKind::none);
  for (const InterconnectKind kind :
       {InterconnectKind::nvswitch, InterconnectKind::full_mesh, InterconnectKind::ring,
        InterconnectKind::pcie, InterconnectKind::hybrid_cube_mesh, InterconnectKind::shared_memory}) {
    const std::string total = kind == InterconnectKind::shared_memory ? ", total: 2 GB/s" : "";
    const std::string text = "cluster: {node: {gpus: 8, interconnect: {kind: " + std::string(name_of(kind)) +
                             ", bandwidth: 1 GB/s" + total + "}}}\nalgorithm: ring\nsize: 4 B\n";
    CHECK(accepted(text).cluster.node.interconnect.kind == kind);
  }
}

TEST_CASE("Oversubscription is an exact fraction, however it is written") {
  const auto fraction = [](const std::string& text) {
    const FabricSpec fabric =
        accepted(with_fabric("{kind: fat_tree, radix: 8, oversubscription: " + text + ", bandwidth: 1 GB/s}"))
            .cluster.fabric;
    return std::to_string(fabric.oversubscription_numerator) + "/" +
           std::to_string(fabric.oversubscription_denominator);
  };
  CHECK(fraction("1") == "1/1");
  CHECK(fraction("3:2") == "3/2");
  CHECK(fraction("6:4") == "3/2");
  CHECK(fraction("1.5") == "3/2");
  CHECK(fraction("'1.50'") == "3/2");
  CHECK(fraction("1000") == "1000/1");
}

TEST_CASE("A quoted value is read as the same value without quotes") {
  const Experiment experiment =
      accepted("cluster: {\"nodes\": '1'}\nalgorithm: \"ring\"\nsize: '8 MiB'\nseed: \"2\"\n");
  CHECK(experiment.sizes == std::vector<Bytes>{Bytes(8 << 20)});
  CHECK(experiment.seed == 2);
}

TEST_CASE("Aliases stand for what they name") {
  const Experiment experiment =
      accepted("cluster: {}\nalgorithm: [&a {name: ring, channels: 2}, *a]\nsize: [&s 8 MiB, *s]\n");
  CHECK(experiment.algorithms.size() == 2);
  CHECK(experiment.algorithms[1].options.channels == 2);
  CHECK(experiment.sizes == std::vector<Bytes>{Bytes(8 << 20), Bytes(8 << 20)});
}

TEST_CASE("Aliases of aliases of lists end, although they would unfold to 10^9 values") {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) text += (j == 0 ? "" : ", ") + last;
    text += "]\n";
  }
  text += "cluster: *a8\nalgorithm: *a8\nsize: *a8\n";
  CHECK(read(text).diagnostics.has_errors());
}

TEST_CASE("A file for a cluster may lack algorithm and size") {
  const ReadResult result = read("cluster: {nodes: 1}\n", {}, ReadFor::cluster);
  CHECK(result.diagnostics.text() == "");
  REQUIRE(result.experiment.has_value());
  CHECK(result.experiment->algorithms.empty());
  CHECK(result.experiment->sizes.empty());
  CHECK(read("size: 4 B\n", {}, ReadFor::cluster).diagnostics.text() ==
        "x.yaml: error: cluster: missing\n  expected a map with preset, nodes, node, fabric, sites\n");
}

TEST_CASE("Size lists and ranges are bounded") {
  std::string many = "cluster: {}\nalgorithm: ring\nsize: [4 B";
  for (int i = 1; i < 10'000; ++i) many += ", 4 B";
  CHECK(accepted(many + "]\n").sizes.size() == 10'000);
  CHECK(read(many + ", 4 B]\n").diagnostics.text().find("size: there are too many sizes") !=
        std::string::npos);
  CHECK(accepted("cluster: {}\nalgorithm: ring\nsize: {from: 4 B, to: 1024 TiB}\n").sizes.size() == 49);
  CHECK(accepted("cluster: {}\nalgorithm: ring\nsize: {from: 4 B, to: 4 B}\n").sizes.size() == 1);
}

TEST_CASE("at() gives the place of a key, or of the nearest one around it that was written") {
  const ReadResult result = read(with_fabric("{kind: fat_tree, radix: 8, bandwidth: 1 GB/s}"));
  const auto place = [&](std::string_view key) {
    const Diagnostic diagnostic = result.at(key);
    CHECK(diagnostic.key == key);
    return diagnostic.place.file + ":" + std::to_string(diagnostic.place.line) + ":" +
           std::to_string(diagnostic.place.column);
  };
  CHECK(place("cluster.fabric.radix") == "x.yaml:1:53");
  CHECK(place("cluster.fabric.levels") == "x.yaml:1:29");
  CHECK(place("cluster.node.nics.bandwidth") == "x.yaml:1:10");
  CHECK(place("nowhere.at.all") == "x.yaml:0:0");
  CHECK(result.at("cluster.fabric.radix").source ==
        "cluster: {nodes: 2, fabric: {kind: fat_tree, radix: 8, bandwidth: 1 GB/s}}");
  Diagnostics later;
  Diagnostic diagnostic = result.at("cluster.fabric.radix");
  diagnostic.message = "too small";
  later.add(diagnostic);
  CHECK(later.text() ==
        "x.yaml:1:53: error: cluster.fabric.radix: too small\n"
        "  cluster: {nodes: 2, fabric: {kind: fat_tree, radix: 8, bandwidth: 1 GB/s}}\n"
        "                                                      ^\n");
}

TEST_CASE("What is accepted keeps volumes and times within int64") {
  const auto errors = [](const std::string& bandwidth, const std::string& size, const std::string& nodes) {
    return read("cluster: {nodes: " + nodes + ", fabric: {kind: switch, bandwidth: " + bandwidth + "}}\n" +
                "algorithm: ring\nsize: " + size + "\n")
        .diagnostics.has_errors();
  };
  CHECK_FALSE(errors("50 GB/s", "4 GiB", "131072"));
  CHECK_FALSE(errors("1 B/s", "4 B", "2"));
  CHECK_FALSE(errors("1 B/s", "1 MiB", "2"));
  CHECK(errors("1 B/s", "1 GiB", "4096"));
  CHECK(errors("1000000 TB/s", "1024 TiB", "16777216"));
  CHECK_FALSE(errors("1000000 TB/s", "1024 TiB", "2"));
}

TEST_CASE("Presets lie under the file, key by key") {
  const Experiment experiment = accepted(
      "cluster:\n"
      "  preset: dgx-h100\n"
      "  nodes: 3\n"
      "  node: {interconnect: {bandwidth: 300 GB/s, reduction: false}}\n"
      "algorithm: ring\n"
      "size: 4 B\n");
  CHECK(experiment.cluster.preset == "dgx-h100");
  CHECK(experiment.cluster.nodes == 3);
  CHECK(experiment.cluster.node.gpus == 8);
  CHECK(experiment.cluster.node.interconnect.bandwidth == Bandwidth::gigabytes_per_second(300));
  CHECK(experiment.cluster.node.interconnect.latency == Duration::nanoseconds(300));
  CHECK_FALSE(experiment.cluster.node.interconnect.reduction.enabled);
  CHECK(experiment.cluster.fabric.radix == 64);
  CHECK(experiment.cluster.fabric.reduction.operations == 2);
  CHECK(experiment.launch_overhead == Duration::microseconds(6));
  CHECK(experiment.cluster.fabric.bandwidth == Bandwidth::bytes_per_second(50 * gb));
}

TEST_CASE("A fabric of another kind takes from the preset what it can use, without a warning") {
  const Experiment experiment = accepted(
      "cluster: {preset: dgx-h100, fabric: {kind: torus, dimensions: [2, 2]}}\nalgorithm: ring\nsize: 4 B\n");
  CHECK(experiment.cluster.nodes == 4);
  CHECK(experiment.cluster.fabric.bandwidth == Bandwidth::gigabytes_per_second(50));
  CHECK(experiment.cluster.fabric.radix == 0);
  CHECK_FALSE(experiment.cluster.fabric.reduction.enabled);
}

TEST_CASE("A place in a preset is given as such") {
  const ReadResult result =
      read("cluster: {preset: dgx-h100}\nalgorithm: ring\nsize: 4 B\n", {{"cluster.nodes", "2"}});
  CHECK(result.at("cluster.fabric.radix").place.file == "hardware/dgx-h100.yaml");
  CHECK(result.at("cluster.fabric.radix").place.line == 8);
  CHECK(result.at("cluster.nodes").place.file == "--set cluster.nodes=2");
  CHECK(result.at("cluster.preset").place.file == "x.yaml");
}
