// read_experiment(): YAML text -> Experiment, or diagnostics. The only user of yaml-cpp.
//
// Errors      Exactly one of value and errors: `experiment` is set if and only if `diagnostics` has no error.
// Presets     A preset is YAML with the keys of `cluster` (and `launch_overhead`); keys of the experiment
// override it. One that is named by its path is looked for in the folder of the file that names it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sim/config/diagnostic.hpp"
#include "sim/config/experiment.hpp"

namespace collsim {

// What the reader must know of the rest of the program, given as an argument so that sim/config names no
// algorithm.
struct Registries {
  struct Algorithm {
    std::string name;
    std::string alias;                 // or empty
    std::vector<std::string> options;  // the option keys that it takes
    std::vector<std::string> forms;    // what the option form can be
  };
  std::vector<Algorithm> algorithms;
  // A name that ends so is the path of a file that holds an algorithm; empty = there are none. Its options.
  std::string file_suffix;
  std::vector<std::string> file_options;
  std::vector<std::string> presets;
  // The text of a preset and the path to name in diagnostics; nothing if there is no such preset.
  std::function<std::optional<std::pair<std::string, std::string>>(std::string_view)> preset_text;
  // Any other name that ends so is the path of a preset's file; empty = there are none. Its text, or why not.
  std::string preset_suffix;
  std::function<std::variant<std::string, Diagnostic>(const std::string& path)> preset_file;
};

struct Override {
  std::string key;    // "cluster.nodes"
  std::string value;  // YAML text: "8", "[8 MiB, 1 GiB]"
};

struct ReadResult {
  std::optional<Experiment> experiment;
  Diagnostics diagnostics;
  // Where a key was written (the value's place and source line), for errors found later; falls back to the
  // nearest enclosing key that was written.
  std::function<Diagnostic(std::string_view key)> at;
};

// What the caller needs: `cluster` reads a file that may lack algorithm and size (then those lists are
// empty).
enum class ReadFor { run, cluster };

// Layers: preset < file < overrides; maps are merged key by key, everything else is replaced.
ReadResult read_experiment(std::string_view text, const std::string& file,
                           const std::vector<Override>& overrides, const Registries& registries,
                           ReadFor purpose = ReadFor::run);

// The JSON Schema (draft 2020-12) of an experiment file, from the same table of keys.
std::string experiment_schema(const Registries& registries);

}  // namespace collsim
