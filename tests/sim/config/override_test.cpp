#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/sim/config/fixture.hpp"

using namespace collsim;

namespace {

const std::string base =
    "cluster:\n"
    "  nodes: 2\n"
    "  node: {gpus: 4, interconnect: {kind: nvswitch, bandwidth: 100 GB/s, reduction: true}}\n"
    "  fabric: {kind: switch, bandwidth: 50 GB/s}\n"
    "algorithm: [ring, {name: cascade, slices: 2}]\n"
    "size: [4 B, 8 B]\n";

Experiment with(const std::vector<Override>& overrides, const std::string& text = base) {
  const ReadResult result = read(text, overrides);
  CHECK(result.diagnostics.text() == "");
  REQUIRE(result.experiment.has_value());
  return *result.experiment;
}

}  // namespace

TEST_CASE("An override sets a value that is there, or one that is not") {
  CHECK(with({{"cluster.nodes", "8"}}).cluster.nodes == 8);
  CHECK(with({{"seed", "5"}}).seed == 5);
  CHECK(with({{"cluster.node.gpu.send_overhead", "5 ns"}}).cluster.node.gpu.send_overhead ==
        Duration::nanoseconds(5));
  CHECK(with({{"size", "1 KiB"}}).sizes == std::vector<Bytes>{Bytes(1024)});
  CHECK(with({{"size", "[1 KiB, 2 KiB]"}}).sizes == std::vector<Bytes>{Bytes(1024), Bytes(2048)});
}

TEST_CASE("An override reaches into lists") {
  CHECK(with({{"size[1]", "16 B"}}).sizes == std::vector<Bytes>{Bytes(4), Bytes(16)});
  CHECK(with({{"algorithm[1].slices", "4"}}).algorithms[1].options.slices == 4);
  CHECK(with({{"algorithm[1]", "tree"}}).algorithms[1].name == "double_binary_tree");
}

TEST_CASE("An override turns a short form into the map that it stands for") {
  const Experiment listed = with({{"algorithm[0].channels", "4"}});
  CHECK(listed.algorithms[0].name == "ring");
  CHECK(listed.algorithms[0].options.channels == 4);
  const std::string single = "cluster: {}\nalgorithm: ring\nsize: 4 B\n";
  CHECK(with({{"algorithm.channels", "4"}}, single).algorithms[0].options.channels == 4);
  CHECK(with({{"algorithm[0].channels", "4"}}, single).algorithms[0].options.channels == 4);
  const ReductionSpec reduction =
      with({{"cluster.node.interconnect.reduction.operations", "4"}}).cluster.node.interconnect.reduction;
  CHECK(reduction.enabled);
  CHECK(reduction.operations == 4);
}

TEST_CASE("A map given to an override is laid over the map that is there") {
  const FabricSpec fabric = with({{"cluster.fabric", "{latency: 7 ns}"}}).cluster.fabric;
  CHECK(fabric.latency == Duration::nanoseconds(7));
  CHECK(fabric.kind == FabricKind::single_switch);
  CHECK(fabric.bandwidth == Bandwidth::gigabytes_per_second(50));
}

TEST_CASE("Overrides beat the file, the file beats the preset, later overrides beat earlier ones") {
  const std::string text = "cluster: {preset: dgx-h100, node: {gpus: 4}}\nalgorithm: ring\nsize: 4 B\n";
  CHECK(with({}, text).cluster.node.gpus == 4);
  CHECK(with({{"cluster.node.gpus", "2"}}, text).cluster.node.gpus == 2);
  const ReadResult twice = read(text, {{"cluster.node.gpus", "2"}, {"cluster.node.gpus", "6"}});
  CHECK(twice.experiment->cluster.node.gpus == 6);
  CHECK(twice.diagnostics.text() ==
        "--set cluster.node.gpus=2: warning: cluster.node.gpus: may have no effect, because a later --set "
        "gives "
        "the same key\n");
}

TEST_CASE("An override can choose the preset") {
  const Experiment experiment =
      with({{"cluster.preset", "dgx-h100"}}, "cluster: {}\nalgorithm: ring\nsize: 4 B\n");
  CHECK(experiment.cluster.node.gpus == 8);
  CHECK(
      with({{"cluster", "{preset: dgx-h100, nodes: 2}"}}, "algorithm: ring\nsize: 4 B\n").cluster.node.gpus ==
      8);
}

TEST_CASE("An override without effect on a preset's fabric is an error where the two contradict each other") {
  const std::string torus =
      "cluster: {fabric: {kind: torus, dimensions: [4, 4], bandwidth: 1 GB/s}}\nalgorithm: ring\nsize: 4 B\n";
  CHECK(
      read(torus, {{"cluster.nodes", "8"}}).diagnostics.text() ==
      "--set cluster.nodes=8: error: cluster.nodes: 8 nodes do not fill the torus, whose dimensions have 16\n"
      "  expected no nodes, or cluster.fabric.dimensions with that product\n");
  CHECK(with({{"cluster.fabric.dimensions", "[2, 4]"}, {"cluster.nodes", "8"}}, torus).cluster.nodes == 8);
}
