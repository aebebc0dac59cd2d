// What the tests of the reader share: registries like those of the program, small and fixed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sim/config/reader.hpp"

namespace collsim {

// Presets: "dgx-h100" is right, "broken" has two mistakes, "list" is no map, "gone" has no text.
inline std::optional<std::pair<std::string, std::string>> test_preset(std::string_view name) {
  if (name == "dgx-h100")
    return std::pair{
        std::string(
            "node:\n"
            "  gpus: 8\n"
            "  interconnect: {kind: nvswitch, bandwidth: 450 GB/s, latency: 300 ns, reduction: true}\n"
            "  nics: {count: 8, bandwidth: 400 Gbit/s, latency: 1 us}\n"
            "fabric:\n"
            "  kind: rail_fat_tree\n"
            "  levels: 3\n"
            "  radix: 64\n"
            "  bandwidth: 400 Gbit/s\n"
            "  reduction: {message_size: 1 GiB, operations: 2}\n"
            "launch_overhead: 6 us\n"),
        std::string("hardware/dgx-h100.yaml")};
  if (name == "broken")
    return std::pair{std::string("preset: dgx-h100\nnode:\n  gpu: 8\n  gpus: eight\n"),
                     std::string("hardware/broken.yaml")};
  if (name == "list") return std::pair{std::string("- node\n"), std::string("hardware/list.yaml")};
  return std::nullopt;
}

inline Registries test_registries() {
  Registries registries;
  registries.algorithms = {{"ring", "", {"channels", "slices", "slots", "channel_bandwidth", "order"}, {}},
                           {"double_binary_tree", "tree", {"channels", "slices", "order"}, {}},
                           {"cascade", "", {"levels", "slices", "level_bandwidths"}, {"bfs", "themis"}},
                           {"k_nomial_tree", "", {"radix", "root"}, {}},
                           {"parameter_server", "", {"servers"}, {}},
                           {"nvls", "", {}, {}}};
  registries.file_suffix = ".xml";
  registries.file_options = {"slots"};
  registries.presets = {"dgx-h100", "broken", "list", "gone"};
  registries.preset_text = test_preset;
  return registries;
}

inline ReadResult read(std::string_view text, const std::vector<Override>& overrides = {},
                       ReadFor purpose = ReadFor::run) {
  return read_experiment(text, "x.yaml", overrides, test_registries(), purpose);
}

}  // namespace collsim
