// Document: YAML text as a tree of nodes that know where they were written. Says nothing of their meaning.
//
// Aliases     Shared subtrees (a node may be reached twice); one that contains itself is an error, so the
//             tree has no cycle.
// Errors      Not YAML, repeated keys, merge keys, tags, keys that are no names, several documents, control
//             characters, nesting beyond 64 levels, more than 16 MiB or 1,000,000 values. A document is
//             returned only if the text is YAML; repeated keys and the like are reported beside it.
// Nulls       YAML does not say where an absent value stands, so a null's place is that of its key.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/diagnostic.hpp"

namespace collsim::config {

// Who wrote something; a later one beats an earlier one.
enum class Layer { preset, file, override_ };

// One text that was read, kept for showing its lines.
struct Source {
  std::string name;  // as diagnostics name it
  Layer layer = Layer::file;
  std::string text;
  std::vector<std::size_t> line_start;  // byte offsets; empty for an override, whose lines are not shown
};

// A place in a text. line and column are 1-based; 0 = the text as a whole.
struct Where {
  std::shared_ptr<const Source> source;
  int line = 0;
  int column = 0;
};

struct Node;
using NodePtr = std::shared_ptr<const Node>;

struct Entry {
  std::string key;
  Where where;  // of the key
  NodePtr value;
};

struct Node {
  enum class Kind { null, scalar, list, map };
  Kind kind = Kind::null;
  Where where;
  std::string text;            // scalar
  std::vector<NodePtr> items;  // list
  std::vector<Entry> entries;  // map; no key twice
};

// A diagnostic at `where`, with the source line.
Diagnostic diagnostic_at(const Where& where, std::string key, std::string message, std::string expected = "",
                         std::string hint = "");

std::shared_ptr<const Source> make_source(std::string name, Layer layer, std::string_view text);

// The only document of `source`; null if it is empty or not YAML (then `diagnostics` has an error, except for
// an empty one). `key` is the path of the document's root, for messages.
NodePtr parse_document(const std::shared_ptr<const Source>& source, const std::string& key,
                       Diagnostics& diagnostics);

std::string joined_path(const std::string& path,
                        std::string_view key);  // "cluster", "nodes" -> "cluster.nodes"
std::string indexed_path(const std::string& path, std::size_t index);  // "size", 2 -> "size[2]"

}  // namespace collsim::config
