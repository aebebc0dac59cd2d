// Layers: preset < file < overrides, laid over each other before anything is checked.
//
// Maps are merged key by key; everything else is replaced. Every node keeps the place where it was written.
#pragma once

#include <functional>

#include "sim/config/document.hpp"
#include "sim/config/reader.hpp"
#include "sim/config/table.hpp"

namespace collsim::config {

// `over` laid over `base` (either may be null: not given). `key` says which bare values stand for a map.
NodePtr merged(const NodePtr& base, const NodePtr& over, const Key* key);

// `root` with the override laid over it.
NodePtr with_override(const NodePtr& root, const Key& table, const Override& override_,
                      Diagnostics& diagnostics);

// "--set cluster.nodes=8": how diagnostics name an override.
std::string place_name(const Override& override_);

// `root` with what each group of `cluster.nodes` stands for: its own node laid over that of the preset which
// it names, or else over cluster.node, which is then gone. `preset_node` gives the node of a preset (null if
// there is none). Lists and nodes beyond what can be right are left for the checker to refuse.
using PresetNode = std::function<NodePtr(const Node& name)>;
NodePtr with_groups(const NodePtr& root, const Key& table, const PresetNode& preset_node,
                    Diagnostics& diagnostics);

// The text of a preset as a document of the whole file: its keys are those of `cluster`, and launch_overhead.
NodePtr parse_preset(const std::string& text, const std::string& path, Diagnostics& diagnostics);

}  // namespace collsim::config
