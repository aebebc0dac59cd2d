// Packets, routing, repeats and sites, from YAML to JSON.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/experiments/program_runner.hpp"

namespace collsim {

TEST_SUITE_BEGIN("experiments");

namespace {

using Json = nlohmann::json;

Json points_of(const std::string& yaml, int exit_code = 0) {
  return Json::parse(report_of(yaml, exit_code)).at("points");
}

Run run_in(const WorkFolder& folder, const std::vector<std::string>& options) {
  std::vector<std::string> arguments = {"run", "x.yaml"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  return folder.run(arguments);
}

// 16 nodes under 4 leaves; the ring takes a step to another leaf each time.
const std::string tree = R"(
cluster: {nodes: 16, fabric: {kind: fat_tree, radix: 8, bandwidth: 10 GB/s, latency: 1 us}}
placement: [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15]
algorithm: {name: ring, order: rank}
size: 16 MB
)";

}  // namespace

TEST_CASE("Unlike nodes: the slow one's NIC sets the pace, and what needs equal nodes says so") {
  // Three ranks; each of the four steps moves 10 MB through the slow NIC's 10 GB/s, in and out at once.
  const Json points = points_of(R"(
cluster:
  nodes:
    - {count: 2, node: {nics: {bandwidth: 40 GB/s}}}
    - {count: 1, node: {gpus: 1, nics: {bandwidth: 10 GB/s}}}
  fabric: {kind: switch, bandwidth: 40 GB/s}
algorithm: ring
size: 30 MB
)");
  CHECK(points[0].at("time_ps") == 4'000'000'000);
  CHECK(points[0].at("nodes") == 3);
  const Json uneven = points_of(R"(
cluster:
  nodes: [{count: 1, preset: dgx-h100}, {count: 1, preset: dgx-h100, node: {gpus: 4, nics: {count: 4}}}]
  fabric: {kind: rail_fat_tree, radix: 64, bandwidth: 400 Gbit/s}
algorithm: [ring, hierarchical, cascade]
size: 16 MiB
)",
                                1);
  CHECK(uneven[0].at("ranks") == 12);
  CHECK(uneven[0].at("status") == "ok");
  CHECK(uneven[1].at("proven") == true);
  CHECK(uneven[2].at("status") == "impossible");
  CHECK(uneven[2].at("reason").get<std::string>().find("unequal numbers of GPUs: 8 and 4") !=
        std::string::npos);
}

TEST_CASE("Packets: alone they take the fluid time to within a packet a hop, and are counted") {
  const std::string yaml = R"(
cluster: {nodes: 2, fabric: {kind: switch, bandwidth: 10 GB/s, latency: 1 us}}
collective: send_recv
algorithm: direct
size: 4096 kB
network: packet
)";
  const Json point = points_of(yaml)[0];
  const std::int64_t fluid = 409'600'000 + 2'000'000;
  CHECK(point.at("time_ps") >= fluid);
  CHECK(point.at("time_ps") <= fluid + 2 * 409'600);
  CHECK(point.at("network") == "packet");
  const Json& packets = point.at("packets");
  CHECK(packets.at("count") == 2 * 1000);
  CHECK(packets.at("hops") == 2 * 2 * 1000);
  CHECK(packets.at("marks") == 0);
  CHECK(packets.at("virtual_channels") >= 1);
}

TEST_CASE("Hashed routes collide: the median over seeds is slower than d-mod-k, which spray equals") {
  const std::int64_t minimal = points_of(tree)[0].at("time_ps");
  const Json ecmp = points_of(tree + "routing: ecmp\nrepeat: 9\n")[0];
  const Json& repeats = ecmp.at("repeats");
  CHECK(ecmp.at("routing") == "ecmp");
  CHECK(repeats.at("count") == 9);
  CHECK(repeats.at("median_ps") == ecmp.at("time_ps"));
  CHECK(repeats.at("min_ps") <= repeats.at("p5_ps"));
  CHECK(repeats.at("p5_ps") <= repeats.at("median_ps"));
  CHECK(repeats.at("median_ps") <= repeats.at("p95_ps"));
  CHECK(repeats.at("p95_ps") <= repeats.at("max_ps"));
  CHECK(repeats.at("min_ps") >= minimal);
  CHECK(repeats.at("median_ps").get<double>() > 1.3 * static_cast<double>(minimal));
  CHECK(points_of(tree + "routing: spray\n")[0].at("time_ps") == minimal);
}

TEST_CASE("The median of seeds is the run of one of them, whatever the number of threads") {
  const std::string yaml =
      tree + "routing: ecmp\nrepeat: 5\njitter: {distribution: exponential, mean: 1 us}\n";
  const Run one = run_text(yaml, {"--json", "-", "--threads", "1"});
  const Run two = run_text(yaml, {"--json", "-", "--threads", "2"});
  CHECK(one.exit_code == 0);
  CHECK(one.out == two.out);
  const Json point = Json::parse(one.out).at("points")[0];
  const std::string seed = std::to_string(point.at("repeats").at("median_seed").get<int>());
  const Run single = run_text(yaml, {"--json", "-", "--set", "repeat=1", "--seed", seed});
  const Json alone = Json::parse(single.out).at("points")[0];
  CHECK(alone.at("time_ps") == point.at("time_ps"));
  CHECK(alone.at("fingerprint") == point.at("fingerprint"));
}

TEST_CASE("The table of repeated points has the median and the percentiles") {
  const Run run = run_text(tree + "routing: ecmp\nrepeat: 3\n");
  CHECK(run.exit_code == 0);
  CHECK(run.out.find("routing ecmp, placement list, 3 seeds from 1") != std::string::npos);
  CHECK(run.out.find(" median ") != std::string::npos);
  CHECK(run.out.find(" p5 ") != std::string::npos);
  CHECK(run.out.find(" p95 ") != std::string::npos);
}

TEST_CASE("A routing table is followed, and a hole and a loop are said at its lines") {
  const WorkFolder folder;
  folder.write("x.yaml",
               "cluster: {nodes: 4, fabric: {kind: fat_tree, radix: 4, bandwidth: 10 GB/s}}\n"
               "routing: {kind: table, file: routes.txt}\nalgorithm: ring\nsize: 4 MB\n");
  const std::string down =
      "spine0 node0 leaf0\nspine0 node1 leaf0\nspine0 node2 leaf1\nspine0 node3 leaf1\n"
      "leaf0 node0 node0/gpu0\nleaf0 node1 node1/gpu0\nleaf1 node2 node2/gpu0\nleaf1 node3 node3/gpu0\n";
  const std::string gpus = "node0/gpu0 * leaf0\nnode1/gpu0 * leaf0\nnode2/gpu0 * leaf1\nnode3/gpu0 * leaf1\n";
  folder.write("routes.txt", down + gpus + "leaf0 * spine0\nleaf1 * spine0\n");
  const Run good = run_in(folder, {"--json", "-"});
  CAPTURE(good.err);
  CHECK(good.exit_code == 0);
  folder.write("routes.txt", down + gpus + "leaf0 * spine0\n");
  const Run hole = run_in(folder, {});
  CHECK(hole.exit_code == 65);
  CHECK(hole.err.rfind("routes.txt:11:14: error: there is no entry at leaf1 for node0/gpu0", 0) == 0);
  folder.write("routes.txt", down + gpus + "leaf0 * spine0\nleaf1 * spine0\nspine0 node2/gpu0 leaf0\n");
  const Run loop = run_in(folder, {});
  CHECK(loop.exit_code == 65);
  CHECK(loop.err.rfind("routes.txt:15:19: error: messages to node2/gpu0 come back", 0) == 0);
  folder.write("routes.txt", "leaf0 * spine9\n");
  CHECK(run_in(folder, {}).err.rfind("routes.txt:1:9: error: ", 0) == 0);
}

TEST_CASE("Long links: slots times round trip limits the rate") {
  const std::string sites = R"(
cluster:
  nodes: 4
  fabric: {kind: switch, bandwidth: 10 GB/s, latency: 1 us}
  sites: {count: 2, bandwidth: 10 GB/s, latency: 5 ms}
algorithm: {name: ring, slices: 64, slots: SLOTS}
size: 64 MB
)";
  const auto time = [&](const std::string& slots) {
    std::string yaml = sites;
    yaml.replace(yaml.find("SLOTS"), 5, slots);
    return points_of(yaml)[0].at("time_ps").get<std::int64_t>();
  };
  CHECK(time("1") > 4 * time("64"));
}

TEST_SUITE_END();

}  // namespace collsim
