// The hardware catalogue itself, experiments/hardware/*.yaml.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "sim/config/file.hpp"
#include "tests/sim/config/fixture.hpp"

using namespace collsim;

namespace {

struct Expected {
  std::string name;
  int gpus;
  int nics;
  InterconnectKind interconnect;
  FabricKind fabric;
  bool node_reduces;
  bool fabric_reduces;
};

const std::vector<Expected> catalogue = {
    {"dgx-v100", 8, 4, InterconnectKind::hybrid_cube_mesh, FabricKind::fat_tree, false, false},
    {"dgx2", 16, 8, InterconnectKind::nvswitch, FabricKind::rail_fat_tree, false, false},
    {"dgx-a100", 8, 8, InterconnectKind::nvswitch, FabricKind::rail_fat_tree, false, true},
    {"dgx-h100", 8, 8, InterconnectKind::nvswitch, FabricKind::rail_fat_tree, true, true},
    {"gb200-nvl72", 72, 72, InterconnectKind::nvswitch, FabricKind::rail_fat_tree, true, true},
    {"tpu-v4", 1, 0, InterconnectKind::none, FabricKind::torus, false, false},
    {"mi300x", 8, 8, InterconnectKind::full_mesh, FabricKind::rail_fat_tree, false, false}};

Registries real_presets() {
  Registries registries = test_registries();
  registries.presets.clear();
  for (const Expected& entry : catalogue) registries.presets.push_back(entry.name);
  registries.preset_text = [](std::string_view name) -> std::optional<std::pair<std::string, std::string>> {
    const std::string path = "experiments/hardware/" + std::string(name) + ".yaml";
    const auto text = read_file(COLLSIM_SOURCE_DIR "/" + path);
    REQUIRE(std::holds_alternative<std::string>(text));
    return std::pair{std::get<std::string>(text), path};
  };
  return registries;
}

ReadResult read_preset(const std::string& name, const std::string& more = "") {
  return read_experiment("cluster: {preset: " + name + more + "}\nalgorithm: ring\nsize: 4 B\n", "x.yaml", {},
                         real_presets());
}

}  // namespace

TEST_CASE("Every preset reads without a word and is the machine that it names") {
  for (const Expected& entry : catalogue) {
    CAPTURE(entry.name);
    const ReadResult result = read_preset(entry.name);
    CHECK(result.diagnostics.text() == "");
    REQUIRE(result.experiment.has_value());
    const ClusterSpec& cluster = result.experiment->cluster;
    CHECK(cluster.preset == entry.name);
    CHECK(cluster.node.gpus == entry.gpus);
    CHECK(cluster.node.nics.count == entry.nics);
    CHECK(cluster.node.interconnect.kind == entry.interconnect);
    CHECK(cluster.fabric.kind == entry.fabric);
    CHECK(cluster.node.interconnect.reduction.enabled == entry.node_reduces);
    CHECK(cluster.fabric.reduction.enabled == entry.fabric_reduces);
    CHECK(cluster.fabric.bandwidth > Bandwidth());
    CHECK(cluster.fabric.latency > Duration());
    if (entry.nics > 0) CHECK(cluster.node.nics.bandwidth == cluster.fabric.bandwidth);
  }
}

TEST_CASE("Every preset serves from one node to a thousand") {
  for (const Expected& entry : catalogue) {
    if (entry.fabric == FabricKind::torus) continue;
    CAPTURE(entry.name);
    for (const char* nodes : {"1", "2", "1024"})
      CHECK(read_preset(entry.name, ", nodes: " + std::string(nodes)).diagnostics.text() == "");
  }
  const ReadResult pod = read_preset("tpu-v4", ", fabric: {dimensions: [16, 16, 16]}");
  CHECK(pod.diagnostics.text() == "");
  CHECK(pod.experiment->cluster.nodes == 4096);
  CHECK(read_preset("tpu-v4").experiment->cluster.nodes == 64);
}

TEST_CASE("The catalogue lists every file of experiments/hardware, and no other") {
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(COLLSIM_SOURCE_DIR "/experiments/hardware"))
    if (entry.path().extension() == ".yaml") files.insert(entry.path().stem().string());
  std::set<std::string> names;
  for (const Expected& entry : catalogue) names.insert(entry.name);
  CHECK(files == names);
}

TEST_CASE("The quickstart experiment reads without a word") {
  const auto text = read_file(COLLSIM_SOURCE_DIR "/experiments/quickstart.yaml");
  REQUIRE(std::holds_alternative<std::string>(text));
  Registries registries = real_presets();
  registries.algorithms.push_back({"sharp", "", {}, {}});
  const ReadResult result = read_experiment(std::get<std::string>(text), "quickstart.yaml", {}, registries);
  CHECK(result.diagnostics.text() == "");
  REQUIRE(result.experiment.has_value());
  CHECK(result.experiment->cluster.nodes == 4);
  CHECK(result.experiment->algorithms.size() == 4);
  CHECK(result.experiment->sizes == std::vector<Bytes>{Bytes(8 << 20), Bytes(64 << 20), Bytes(1 << 30)});
}

namespace {

Registries preset_files() {
  Registries registries = real_presets();
  registries.preset_suffix = ".yaml";
  registries.preset_file = [](const std::string& path) -> std::variant<std::string, Diagnostic> {
    if (path == "folder/machine.yaml" || path == "machine.yaml")
      return "node: {gpus: 3, interconnect: {kind: nvswitch, bandwidth: 7 GB/s}}\nlaunch_overhead: 2 us\n";
    if (path == "folder/wrong.yaml") return "node: {gpus: 3}\nnodel: 1\n";
    Diagnostic missing;
    missing.message = "no such file";
    return missing;
  };
  return registries;
}

ReadResult read_with_file(const std::string& preset, const std::vector<Override>& overrides = {}) {
  return read_experiment("cluster: {preset: " + preset + "}\nalgorithm: ring\nsize: 12 B\n", "folder/x.yaml",
                         overrides, preset_files());
}

}  // namespace

TEST_CASE("A preset may be a file, looked for beside the file that names it") {
  const ReadResult result = read_with_file("machine.yaml");
  CHECK(result.diagnostics.text() == "");
  REQUIRE(result.experiment.has_value());
  CHECK(result.experiment->cluster.node.gpus == 3);
  CHECK(result.experiment->launch_overhead == Duration::microseconds(2));
  CHECK(read_with_file("machine.yaml", {{"cluster.node.gpus", "2"}}).experiment->cluster.node.gpus == 2);
}

TEST_CASE("A preset's path from the command line is as it was typed") {
  const ReadResult result = read_with_file("dgx2", {{"cluster.preset", "machine.yaml"}});
  CHECK(result.diagnostics.text() == "");
  REQUIRE(result.experiment.has_value());
  CHECK(result.experiment->cluster.node.gpus == 3);
}

TEST_CASE("A preset's file that cannot be read or is wrong is said with its place") {
  CHECK(read_with_file("missing.yaml").diagnostics.text() ==
        "folder/x.yaml:1:19: error: cluster.preset: the file 'folder/missing.yaml': no such file\n"
        "  cluster: {preset: missing.yaml}\n"
        "                    ^\n");
  const std::string wrong = read_with_file("wrong.yaml").diagnostics.text();
  CHECK(wrong.find("folder/wrong.yaml:2:1: error: cluster.nodel: unknown key\n") == 0);
  CHECK(read_with_file("machine.yml").diagnostics.text().find("there is no preset 'machine.yml'") !=
        std::string::npos);
}
