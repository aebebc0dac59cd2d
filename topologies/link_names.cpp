#include "topologies/link_names.hpp"

#include <algorithm>
#include <charconv>

#include "sim/core/spelling.hpp"

namespace collsim::topologies {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

bool matches(std::string_view pattern, std::string_view name) {
  std::size_t at = 0;
  std::size_t star = std::string_view::npos;  // the last one, and what it began to stand for
  std::size_t begin = 0;
  std::size_t i = 0;
  while (i < name.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      begin = i;
    } else if (at < pattern.size() && pattern[at] == name[i]) {
      ++at;
      ++i;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      i = ++begin;
    } else {
      return false;
    }
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

LinkNames::LinkNames(const Topology& topology) : topology_(topology) {
  for (std::uint32_t i = 0; i < topology.vertex_count(); ++i) {
    names_.push_back(topology.vertex_name(VertexId(i)));
    ids_.emplace(names_.back(), VertexId(i));
  }
}

std::variant<VertexId, NameError> LinkNames::vertex(std::string_view name) const {
  const auto entry = ids_.find(std::string(name));
  if (entry != ids_.end()) return entry->second;
  return NameError{"there is no '" + std::string(name) + "' in the cluster",
                   "a name such as " + names_.back() + " (collsim describe --dot shows them)",
                   nearest(name, names_)};
}

std::optional<LinkNames::Ends> LinkNames::ends_of(std::string_view text) {
  Ends ends;
  const std::size_t arrow = text.find("->");
  if (arrow == std::string_view::npos) return std::nullopt;
  ends.both = arrow > 0 && text[arrow - 1] == '<';
  ends.from = trimmed(text.substr(0, ends.both ? arrow - 1 : arrow));
  std::string_view to = trimmed(text.substr(arrow + 2));
  if (const std::size_t mark = to.find('#'); mark != std::string_view::npos) {
    const std::string_view digits = to.substr(mark + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ends.number);
    if (error != std::errc() || end != digits.data() + digits.size() || ends.number < 1) return std::nullopt;
    to = trimmed(to.substr(0, mark));
  }
  ends.to = to;
  if (ends.from.empty() || ends.to.empty()) return std::nullopt;
  return ends;
}

std::vector<bool> LinkNames::matching(const std::string& name, bool is_pattern) const {
  std::vector<bool> result(names_.size(), false);
  if (is_pattern && name.find('*') != std::string::npos) {
    for (std::size_t i = 0; i < names_.size(); ++i) result[i] = matches(name, names_[i]);
  } else if (const auto entry = ids_.find(name); entry != ids_.end()) {
    result[entry->second.value] = true;
  }
  return result;
}

std::variant<std::vector<LinkId>, NameError> LinkNames::links(std::string_view text, bool is_pattern) const {
  const std::string shown = "'" + std::string(text) + "'";
  const std::optional<Ends> ends = ends_of(text);
  if (!ends) {
    const std::string example = topology_.link_count() > 0 ? topology_.link_name(LinkId(0)) : "a -> b";
    return NameError{shown + " is no name of a link", "a name such as '" + example + "'", ""};
  }
  for (const std::string* name : {&ends->from, &ends->to}) {
    if (is_pattern && name->find('*') != std::string::npos) continue;
    const auto found = vertex(*name);
    if (const auto* error = std::get_if<NameError>(&found)) {
      NameError result = *error;
      if (!result.hint.empty()) {
        const std::string from = name == &ends->from ? result.hint : ends->from;
        const std::string to = name == &ends->to ? result.hint : ends->to;
        result.hint = from + (ends->both ? " <-> " : " -> ") + to;
      }
      return result;
    }
  }
  const std::vector<bool> from = matching(ends->from, is_pattern);
  const std::vector<bool> to = matching(ends->to, is_pattern);
  const std::string suffix = ends->number > 0 ? "#" + std::to_string(ends->number) : "";
  std::vector<LinkId> result;
  std::string leaves;  // a link from the same vertex
  for (std::uint32_t i = 0; i < topology_.link_count(); ++i) {
    const LinkId id(i);
    const Link& link = topology_.link(id);
    const bool there = from[link.source.value] && to[link.target.value];
    const bool back = ends->both && to[link.source.value] && from[link.target.value];
    if (from[link.source.value] && leaves.empty()) leaves = topology_.link_name(id);
    if (!there && !back) continue;
    const std::string name = suffix.empty() ? "" : topology_.link_name(id);
    if (suffix.empty() || (name.size() > suffix.size() && name.ends_with(suffix))) result.push_back(id);
  }
  if (!result.empty()) return result;
  return NameError{"no link is named " + shown, leaves.empty() ? "" : "a link such as '" + leaves + "'", ""};
}

}  // namespace collsim::topologies
