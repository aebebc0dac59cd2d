// Times of the same work from an independent simulator (SimGrid 3.32, plain max-min sharing; simgrid.csv).
//
// Rows of algorithms that this version has must agree within 0.1 % or the largest alpha, whichever is more.
// SimGrid lets a message pay its latency before it drains, collsim after: where latencies differ on shared
// links, up to the largest alpha is legitimate.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "algorithms/registry.hpp"
#include "sim/execution/simulation.hpp"
#include "tests/support/networks.hpp"
#include "topologies/build.hpp"

using namespace collsim;
using testing::ps;
using testing::rate_of;

namespace {

struct Row {
  std::string topology;
  std::string algorithm;
  std::int64_t bytes;
  std::int64_t bandwidth;
  std::int64_t latency_ps;
  std::string semantics;
  std::int64_t time_ps;
};

std::vector<std::int64_t> numbers(const std::string& text, char separator) {
  std::vector<std::int64_t> result;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) result.push_back(std::stoll(part));
  return result;
}

// "174800.640" ns as picoseconds.
std::int64_t ps_of(const std::string& nanoseconds) {
  const auto dot = nanoseconds.find('.');
  const std::string fraction = dot == std::string::npos ? "" : nanoseconds.substr(dot + 1);
  return std::stoll(nanoseconds.substr(0, dot)) * 1000 + std::stoll((fraction + "000").substr(0, 3));
}

// Columns: topology, algorithm, bytes, bandwidth, latency, semantics, extra (may hold commas), ranks,
// messages, time, jobs.
std::vector<Row> rows() {
  std::ifstream file(std::string(COLLSIM_SOURCE_DIR) + "/tests/golden/simgrid.csv");
  REQUIRE(file.good());
  std::vector<Row> result;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::vector<std::string> cells;
    std::istringstream stream(line);
    for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
    if (line.back() == ',') cells.emplace_back();
    const auto bandwidth = static_cast<std::int64_t>(std::stod(cells[3]));
    result.push_back({cells[0], cells[1], std::stoll(cells[2]), bandwidth, ps_of(cells[4]), cells[5],
                      ps_of(cells[cells.size() - 2])});
  }
  return result;
}

ClusterSpec cluster_of(const Row& row) {
  ClusterSpec cluster;
  FabricSpec& fabric = cluster.fabric;
  fabric.bandwidth = rate_of(row.bandwidth);
  fabric.latency = ps(row.latency_ps);
  const std::string kind = row.topology.substr(0, row.topology.find(':'));
  const std::string shape = row.topology.substr(row.topology.find(':') + 1);
  if (kind == "star") {
    fabric.kind = FabricKind::single_switch;
    cluster.nodes = std::stoi(shape);
  } else if (kind == "torus") {
    fabric.kind = FabricKind::torus;
    cluster.nodes = 1;
    for (const std::int64_t side : numbers(shape, 'x')) {
      fabric.dimensions.push_back(static_cast<int>(side));
      cluster.nodes *= static_cast<int>(side);
    }
  } else if (kind == "ft") {
    const auto sizes = numbers(shape, ':');  // leaves, hosts of a leaf, spines
    fabric.kind = FabricKind::fat_tree;
    cluster.nodes = static_cast<int>(sizes[0] * sizes[1]);
    fabric.radix = static_cast<int>(sizes[1] + sizes[2]);
    fabric.oversubscription_numerator = static_cast<int>(sizes[1]);
    fabric.oversubscription_denominator = static_cast<int>(sizes[2]);
  } else {
    REQUIRE(kind == "nvrail");
    const auto sizes = numbers(shape, ':');  // nodes, GPUs
    cluster.nodes = static_cast<int>(sizes[0]);
    cluster.node.gpus = static_cast<int>(sizes[1]);
    cluster.node.interconnect.kind = InterconnectKind::nvswitch;
    cluster.node.interconnect.bandwidth = rate_of(450'000'000'000);
    cluster.node.interconnect.latency = ps(250'000);
    cluster.node.nics.count = cluster.node.gpus;
    cluster.node.nics.bandwidth = fabric.bandwidth;
    fabric.kind = FabricKind::single_switch;
  }
  return cluster;
}

// What the row stands for here, if it must agree. Recursive exchanges and all-to-alls of rounds that block
// the sender, incasts and two rings at once are other questions.
struct Work {
  std::string algorithm;
  std::string form;
  CollectiveKind collective = CollectiveKind::all_reduce;
};

std::optional<Work> work_of(const Row& row) {
  if (row.algorithm == "ring") return Work{"ring", ""};
  if (row.algorithm == "bucket") return Work{"cascade", ""};
  if (row.algorithm == "tree") return Work{"binomial_tree", ""};
  if (row.algorithm == "rd") return Work{"recursive_doubling", ""};
  if (row.algorithm == "rab") return Work{"rabenseifner", "doubling"};
  if (row.algorithm == "rabdesc") return Work{"rabenseifner", "halving"};
  if (row.algorithm == "a2a") return Work{"direct", "", CollectiveKind::all_to_all};
  return std::nullopt;
}

Duration largest_alpha(const Topology& topology) { return topology.latency_max(); }

}  // namespace

TEST_SUITE("golden") {
  TEST_CASE("SimGrid's times of rings, cascades, trees, recursive exchanges and all-to-alls are reproduced") {
    int checked = 0;
    for (const Row& row : rows()) {
      CAPTURE(row.topology);
      CAPTURE(row.algorithm);
      CAPTURE(row.bytes);
      CAPTURE(row.semantics);
      const std::optional<Work> work = work_of(row);
      if (!work) continue;
      const auto built = topologies::build(cluster_of(row));
      REQUIRE_MESSAGE(std::holds_alternative<Topology>(built),
                      std::get<topologies::BuildError>(built).message);
      const auto& topology = std::get<Topology>(built);
      AlgorithmOptions options;
      options.order = RankOrder::rank;
      options.channels = 1;
      if (row.semantics == "sr") options.slots = 1;
      options.form = work->form;
      Collective collective;
      collective.kind = work->collective;
      collective.bytes = Bytes(row.bytes);
      auto made = algorithms::make_schedule({work->algorithm, options}, collective, topology.placement());
      REQUIRE(std::holds_alternative<Schedule>(made));
      const auto& schedule = std::get<Schedule>(made);
      const RunResult result = simulate(topology, {Job{&schedule, {}, {}, -1}}, {});
      REQUIRE(result.status == RunStatus::ok);
      const std::int64_t tolerance = std::max(row.time_ps / 1000, largest_alpha(topology).picoseconds());
      const std::int64_t time = result.time.picoseconds();
      CAPTURE(time);
      CHECK(std::abs(time - row.time_ps) <= tolerance);
      ++checked;
    }
    CHECK(checked == 116);
  }
}
