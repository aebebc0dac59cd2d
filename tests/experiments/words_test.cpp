// list, describe, and mistakes on the command line.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "experiments/schedules.hpp"
#include "tests/experiments/program_runner.hpp"

namespace collsim {

TEST_SUITE_BEGIN("experiments");

namespace {

std::vector<std::string> first_words(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = text.find('\n', start);
    words.push_back(text.substr(start, text.find_first_of(" \n", start) - start));
    start = end + 1;
  }
  return words;
}

}  // namespace

TEST_CASE("list prints one item a line, name first") {
  const WorkFolder folder;
  std::vector<std::string> algorithms;
  for (const auto& info : program::known_algorithms()) algorithms.emplace_back(info.name);
  CHECK(first_words(folder.run({"list", "algorithms"}).out) == algorithms);
  CHECK(first_words(folder.run({"list", "collectives"}).out) ==
        std::vector<std::string>{"all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce",
                                 "scatter", "gather", "all_to_all", "send_recv", "barrier"});
  CHECK(first_words(folder.run({"list", "hardware"}).out) ==
        std::vector<std::string>{"dgx-v100", "dgx2", "dgx-a100", "dgx-h100", "gb200-nvl72", "mi300x",
                                 "tpu-v4"});
  const auto kinds = first_words(folder.run({"list", "topologies"}).out);
  CHECK(std::count(kinds.begin(), kinds.end(), "fat_tree") == 1);
  CHECK(std::count(kinds.begin(), kinds.end(), "nvswitch") == 1);
  const Run schema = folder.run({"list", "schema"});
  CHECK(schema.exit_code == 0);
  CHECK(nlohmann::json::parse(schema.out).contains("properties"));
}

TEST_CASE("list shows what an algorithm does and takes, on its line and in full") {
  const WorkFolder folder;
  const std::string lines = folder.run({"list", "algorithms"}).out;
  const algorithms::AlgorithmInfo& ring = *program::find_algorithm("ring");
  const std::string line = lines.substr(0, lines.find('\n'));
  CHECK(line.rfind("ring                 " + std::string(ring.summary) + "; does all_reduce", 0) == 0);
  CHECK(line.find("; options channels, slices, slots, channel_bandwidth, order") != std::string::npos);
  const Run tree = folder.run({"list", "algorithms", "tree"});
  CHECK(tree.exit_code == 0);
  CHECK(tree.out.rfind("double_binary_tree: ", 0) == 0);
  CHECK(tree.out.find("\nalias        tree\ncollectives  all_reduce") != std::string::npos);
  CHECK(tree.out.find("\nsource       Sanders, ") != std::string::npos);
  const Run unknown = folder.run({"list", "algorithms", "rng"});
  CHECK(unknown.exit_code == 65);
  CHECK(unknown.err == "<command line>: error: NAME: unknown algorithm 'rng'\n  expected one of " +
                           algorithm_names(true) + "\n  did you mean 'ring'?\n");
  CHECK(folder.run({"list", "hardware", "ring"}).err == "collsim: list hardware takes no name\n");
}

TEST_CASE("describe shows counts, bisection, diameter and bounds, as text, JSON and Graphviz") {
  const WorkFolder folder;
  folder.write("x.yaml",
               "cluster:\n  nodes: 4\n  fabric: {kind: switch, bandwidth: 10 GB/s, latency: 1 us}\n"
               "algorithm: ring\nsize: 1 MB\n");
  const Run text = folder.run({"describe", "x.yaml"});
  CHECK(text.exit_code == 0);
  CHECK(text.err.empty());
  CHECK(text.out ==
        "# 4 x 1 GPU on switch\n"
        "ranks                4\n"
        "nodes                4\n"
        "NICs                 0\n"
        "switches: switch     1\n"
        "cables               4 (8 links)\n"
        "bisection bandwidth  20.00 GB/s each way\n"
        "diameter             2 links, 2.00 us between the farthest ranks\n"
        "\n"
        "cut        groups  exit of all  exit of the weakest\n"
        "rank            4   40.00 GB/s           10.00 GB/s\n"
        "node            4   40.00 GB/s           10.00 GB/s\n"
        "bisection       2   40.00 GB/s           20.00 GB/s\n"
        "\n"
        "size (B)  lower bound of all_reduce (us)  because of\n"
        " 1000000                          150.00  rank\n");
  const auto json = nlohmann::json::parse(folder.run({"describe", "x.yaml", "--json", "-"}).out);
  CHECK(json.at("ranks") == 4);
  CHECK(json.at("cables") == 4);
  CHECK(json.at("diameter_links") == 2);
  CHECK(json.at("bisection_bytes_per_s") == 20'000'000'000);
  const Run dot = folder.run({"describe", "x.yaml", "--dot", "-"});
  CHECK(dot.out.rfind("graph \"", 0) == 0);
  CHECK(folder.run({"describe", "x.yaml", "--dot", "x.dot"}).out == text.out);
  CHECK(folder.read("x.dot") == dot.out);
}

TEST_CASE("describe does not count the links of shared memories as cables") {
  const WorkFolder folder;
  folder.write("x.yaml",
               "cluster:\n  nodes: 2\n  node:\n    gpus: 4\n"
               "    interconnect: {kind: shared_memory, bandwidth: 5 GB/s, total: 10 GB/s}\n"
               "  fabric: {kind: switch, bandwidth: 10 GB/s}\n");
  const auto json = nlohmann::json::parse(folder.run({"describe", "x.yaml", "--json", "-"}).out);
  const auto& links = json.at("links");
  CHECK(2 * json.at("cables").get<int>() + 2 == links.get<int>());
}

TEST_CASE("describe needs a cluster only") {
  const WorkFolder folder;
  folder.write("x.yaml", "cluster: {node: {gpus: 1}}\n");
  const Run run = folder.run({"describe", "x.yaml"});
  CHECK(run.exit_code == 0);
  CHECK(run.out.find("ranks") != std::string::npos);
}

TEST_CASE("Words of predict are checked like a file, without a place that the user never wrote") {
  const WorkFolder folder;
  const auto predict = [&](const std::vector<std::string>& words) {
    std::vector<std::string> arguments = {"predict"};
    arguments.insert(arguments.end(), words.begin(), words.end());
    const Run run = folder.run(arguments);
    CHECK(run.exit_code == 65);
    CHECK(run.out.empty());
    return run.err;
  };
  CHECK(predict({"all_reduce", "--cluster", "dgxh100", "--nodes", "2"}) ==
        "<command line>: error: cluster.preset: there is no preset 'dgxh100'\n"
        "  expected one of dgx-v100, dgx2, dgx-a100, dgx-h100, gb200-nvl72, mi300x, tpu-v4, "
        "or a file whose name ends in .yaml\n"
        "  did you mean 'dgx-h100'?\n");
  CHECK(predict({"all_reduc", "--cluster", "dgx-h100"}) ==
        "<command line>: error: collective: there is no collective 'all_reduc'\n"
        "  expected one of all_reduce, reduce_scatter, all_gather, broadcast, reduce, scatter, gather, "
        "all_to_all, send_recv, barrier\n"
        "  did you mean 'all_reduce'?\n");
  CHECK(predict({"all_reduce", "--cluster", "dgx-h100", "--size", "8MiB,3"}) ==
        "<command line>: error: size[1]: '3' has no unit\n"
        "  expected such as '3 MiB'\n");
  CHECK(predict({"all_reduce", "--cluster", "dgx-h100", "--size", "6B"}) ==
        "<command line>: error: size[0]: '6B' is no whole number of elements of float32\n"
        "  expected a multiple of 4 B\n");
}

TEST_CASE("Numbers and forms on the command line are checked in words that fit them") {
  const WorkFolder folder;
  const auto usage = [&](const std::vector<std::string>& words) {
    std::vector<std::string> arguments = {"predict", "all_reduce", "--cluster", "dgx-h100"};
    arguments.insert(arguments.end(), words.begin(), words.end());
    const Run run = folder.run(arguments);
    CHECK(run.exit_code == 2);
    CHECK(run.out.empty());
    return run.err;
  };
  const std::string help = "Run with --help for more information.\n";
  CHECK(usage({"--nodes", "0"}) == "collsim: --nodes: '0' is no whole number of at least 1\n" + help);
  CHECK(usage({"--nodes", "two"}) == "collsim: --nodes: 'two' is no whole number of at least 1\n" + help);
  CHECK(usage({"--size", "1:2:3:4"}) ==
        "collsim: --size 1:2:3:4: expected 8MiB,1GiB or from:to or from:to:factor\n");
  CHECK(usage({"--explian"}) == "collsim: The following argument was not expected: --explian\n" + help);
}

TEST_CASE("Help and version are data, not errors") {
  const WorkFolder folder;
  CHECK(folder.run({"--version"}).out == "collsim 0.1.0\n");
  const Run help = folder.run({"--help"});
  CHECK(help.exit_code == 0);
  CHECK(help.err.empty());
  CHECK(help.out.find("Exit codes: 0 done") != std::string::npos);
  CHECK(folder.run({"predict", "--help"}).exit_code == 0);
}

TEST_SUITE_END();

}  // namespace collsim
