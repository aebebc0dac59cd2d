// Times of the same work from an independent simulator (SimGrid 3.32, plain max-min sharing; simgrid.csv).
//
// Every row is run. All but the informative ones must agree within 0.1 % or the largest alpha, whichever is
// more. What differs:
//   - SimGrid lets a message pay its latency before it drains, collsim after. Where the routes that share a
//     link have unlike latencies (on ft and torus, but for rings of neighbours), messages meet there at other
//     times: up to the largest alpha is legitimate. Into one host it makes no difference: what one flow
//     drains earlier, the others drain later, and the port never idles; incasts agree within 2 ps.
//   - a2ashift (informative): a send blocks until it is delivered; here it is free once it has drained, so
//     that ranks are up to an alpha a round ahead, and share links with messages of other rounds.
//   - tworings (informative): a rank goes on while its earlier send still drains, so that two sends of one
//     connection drain at once and take two shares; here a connection delivers in order, one message at a
//     time. Most where rings of unlike sizes share the spine: 75 % of SimGrid's time, the spine always full.
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
#include "tests/support/conservation.hpp"
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
  std::string extra;
  int ranks;
  std::int64_t time_ps;
  std::vector<std::int64_t> finish_ps;  // of each job
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
Row row_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream stream(line);
  for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
  if (line.back() == ',') cells.emplace_back();
  const std::size_t end = cells.size();
  std::string extra = cells[6];
  for (std::size_t cell = 7; cell < end - 4; ++cell) extra += "," + cells[cell];
  std::vector<std::int64_t> finish;
  std::istringstream jobs(cells[end - 1]);
  for (std::string job; std::getline(jobs, job, ';');) finish.push_back(ps_of(job.substr(job.find('=') + 1)));
  return {cells[0],
          cells[1],
          std::stoll(cells[2]),
          static_cast<std::int64_t>(std::stod(cells[3])),
          ps_of(cells[4]),
          cells[5],
          extra,
          std::stoi(cells[end - 4]),
          ps_of(cells[end - 2]),
          finish};
}

std::vector<Row> rows() {
  std::ifstream file(std::string(COLLSIM_SOURCE_DIR) + "/tests/golden/simgrid.csv");
  REQUIRE(file.good());
  std::vector<Row> result;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) result.push_back(row_of(line));
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

// "A=0,1 SB=5": what follows "A=", or nothing.
std::optional<std::string> setting(const Row& row, const std::string& key) {
  std::istringstream stream(row.extra);
  for (std::string part; stream >> part;)
    if (part.compare(0, key.size() + 1, key + "=") == 0) return part.substr(key.size() + 1);
  return std::nullopt;
}

// What one collective stands for a row here. Incasts and two rings at once are several.
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

Topology built(const ClusterSpec& cluster) {
  auto result = topologies::build(cluster);
  REQUIRE_MESSAGE(std::holds_alternative<Topology>(result), std::get<topologies::BuildError>(result).message);
  return std::get<Topology>(std::move(result));
}

Schedule schedule_of(const Work& work, std::int64_t bytes, const Placement& placement,
                     const std::string& semantics) {
  AlgorithmOptions options;
  options.order = RankOrder::rank;
  options.channels = 1;
  if (semantics == "sr") options.slots = 1;
  options.form = work.form;
  Collective collective;
  collective.kind = work.collective;
  collective.bytes = Bytes(bytes);
  auto made = algorithms::make_schedule({work.algorithm, options}, collective, placement);
  REQUIRE(std::holds_alternative<Schedule>(made));
  return std::get<Schedule>(std::move(made));
}

// For schedules of some of the ranks of a cluster.
Placement placement_of(int ranks) {
  ClusterSpec cluster;
  cluster.nodes = ranks;
  cluster.fabric.kind = FabricKind::single_switch;
  cluster.fabric.bandwidth = rate_of(1);
  return built(cluster).placement();
}

RunResult run(const Topology& topology, const std::vector<Job>& jobs, const Conditions& conditions = {}) {
  RunResult result = simulate(topology, jobs, {}, conditions);
  REQUIRE(result.status == RunStatus::ok);
  CHECK(testing::conservation_fault(topology, jobs, result, conditions) == "");
  return result;
}

std::int64_t tolerance(std::int64_t expected_ps, const Topology& topology) {
  return std::max(expected_ps / 1000, topology.latency_max().picoseconds());
}

// Hosts whose links are slower than the others.
Conditions slow_hosts(const Row& row, const Topology& topology) {
  Conditions conditions;
  if (!setting(row, "slow")) return conditions;
  const auto bandwidth = static_cast<std::int64_t>(std::stod(setting(row, "slowbw").value()));
  for (const std::int64_t host : numbers(*setting(row, "slow"), ','))
    for (std::uint32_t id = 0; id < topology.link_count(); ++id) {
      const VertexId vertex(static_cast<std::uint32_t>(host));
      const Link& link = topology.link(LinkId(id));
      if (link.source == vertex || link.target == vertex)
        conditions.link_changes.push_back({Instant(), LinkId(id), rate_of(bandwidth), {}});
    }
  return conditions;
}

// One message a job, from each host to the last; the finish of each.
std::vector<Instant> run_incast(const Row& row, const Topology& topology) {
  const double skew = std::stod(setting(row, "skew").value_or("0"));
  const auto apart = static_cast<std::int64_t>(std::stod(setting(row, "dt").value_or("0")) * 1e12 + 0.5);
  const Placement pair = placement_of(2);
  std::vector<Schedule> messages;
  for (int host = 0; host < row.ranks - 1; ++host) {
    const auto bytes = static_cast<std::int64_t>(static_cast<double>(row.bytes) * (1 + host * skew));
    messages.push_back(schedule_of({"binomial_tree", "", CollectiveKind::broadcast}, bytes, pair, "df"));
  }
  std::vector<Job> jobs;
  for (int host = 0; host < row.ranks - 1; ++host)
    jobs.push_back({&messages[static_cast<std::size_t>(host)],
                    {host, row.ranks - 1},
                    Instant::picoseconds(apart * host),
                    -1});
  return run(topology, jobs, slow_hosts(row, topology)).job_finish;
}

std::vector<Instant> run_two_rings(const Row& row, const Topology& topology) {
  std::vector<Schedule> rings;
  std::vector<std::vector<Rank>> hosts;
  const auto add = [&](const std::string& key, const std::string& default_hosts, std::int64_t bytes) {
    std::vector<Rank> of_ring;
    for (const std::int64_t host : numbers(setting(row, key).value_or(default_hosts), ','))
      of_ring.push_back(static_cast<Rank>(host));
    rings.push_back(schedule_of({"ring", ""}, bytes, placement_of(static_cast<int>(of_ring.size())), "df"));
    hosts.push_back(of_ring);
  };
  add("A", "0,1,8,9", row.bytes);
  add("B", "2,3,10,11", std::stoll(setting(row, "SB").value_or(std::to_string(row.bytes))));
  return run(topology, {{&rings[0], hosts[0], {}, -1}, {&rings[1], hosts[1], {}, -1}}).job_finish;
}

}  // namespace

#define CAPTURE_ROW(row)  \
  CAPTURE(row.topology);  \
  CAPTURE(row.algorithm); \
  CAPTURE(row.bytes);     \
  CAPTURE(row.semantics); \
  CAPTURE(row.extra)

TEST_SUITE("golden") {
  TEST_CASE("SimGrid's times of rings, cascades, trees, recursive exchanges and all-to-alls are reproduced") {
    int checked = 0;
    for (const Row& row : rows()) {
      CAPTURE_ROW(row);
      const std::optional<Work> work = work_of(row);
      if (!work) continue;
      const Topology topology = built(cluster_of(row));
      const Schedule schedule = schedule_of(*work, row.bytes, topology.placement(), row.semantics);
      const std::int64_t time = run(topology, {Job{&schedule, {}, {}, -1}}).time.picoseconds();
      CAPTURE(time);
      CHECK(std::abs(time - row.time_ps) <= tolerance(row.time_ps, topology));
      ++checked;
    }
    CHECK(checked == 116);
  }

  TEST_CASE("SimGrid's finish of every flow of an incast is reproduced") {
    int checked = 0;
    for (const Row& row : rows()) {
      if (row.algorithm != "incast") continue;
      CAPTURE_ROW(row);
      const Topology topology = built(cluster_of(row));
      const std::vector<Instant> finish = run_incast(row, topology);
      REQUIRE(finish.size() == row.finish_ps.size());
      for (std::size_t flow = 0; flow < finish.size(); ++flow) {
        CAPTURE(flow);
        const std::int64_t time = finish[flow].picoseconds();
        CAPTURE(time);
        CHECK(std::abs(time - row.finish_ps[flow]) <= 2);
      }
      ++checked;
    }
    CHECK(checked == 10);
  }

  TEST_CASE("SimGrid's times of rounds that block the sender are met but for an alpha a round, or 5 %") {
    int checked = 0;
    for (const Row& row : rows()) {
      if (row.algorithm != "a2ashift") continue;
      CAPTURE_ROW(row);
      const Topology topology = built(cluster_of(row));
      const Schedule schedule = schedule_of({"pairwise", "", CollectiveKind::all_to_all}, row.bytes,
                                            topology.placement(), row.semantics);
      const std::int64_t time = run(topology, {Job{&schedule, {}, {}, -1}}).time.picoseconds();
      CAPTURE(time);
      const std::int64_t rounds = row.ranks - 1;
      CHECK(std::abs(time - row.time_ps) <=
            std::max(row.time_ps / 20, rounds * topology.latency_max().picoseconds()));
      // With one switch, or one ring of links, no round meets another.
      if (row.topology.find("star") == 0 || row.topology == "torus:8")
        CHECK(std::abs(time - row.time_ps) <= rounds);
      ++checked;
    }
    CHECK(checked == 14);
  }

  TEST_CASE("SimGrid's times of two rings at once are met within a quarter") {
    int checked = 0;
    for (const Row& row : rows()) {
      if (row.algorithm != "tworings") continue;
      CAPTURE_ROW(row);
      const std::vector<Instant> finish = run_two_rings(row, built(cluster_of(row)));
      REQUIRE(row.finish_ps.size() == 2);
      for (std::size_t ring = 0; ring < 2; ++ring) {
        CAPTURE(ring);
        const std::int64_t time = finish[ring].picoseconds();
        CAPTURE(time);
        CHECK(std::abs(time - row.finish_ps[ring]) <= row.finish_ps[ring] / 4);
      }
      ++checked;
    }
    CHECK(checked == 6);
  }
}
