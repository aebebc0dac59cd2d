// auto and nccl as a run shows them, and the tuner files that they become.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiments/inputs.hpp"
#include "experiments/selection.hpp"
#include "tests/experiments/program_runner.hpp"

using namespace collsim;
using Json = nlohmann::json;

namespace {

Json points_of(const WorkFolder& folder, const std::string& text) {
  folder.write("run.yaml", text);
  const Run run = folder.run({"run", "run.yaml", "--json", "-", "--quiet"});
  REQUIRE(run.exit_code == 0);
  return Json::parse(run.out).at("points");
}

const std::string four_nodes = "cluster: {preset: dgx-h100, nodes: 4, fabric: {reduction: false}}\n";

}  // namespace

TEST_CASE("auto takes what is fastest when each algorithm is run by itself") {
  const WorkFolder folder;
  const std::string sizes = "size: [1 KiB, 1 MiB, 256 MiB]\n";
  for (const std::string collective : {"all_reduce", "all_gather", "broadcast", "all_to_all"}) {
    CAPTURE(collective);
    std::string names;
    for (const algorithms::AlgorithmInfo& info : algorithms::all())
      for (const CollectiveKind kind : info.collectives)
        if (name_of(kind) == collective) names += (names.empty() ? "" : ", ") + std::string(info.name);
    folder.write("each.yaml",
                 four_nodes + "collective: " + collective + "\nalgorithm: [" + names + "]\n" + sizes);
    const Json each =
        Json::parse(folder.run({"run", "each.yaml", "--json", "-", "--quiet"}).out).at("points");
    const Json best =
        points_of(folder, four_nodes + "collective: " + collective + "\nalgorithm: auto\n" + sizes);
    REQUIRE(best.size() == 3);
    for (const Json& point : best) {
      CHECK(point.at("status") == "ok");
      CHECK(point.at("proven") == true);
      CHECK(point.at("algorithm") == "auto");
      CHECK_FALSE(point.at("chosen").get<std::string>().empty());
      std::int64_t least = -1;
      bool named = false;
      for (const Json& other : each) {
        if (other.at("bytes") != point.at("bytes") || other.at("status") != "ok") continue;
        const std::int64_t time = other.at("time_ps");
        least = least < 0 ? time : std::min(least, time);
        named = named || other.at("algorithm") == point.at("chosen");
      }
      // Forms other than the default are candidates as well, so it may be faster than all of these.
      CHECK(point.at("time_ps").get<std::int64_t>() <= least);
      CHECK((named || point.at("time_ps").get<std::int64_t>() < least));
    }
  }
}

TEST_CASE("auto tries synthesized up to 16 ranks") {
  const WorkFolder folder;
  const auto cluster = [](const std::string& nodes) {
    return "cluster:\n  nodes: " + nodes +
           "\n  node: {gpus: 2, interconnect: {kind: nvswitch, bandwidth: 100 GB/s, latency: 1 us}}\n"
           "  fabric: {kind: rail_fat_tree, radix: 32, bandwidth: 25 GB/s, latency: 1 us}\nsize: 1 MiB\n";
  };
  for (const std::string nodes : {"3", "9"}) {
    CAPTURE(nodes);
    const Json points = points_of(folder, cluster(nodes) + "algorithm: [auto, synthesized]\n");
    REQUIRE(points[1].at("status") == "ok");
    const bool takes_it = points[0].at("chosen") == "synthesized";
    CHECK(takes_it == (nodes == "3"));
    if (takes_it) CHECK(points[0].at("time_ps") == points[1].at("time_ps"));
  }
}

TEST_CASE("A selection leaves out what would take longer than its limits, and names it") {
  using namespace collsim::program;
  const ReadResult read = read_checked(
      "cluster: {preset: dgx-h100, nodes: 2, fabric: {reduction: false}}\n"
      "algorithm: ring\nsize: 1 MiB\n",
      "run.yaml", {}, true, ReadFor::run);
  const Topology topology = build_topology(read);
  const Collective collective = collective_of(*read.experiment, Bytes(1 << 20));
  const std::vector<AlgorithmRequest> requests = {{"one_shot", {}}, {"binomial_tree", {}}};
  SelectionLimits limits;
  const auto answer = [&] {
    return Selector(read.experiment->cluster, topology, {}, limits).fastest_of(requests, collective);
  };
  CHECK(std::get<Choice>(answer()).left_out.empty());
  limits.connections_max = 100;  // one_shot has 16 * 15 and more
  CHECK(std::get<Choice>(answer()).request.name == "binomial_tree");
  CHECK(std::get<Choice>(answer()).left_out == std::vector<std::string>{"one_shot"});
  limits.connections_max = 1;
  CHECK(
      std::get<Impossible>(answer()).reason ==
      "no algorithm can run all_reduce on this cluster within the limits of a selection; left out: one_shot; "
      "binomial_tree");
}

TEST_CASE("nccl runs NCCL's choice with the bytes of its protocol, and shows its prediction") {
  const WorkFolder folder;
  const Json points = points_of(folder, four_nodes + "algorithm: [nccl, nvls_tree]\nsize: [1 KiB, 1 GiB]\n");
  CHECK(points[0].at("chosen") == "double_binary_tree, ll");
  CHECK(points[1].at("chosen") == "nvls_tree, simple");
  // Simple puts nothing more on the wire, so it is that algorithm itself.
  CHECK(points[1].at("time_ps") == points[3].at("time_ps"));
  // 25 + 2 * 2 * 20.9 us, and 8 channels of 45.5 GB/s.
  CHECK(points[1].at("predicted_ps").get<double>() / 1e6 ==
        doctest::Approx(108.6 + 1073741824.0 / (1000 * 8 * 45.5 * 32 / 62)).epsilon(1e-6));
  CHECK(points[2].at("predicted_ps").is_null());
}

TEST_CASE("nccl says which GPUs it does not know, and takes a generation") {
  const WorkFolder folder;
  const std::string plain =
      "cluster:\n  node: {gpus: 8, interconnect: {kind: nvswitch, bandwidth: 450 GB/s}}\nsize: 1 MiB\n";
  folder.write("run.yaml", plain + "algorithm: nccl\n");
  const Run unknown = folder.run({"run", "run.yaml"});
  CHECK(unknown.exit_code == 1);
  CHECK(unknown.out.find("NCCL's model needs to know the GPUs: form: volta, ampere, hopper or blackwell") !=
        std::string::npos);
  CHECK(points_of(folder, plain + "algorithm: {name: nccl, form: hopper}\n")[0].at("status") == "ok");
  folder.write("run.yaml", "cluster: {preset: mi300x}\nalgorithm: nccl\nsize: 1 MiB\n");
  CHECK(folder.run({"run", "run.yaml"}).out.find("NCCL's model does not know the GPUs of mi300x") !=
        std::string::npos);
  folder.write("run.yaml", four_nodes + "collective: all_to_all\nalgorithm: nccl\nsize: 1 MiB\n");
  CHECK(folder.run({"run", "run.yaml"}).exit_code != 0);
}

TEST_CASE("export nccl-tuner writes ranges without gaps, of algorithms that NCCL has") {
  const WorkFolder folder;
  folder.write("in.yaml", four_nodes + "algorithm: auto\nsize: {from: 1 KiB, to: 1 GiB, factor: 4}\n");
  REQUIRE(folder.run({"export", "nccl-tuner", "in.yaml", "out.csv"}).exit_code == 0);
  const std::string text = folder.read("out.csv");
  std::int64_t next = 0;
  int rows = 0;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = text.find('\n', start);
    const std::string line = text.substr(start, end - start);
    start = end + 1;
    if (line.starts_with("#")) continue;
    ++rows;
    std::vector<std::string> fields(1);
    for (const char letter : line)
      if (letter == ',')
        fields.emplace_back();
      else
        fields.back() += letter;
    REQUIRE(fields.size() == 10);
    CHECK(fields[0] == "allreduce");
    CHECK(std::stoll(fields[1]) == next);
    next = std::stoll(fields[2]) == INT64_MAX ? -1 : std::stoll(fields[2]) + 1;
    CHECK((fields[3] == "ring" || fields[3] == "tree" || fields[3] == "nvls_tree"));
    CHECK((fields[4] == "ll" || fields[4] == "ll128" || fields[4] == "simple"));
    CHECK(fields[6] == "4");
    CHECK(fields[7] == "32");
  }
  CHECK(rows > 0);
  CHECK(next == -1);
}

TEST_CASE("export nccl-tuner writes NCCL's own choice, one row where it does not change") {
  const WorkFolder folder;
  const Run run = folder.run({"export", "nccl-tuner", "nccl", "--cluster", "dgx-h100", "--nodes", "2",
                              "--collective", "broadcast", "--size", "1MiB,64MiB,1GiB"});
  CHECK(run.exit_code == 0);
  // LL: 6.6 + 16 * 2.7 us at 39 GB/s; LL128: 14 + 16 * 4 us at 8 * 36.7; Simple: 8.4 + 16 * 14 us at 360.
  CHECK(run.out ==
        "# 2 x dgx-h100 on rail_fat_tree, by collsim\n"
        "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff\n"
        "broadcast,0,67108863,ring,ll,-1,2,16,-1,-1\n"
        "broadcast,67108864,1073741823,ring,ll128,-1,2,16,-1,-1\n"
        "broadcast,1073741824,9223372036854775807,ring,simple,-1,2,16,-1,-1\n");
}

TEST_CASE("export nccl-tuner refuses what NCCL has no choice for") {
  const WorkFolder folder;
  const Run kind =
      folder.run({"export", "nccl-tuner", "auto", "--cluster", "dgx-h100", "--collective", "all_to_all"});
  CHECK(kind.exit_code == 65);
  CHECK(kind.err.find("collective: NCCL's tuner has no all_to_all") != std::string::npos);
  const Run none = folder.run({"export", "nccl-tuner", "cascade", "--cluster", "dgx-h100"});
  CHECK(none.exit_code == 1);
  CHECK(none.err.find("NCCL has no cascade; it is left out") != std::string::npos);
  CHECK(none.err.find("nothing to choose from: NCCL has none of the algorithms") != std::string::npos);
  CHECK(folder.run({"export", "nccl-tuner", "ring", "--ranks", "8"}).exit_code == 2);
}
