#include "sim/config/layers.hpp"

#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "sim/core/quantity_text.hpp"

namespace collsim::config {
namespace {

NodePtr map_of(const std::string& key, const NodePtr& value) {
  Node node;
  node.kind = Node::Kind::map;
  node.where = value->where;
  node.entries.push_back({key, value->where, value});
  return std::make_shared<const Node>(std::move(node));
}

// A bare value as the map that it stands for: "ring" -> {name: ring}.
NodePtr expanded(const NodePtr& node, const Key* key) {
  if (!node || !key || key->short_form.empty() || node->kind != Node::Kind::scalar) return node;
  return map_of(key->short_form, node);
}

// `node` (a map, or not given) with `value` under `entry`.
NodePtr with_entry(const NodePtr& node, const Entry& entry) {
  Node result;
  if (node && node->kind == Node::Kind::map) result = *node;
  result.kind = Node::Kind::map;
  if (!result.where.source) result.where = entry.where;
  for (Entry& old : result.entries) {
    if (old.key != entry.key) continue;
    old = entry;
    return std::make_shared<const Node>(std::move(result));
  }
  result.entries.push_back(entry);
  return std::make_shared<const Node>(std::move(result));
}

const Entry* find_entry(const NodePtr& node, const std::string& key) {
  if (!node || node->kind != Node::Kind::map) return nullptr;
  for (const Entry& entry : node->entries)
    if (entry.key == key) return &entry;
  return nullptr;
}

// The values of a subtree, counted up to a little beyond base_values_max.
constexpr std::size_t base_values_max = 1'000;
std::size_t values_in(const Node& node) {
  std::size_t count = 1;
  for (const NodePtr& item : node.items)
    if (count <= base_values_max) count += values_in(*item);
  for (const Entry& entry : node.entries)
    if (count <= base_values_max) count += values_in(*entry.value);
  return count;
}

// One step of "algorithm[0].channels".
struct Step {
  std::string name;  // empty: an index
  std::size_t index = 0;
};

std::optional<std::size_t> index_from(std::string_view text) {
  if (text.empty() || text.size() > 9) return std::nullopt;
  std::size_t result = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    result = result * 10 + static_cast<std::size_t>(c - '0');
  }
  return result;
}

constexpr std::size_t steps_max = 64;

std::optional<std::vector<Step>> steps_from(std::string_view path) {
  std::vector<Step> steps;
  while (true) {
    const std::string_view name = path.substr(0, path.find_first_of(".["));
    if (name.empty() || steps.size() >= steps_max) return std::nullopt;
    steps.push_back({std::string(name), 0});
    path.remove_prefix(name.size());
    while (!path.empty() && path.front() == '[') {
      const std::size_t end = path.find(']');
      if (end == std::string_view::npos) return std::nullopt;
      const std::optional<std::size_t> index = index_from(path.substr(1, end - 1));
      if (!index) return std::nullopt;
      steps.push_back({"", *index});
      path.remove_prefix(end + 1);
    }
    if (path.empty()) return steps;
    if (path.front() != '.') return std::nullopt;
    path.remove_prefix(1);
  }
}

// Lays a value over the place that `steps` lead to.
class Setter {
 public:
  Setter(std::vector<Step> steps, NodePtr value, Where where, Diagnostics& diagnostics)
      : steps_(std::move(steps)),
        value_(std::move(value)),
        where_(std::move(where)),
        diagnostics_(diagnostics) {}

  // The new node. `key` describes `node`; null if there is no such key (the checker will say so).
  NodePtr set(const NodePtr& node, const Key* key, std::size_t step, const std::string& path) {
    if (step == steps_.size()) return merged(node, value_, key);
    if (steps_[step].name.empty()) return set_item(node, key, step, path);
    if (list_of(key) && node && node->kind == Node::Kind::list) {
      const std::string rest = joined_path(indexed_path(path, 0), steps_[step].name);
      return refused(node, key, path, "is a list", "an index, such as " + rest);
    }
    const std::string& name = steps_[step].name;
    const NodePtr map = expanded(node, key);
    const Entry* old = find_entry(map, name);
    const Key* inner = key ? find_key(key->keys, name) : nullptr;
    const NodePtr value = set(old ? old->value : nullptr, inner, step + 1, joined_path(path, name));
    return value ? with_entry(map, {name, where_, value}) : map;
  }

 private:
  NodePtr set_item(const NodePtr& node, const Key* key, std::size_t step, const std::string& path) {
    const std::size_t index = steps_[step].index;
    const Key* list = list_of(key);
    const bool is_list = node && node->kind == Node::Kind::list;
    if (!list || (list != key && node && !is_list))
      return refused(node, key, path, "is not a list", "no index");
    Key element = *list;
    element.count = Count::one;
    const std::string item_path = indexed_path(path, index);
    const std::size_t count = is_list ? node->items.size() : (node ? 1 : 0);
    if (index >= count)
      return refused(node, key, item_path, "there is no such entry",
                     count == 0 ? "a list, which has no entries yet"
                                : "an index from 0 to " + std::to_string(count - 1));
    if (!is_list) return set(node, &element, step + 1, item_path);
    Node result = *node;
    result.items[index] = set(node->items[index], &element, step + 1, item_path);
    return std::make_shared<const Node>(std::move(result));
  }

  // What describes the list that the key may hold; null if it holds none.
  static const Key* list_of(const Key* key) {
    if (!key || key->count != Count::one) return key;
    return key->list.empty() ? nullptr : &key->list.front();
  }

  // Reports. What was not there stays away, or gets the value if it must be there, so that nothing else is
  // reported for it.
  NodePtr refused(const NodePtr& node, const Key* key, const std::string& path, const std::string& message,
                  const std::string& expected) {
    diagnostics_.add(diagnostic_at(where_, path, message, expected));
    return node || (key && !key->required) ? node : value_;
  }

  std::vector<Step> steps_;
  NodePtr value_;
  Where where_;
  Diagnostics& diagnostics_;
};

}  // namespace

NodePtr merged(const NodePtr& base, const NodePtr& over, const Key* key) {
  if (!base || !over) return over ? over : base;
  const NodePtr lower = expanded(base, key);
  const NodePtr upper = expanded(over, key);
  if (lower->kind != Node::Kind::map || upper->kind != Node::Kind::map) return over;
  Node result = *lower;
  result.where = upper->where;
  std::map<std::string_view, std::size_t> index;  // of the keys below; no map of `upper` has one twice
  for (std::size_t i = 0; i < lower->entries.size(); ++i) index.emplace(lower->entries[i].key, i);
  for (const Entry& entry : upper->entries) {
    const Key* inner = key ? find_key(key->keys, entry.key) : nullptr;
    const auto old = index.find(entry.key);
    if (old == index.end())
      result.entries.push_back(entry);
    else
      result.entries[old->second] = {entry.key, entry.where,
                                     merged(result.entries[old->second].value, entry.value, inner)};
  }
  return std::make_shared<const Node>(std::move(result));
}

std::string place_name(const Override& override_) { return "--set " + override_.key + "=" + override_.value; }

NodePtr with_override(const NodePtr& root, const Key& table, const Override& override_,
                      Diagnostics& diagnostics) {
  const auto source = make_source(place_name(override_), Layer::override_, override_.value);
  const Where where{source, 0, 0};
  std::optional<std::vector<Step>> steps = steps_from(override_.key);
  if (!steps) {
    diagnostics.add(diagnostic_at(where, "", quoted(override_.key) + " is not a key",
                                  "such as cluster.nodes or algorithm[0].channels"));
    return root;
  }
  Diagnostics problems;
  NodePtr value = parse_document(source, override_.key, problems);
  for (const Diagnostic& problem : problems.items()) diagnostics.add(problem);
  if (problems.has_errors()) return root;
  if (!value) {
    Node null;
    null.where = where;
    value = std::make_shared<const Node>(std::move(null));
  }
  return Setter(std::move(*steps), std::move(value), where, diagnostics).set(root, &table, 0, "");
}

NodePtr with_groups(const NodePtr& root, const Key& table, const PresetNode& preset_node,
                    Diagnostics& diagnostics) {
  const Entry* cluster = find_entry(root, "cluster");
  const Entry* nodes = cluster ? find_entry(cluster->value, "nodes") : nullptr;
  if (!nodes || nodes->value->kind != Node::Kind::list || nodes->value->items.size() > groups_max)
    return root;
  const Key* node_key = find_key(find_key(table.keys, "cluster")->keys, "node");
  const Entry* base = find_entry(cluster->value, "node");
  if (base && values_in(*base->value) > base_values_max) return root;
  bool base_is_used = false;
  Node list = *nodes->value;
  for (NodePtr& item : list.items) {
    if (item->kind != Node::Kind::map) continue;
    const Entry* preset = find_entry(item, "preset");
    const Entry* own = find_entry(item, "node");
    base_is_used = base_is_used || !preset;
    NodePtr node = base ? base->value : nullptr;
    if (preset) node = preset_node(*preset->value);
    node = merged(node, own ? own->value : nullptr, node_key);
    if (node) item = with_entry(item, {"node", own ? own->where : item->where, node});
  }
  if (base && !base_is_used && base->where.source->layer != Layer::preset) {
    Diagnostic unused =
        diagnostic_at(base->where, "cluster.node", "has no effect, because every group names a preset");
    unused.severity = Severity::warning;
    diagnostics.add(std::move(unused));
  }
  Node without_base = *cluster->value;
  std::erase_if(without_base.entries, [](const Entry& entry) { return entry.key == "node"; });
  for (Entry& entry : without_base.entries)
    if (entry.key == "nodes") entry.value = std::make_shared<const Node>(std::move(list));
  return with_entry(root, {"cluster", cluster->where, std::make_shared<const Node>(std::move(without_base))});
}

NodePtr parse_preset(const std::string& text, const std::string& path, Diagnostics& diagnostics) {
  const auto source = make_source(path, Layer::preset, text);
  const Where whole{source, 0, 0};
  Diagnostics problems;
  const NodePtr document = parse_document(source, "", problems);
  for (const Diagnostic& problem : problems.items()) diagnostics.add(problem);
  if (problems.has_errors()) return nullptr;
  if (!document || document->kind != Node::Kind::map) {
    diagnostics.add(diagnostic_at(document ? document->where : whole, "", "the preset is not a map",
                                  "the keys of cluster"));
    return nullptr;
  }
  Node root;
  Node cluster;
  root.kind = cluster.kind = Node::Kind::map;
  root.where = cluster.where = document->where;
  for (const Entry& entry : document->entries) {
    if (entry.key == "preset")
      diagnostics.add(diagnostic_at(entry.where, "cluster.preset", "a preset cannot name another preset"));
    else
      (entry.key == "launch_overhead" ? root : cluster).entries.push_back(entry);
  }
  root.entries.push_back({"cluster", whole, std::make_shared<const Node>(std::move(cluster))});
  return std::make_shared<const Node>(std::move(root));
}

}  // namespace collsim::config
