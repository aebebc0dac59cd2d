// Routing, the packet network, unlike nodes, sites and placement, as an experiment says them.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/sim/config/accepted.hpp"
#include "tests/sim/config/full_experiment.hpp"

using namespace collsim;

namespace {

std::string with(const std::string& more, const std::string& cluster = "") {
  return "cluster:\n  nodes: 8\n  fabric: {kind: fat_tree, radix: 8, bandwidth: 50 GB/s}\n" + cluster +
         "algorithm: ring\nsize: 4 B\n" + more;
}

}  // namespace

TEST_CASE("Routing has a kind and what belongs to it") {
  for (const RoutingKind kind :
       {RoutingKind::minimal, RoutingKind::d_mod_k, RoutingKind::dimension_order, RoutingKind::ecmp,
        RoutingKind::spray, RoutingKind::adaptive, RoutingKind::valiant}) {
    const RoutingSpec routing =
        accepted(with("routing: " + std::string(name_of(kind)) + "\n")).cluster.routing;
    CHECK(routing.kind == kind);
    CHECK_FALSE(routing.polarised);
    CHECK_FALSE(routing.rail_local);
    CHECK(routing.paths == 64);
  }
  CHECK(accepted(experiment_of_jobs()).cluster.routing.polarised);
  const RoutingSpec adaptive = accepted(experiment_of_conditions()).cluster.routing;
  CHECK(adaptive.kind == RoutingKind::adaptive);
  CHECK(adaptive.paths == 16);
  CHECK(adaptive.rail_local);
  const RoutingSpec local = accepted(with("routing: {rail_local: true}\n")).cluster.routing;
  CHECK(local.kind == RoutingKind::minimal);
  CHECK(local.rail_local);
}

TEST_CASE("A routing table is sought beside the file that names it") {
  const std::string text = with("routing: {kind: table, file: tables/a.txt}\n");
  const ReadResult result = read_experiment(text, "some/folder/x.yaml", {}, test_registries());
  REQUIRE(result.experiment.has_value());
  CHECK(result.experiment->cluster.routing.file == "some/folder/tables/a.txt");
  CHECK(result.at("routing.file").place.line == 6);
  CHECK(result.at("routing.file").place.column == 30);
  CHECK(accepted(with(""), {{"routing", "{kind: table, file: a.txt}"}}).cluster.routing.file == "a.txt");
}

TEST_CASE("The packet network has what its keys say") {
  const NetworkOptions network = accepted(experiment_of_conditions()).network;
  CHECK(network.kind == NetworkKind::packet);
  const PacketSpec& packet = network.packet;
  CHECK(packet.mtu == Bytes(2048));
  CHECK(packet.header == Bytes(66));
  CHECK(packet.switching == Switching::store_and_forward);
  CHECK(packet.buffer == Bytes(1 << 20));
  CHECK(packet.reduction_buffer == Bytes(64 << 10));
  CHECK(packet.virtual_channels == 2);
  REQUIRE(packet.ecn.has_value());
  CHECK(packet.ecn->k_min == Bytes(100 << 10));
  CHECK(packet.ecn->k_max == Bytes(400 << 10));
  CHECK(packet.ecn->mark_max_ppm == 200'000);
  REQUIRE(packet.rate_control.has_value());
  const RateControlSpec& control = *packet.rate_control;
  CHECK(control.notification_interval == Duration::microseconds(40));
  CHECK(control.alpha_interval == Duration::microseconds(45));
  CHECK(control.increase_interval == Duration::microseconds(50));
  CHECK(control.gain_shift == 4);
  CHECK(control.recovery_steps == 3);
  CHECK(control.additive == Bandwidth::bytes_per_second(10'000'000));
  CHECK(control.hyper == Bandwidth::bytes_per_second(50'000'000));
  CHECK(control.rate_min == Bandwidth::bytes_per_second(1'250'000));
}

TEST_CASE("What is not said of the packet network is as in the model") {
  const PacketSpec plain = accepted(with("network: packet\n")).network.packet;
  const PacketSpec model;
  CHECK(plain.mtu == model.mtu);
  CHECK(plain.header == model.header);
  CHECK(plain.switching == model.switching);
  CHECK_FALSE(plain.buffer.has_value());
  CHECK_FALSE(plain.reduction_buffer.has_value());
  CHECK_FALSE(plain.virtual_channels.has_value());
  CHECK_FALSE(plain.ecn.has_value());
  CHECK_FALSE(plain.rate_control.has_value());
  const PacketSpec marked =
      accepted(with("network: {kind: packet, buffer: auto, ecn: {k_min: 4 KiB, k_max: 4 KiB}, rate_control: "
                    "dcqcn}\n"))
          .network.packet;
  CHECK_FALSE(marked.buffer.has_value());
  CHECK(marked.ecn->mark_max_ppm == EcnSpec().mark_max_ppm);
  REQUIRE(marked.rate_control.has_value());
  const RateControlSpec control;
  CHECK(marked.rate_control->notification_interval == control.notification_interval);
  CHECK(marked.rate_control->alpha_interval == control.alpha_interval);
  CHECK(marked.rate_control->increase_interval == control.increase_interval);
  CHECK(marked.rate_control->gain_shift == control.gain_shift);
  CHECK(marked.rate_control->recovery_steps == control.recovery_steps);
  CHECK(marked.rate_control->additive == control.additive);
  CHECK(marked.rate_control->hyper == control.hyper);
  CHECK(marked.rate_control->rate_min == control.rate_min);
}

TEST_CASE("--set gives a short form what its map may hold") {
  const PacketSpec packet = accepted(with("network: packet\n"),
                                     {{"network.mtu", "1 KiB"}, {"network.ecn", "{k_min: 0 B, k_max: 1 B}"}})
                                .network.packet;
  CHECK(packet.mtu == Bytes(1024));
  CHECK(packet.ecn->k_max == Bytes(1));
  CHECK(accepted(with("routing: ecmp\n"), {{"routing.polarised", "true"}}).cluster.routing.polarised);
}

TEST_CASE("Groups of unlike nodes lie over their preset or over cluster.node") {
  const ClusterSpec cluster = accepted(experiment_of_groups()).cluster;
  CHECK(cluster.nodes == 6);
  REQUIRE(cluster.groups.size() == 4);
  CHECK(cluster.groups[0].count == 2);
  CHECK(cluster.groups[0].preset == "dgx-h100");
  CHECK(cluster.groups[0].node.gpus == 8);
  CHECK(cluster.groups[0].node.nics.count == 8);
  CHECK(cluster.node.gpus == 8);  // that of the first group
  CHECK(cluster.preset.empty());
  const NodeSpec& second = cluster.groups[1].node;
  CHECK(cluster.groups[1].preset.empty());
  CHECK(second.gpus == 4);  // from cluster.node
  CHECK(second.nics.count == 2);
  CHECK(second.nics.bandwidth == Bandwidth::gigabytes_per_second(50));
  CHECK(second.interconnect.kind == InterconnectKind::nvswitch);
  const NodeSpec& third = cluster.groups[2].node;
  CHECK(third.gpus == 2);
  CHECK(third.nics.count == 1);  // from cluster.node
  CHECK(third.interconnect.kind == InterconnectKind::pcie);
  CHECK(!third.interconnect.total);
  const InterconnectSpec& shared = cluster.groups[3].node.interconnect;
  CHECK(shared.kind == InterconnectKind::shared_memory);
  CHECK(shared.bandwidth == Bandwidth::gigabytes_per_second(9));
  CHECK(shared.total == Bandwidth::gigabytes_per_second(15));
  CHECK(shared.reduce_total == Bandwidth::gigabytes_per_second(12));
  CHECK(cluster.fabric.kind == FabricKind::single_switch);
}

TEST_CASE("A group's own node lies over its preset, and --set over all of them") {
  const std::string text =
      "cluster:\n"
      "  preset: dgx-h100\n"
      "  nodes: [{count: 1}, {count: 2, preset: dgx-h100, node: {gpus: 4}}]\n"
      "  node: {nics: {latency: 3 us}}\n"
      "algorithm: ring\nsize: 4 B\n";
  const ClusterSpec cluster = accepted(text).cluster;
  CHECK(cluster.groups[0].node.nics.latency == Duration::microseconds(3));
  CHECK(cluster.groups[0].node.gpus == 8);
  CHECK(cluster.groups[1].node.nics.latency == Duration::microseconds(1));
  CHECK(cluster.groups[1].node.gpus == 4);
  CHECK(cluster.groups[1].node.nics.count == 8);
  CHECK(accepted(text, {{"cluster.nodes[1].count", "5"}}).cluster.nodes == 6);
  CHECK(accepted(text, {{"cluster.nodes[1].node.gpus", "6"}}).cluster.groups[1].node.gpus == 6);
  CHECK(accepted(text, {{"cluster.node.gpus", "2"}}).cluster.groups[0].node.gpus == 2);
  CHECK(accepted(text, {{"cluster.nodes", "3"}}).cluster.groups.empty());
  const ReadResult result = read(text);
  CHECK(result.at("cluster.nodes[1].node.gpus").place.line == 3);
  CHECK(result.at("cluster.nodes[0].node.nics.latency").place.line == 4);
  CHECK(result.at("cluster.nodes[0].node.gpus").place.file == "hardware/dgx-h100.yaml");
}

TEST_CASE("One group is the plain form") {
  const ClusterSpec cluster =
      accepted(
          "cluster: {nodes: [{count: 3, node: {gpus: 2}}], fabric: {kind: switch, bandwidth: 1 GB/s}}\n"
          "algorithm: ring\nsize: 4 B\n")
          .cluster;
  CHECK(cluster.groups.empty());
  CHECK(cluster.nodes == 3);
  CHECK(cluster.node.gpus == 2);
}

TEST_CASE("Ranks of unlike nodes are counted group by group") {
  const std::string text =
      "cluster: {nodes: [{count: 3, node: {gpus: 2}}, {count: 1, node: {gpus: 5}}],\n"
      "  fabric: {kind: switch, bandwidth: 1 GB/s}}\n"
      "algorithm: ring\nsize: 44 B\ncollective: gather\nroot: ";
  CHECK(accepted(text + "10\n").root == 10);
  CHECK(accepted(text + "10\n").sizes == std::vector<Bytes>{Bytes(44)});
  CHECK(read(text + "11\n").diagnostics.text().find("root: there is no rank 11") != std::string::npos);
}

TEST_CASE("Sites have their nodes and their links, and credits then take the route") {
  const Experiment experiment = accepted(experiment_of_conditions());
  const SitesSpec& sites = experiment.cluster.sites;
  CHECK(sites.count == 2);
  CHECK(sites.nodes == std::vector<int>{5, 3});
  CHECK(sites.bandwidth == Bandwidth::bytes_per_second(12'500'000'000));
  CHECK(sites.latency == Duration::microseconds(5'000));
  CHECK(sites.links == 2);
  const std::string two = "  sites: {count: 2, bandwidth: 10 GB/s}\n";
  const Experiment plain = accepted(with("", two));
  CHECK(plain.cluster.sites.nodes.empty());
  CHECK(plain.cluster.sites.links == 1);
  CHECK(plain.credit_by_route);
  const Experiment timed = accepted(with("credit_latency: 2 us\n", two));
  CHECK_FALSE(timed.credit_by_route);
  CHECK(timed.credit_latency == Duration::microseconds(2));
  CHECK(accepted(with("credit_latency: route\n")).credit_by_route);
  CHECK_FALSE(accepted(with("")).credit_by_route);
}

TEST_CASE("Ranks are placed by a rule or on listed GPUs, which then are all there are") {
  CHECK(accepted(with("")).placement.kind == PlacementKind::packed);
  CHECK(accepted(with("placement: round_robin\n")).placement.kind == PlacementKind::round_robin);
  const Experiment listed = accepted(with("placement: [3, 5-7:2, 0]\ncollective: reduce\nroot: 3\n"));
  CHECK(listed.placement.kind == PlacementKind::list);
  CHECK(listed.placement.gpus == std::vector<Rank>{3, 5, 7, 0});
}
