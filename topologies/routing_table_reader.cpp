#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "sim/core/spelling.hpp"
#include "topologies/routing_entries.hpp"

namespace collsim::topologies {
namespace {

struct Word {
  std::string text;
  int column = 1;
};

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// The words of a line before its comment.
std::vector<Word> words_of(std::string_view line) {
  std::vector<Word> words;
  for (std::size_t i = 0; i < line.size();) {
    if (is_blank(line[i])) {
      ++i;
      continue;
    }
    if (line[i] == '#') break;
    std::size_t end = i;
    while (end < line.size() && !is_blank(line[end])) ++end;
    words.push_back({std::string(line.substr(i, end - i)), static_cast<int>(i) + 1});
    i = end;
  }
  return words;
}

std::string quoted(const std::string& word) {
  constexpr std::size_t shown_max = 64;
  return "'" + (word.size() > shown_max ? word.substr(0, shown_max) + "..." : word) + "'";
}

class Reader {
 public:
  explicit Reader(const Topology& topology) : topology_(topology) {
    for (std::uint32_t i = 0; i < topology.vertex_count(); ++i) {
      names_.push_back(topology.vertex_name(VertexId(i)));
      vertices_.emplace(names_.back(), VertexId(i));
    }
    start_.assign(topology.vertex_count() + 1, 0);
    for (const Link& link : topology.links()) ++start_[link.source.value + 1];
    for (std::size_t i = 0; i + 1 < start_.size(); ++i) start_[i + 1] += start_[i];
    links_.resize(topology.link_count());
    std::vector<std::uint32_t> filled = start_;
    for (std::uint32_t i = 0; i < topology.link_count(); ++i)
      links_[filled[topology.link(LinkId(i)).source.value]++] = LinkId(i);
  }

  ReadTable read(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      ++table_.lines;
      read_line(words_of(text.substr(0, end)));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    find_repeated();
    if (table_.entries.empty() && table_.errors.empty() && topology_.ranks() > 1)
      error(1, "the table has no entries", "lines such as 'node0/gpu0  *  node0/nic0'");
    return std::move(table_);
  }

 private:
  void error(int column, std::string message, std::string expected, std::string hint = "") {
    table_.errors.push_back(
        {std::max(table_.lines, 1), column, std::move(message), std::move(expected), std::move(hint)});
  }

  void read_line(const std::vector<Word>& words) {
    if (words.empty()) return;
    if (words.size() < 3)
      return error(words[0].column,
                   "an entry has at least three columns, this one " + std::to_string(words.size()),
                   "at, destination, next vertices");
    const std::optional<VertexId> at = vertex(words[0]);
    const std::optional<TableDestination> destination = read_destination(words[1]);
    if (!at || !destination) return;
    if (*destination == TableDestination{Breadth::gpu, at->value})
      return error(words[1].column, quoted(words[1].text) + " is where the message would be already",
                   "another destination");
    TableEntry entry{
        *at, *destination, table_.lines, words[1].column, static_cast<std::uint32_t>(table_.next.size()), 0};
    for (std::size_t i = 2; i < words.size(); ++i) read_next(*at, words[i], entry.first_next);
    entry.next_count = static_cast<std::uint32_t>(table_.next.size()) - entry.first_next;
    if (entry.next_count > 0) table_.entries.push_back(entry);
  }

  std::optional<VertexId> vertex(const Word& word) {
    const auto found = vertices_.find(word.text);
    if (found != vertices_.end()) return found->second;
    error(word.column, "the cluster has no vertex " + quoted(word.text), "a name such as " + names_[0],
          nearest_of(word, names_));
    return std::nullopt;
  }
  // Looking for near names takes a while, and nobody reads more than a few.
  std::string nearest_of(const Word& word, const std::vector<std::string>& candidates) {
    return searches_++ < 20 ? nearest(word.text, candidates) : "";
  }

  std::optional<std::uint32_t> node(const std::string& name) const {
    const std::string prefix = "node";
    if (name.rfind(prefix, 0) != 0) return std::nullopt;
    const std::string digits = name.substr(prefix.size());
    const bool is_number =
        !digits.empty() && digits.size() <= 9 &&
        std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!is_number) return std::nullopt;
    const auto number = static_cast<std::uint32_t>(std::stoul(digits));
    const bool exists = number < static_cast<std::uint32_t>(topology_.placement().nodes);
    if (!exists || digits != std::to_string(number)) return std::nullopt;
    return number;
  }

  std::optional<TableDestination> read_destination(const Word& word) {
    if (word.text == "*") return TableDestination{Breadth::all, 0};
    if (const auto number = node(word.text)) return TableDestination{Breadth::node, *number};
    const auto found = vertices_.find(word.text);
    const VertexKind kind =
        found == vertices_.end() ? VertexKind::fabric_switch : topology_.vertex(found->second).kind;
    if (kind == VertexKind::gpu) return TableDestination{Breadth::gpu, found->second.value};
    if (kind == VertexKind::nic) return TableDestination{Breadth::nic, found->second.value};
    const std::string expected = "a GPU, a NIC, a node such as node0, or *";
    if (found != vertices_.end()) {
      error(word.column, quoted(word.text) + " is a switch, and messages do not end there", expected);
      return std::nullopt;
    }
    std::vector<std::string> candidates;
    for (std::int32_t n = 0; n < topology_.placement().nodes; ++n)
      candidates.push_back("node" + std::to_string(n));
    for (std::uint32_t i = 0; i < names_.size(); ++i) {
      const VertexKind named = topology_.vertex(VertexId(i)).kind;
      if (named == VertexKind::gpu || named == VertexKind::nic) candidates.push_back(names_[i]);
    }
    error(word.column, "the cluster has no destination " + quoted(word.text), expected,
          nearest_of(word, candidates));
    return std::nullopt;
  }

  void read_next(VertexId at, const Word& word, std::uint32_t first) {
    Word name = word;
    std::size_t number = 0;  // all
    if (const std::size_t mark = word.text.rfind('#'); mark != std::string::npos && mark > 0) {
      name.text = word.text.substr(0, mark);
      number = link_number(word.text.substr(mark + 1));
      if (number == 0)
        return error(word.column + static_cast<int>(mark), quoted(word.text) + " has no number of a link",
                     "a number from 1 on, such as " + name.text + "#1");
    }
    const std::optional<VertexId> next = vertex(name);
    if (!next) return;
    std::vector<LinkId> links;
    for (std::uint32_t i = start_[at.value]; i < start_[at.value + 1]; ++i)
      if (topology_.link(links_[i]).target == *next) links.push_back(links_[i]);
    if (links.empty()) return not_a_neighbour(at, name);
    if (number > links.size())
      return error(word.column,
                   names_[at.value] + " has only " + std::to_string(links.size()) +
                       (links.size() == 1 ? " link to " : " links to ") + name.text,
                   "at most #" + std::to_string(links.size()));
    if (number > 0) links = {links[number - 1]};
    for (const LinkId link : links) {
      const auto begin = table_.next.begin() + first;
      if (std::any_of(begin, table_.next.end(), [&](const NextHop& hop) { return hop.link == link; }))
        return error(word.column, quoted(word.text) + " is there already", "each way once");
      table_.next.push_back({link, *next, word.column});
    }
  }

  static std::size_t link_number(const std::string& digits) {
    if (digits.empty() || digits.size() > 6 || digits[0] == '0') return 0;
    std::size_t number = 0;
    for (const char c : digits) {
      if (c < '0' || c > '9') return 0;
      number = number * 10 + static_cast<std::size_t>(c - '0');
    }
    return number;
  }

  void not_a_neighbour(VertexId at, const Word& name) {
    constexpr std::size_t shown_max = 8;
    std::vector<std::string> neighbours;
    for (std::uint32_t i = start_[at.value]; i < start_[at.value + 1]; ++i) {
      const std::string& neighbour = names_[topology_.link(links_[i]).target.value];
      if (std::find(neighbours.begin(), neighbours.end(), neighbour) == neighbours.end())
        neighbours.push_back(neighbour);
    }
    std::string expected = neighbours.empty() ? "no entry, since it has no neighbours" : "one of ";
    for (std::size_t i = 0; i < neighbours.size() && i < shown_max; ++i)
      expected += (i == 0 ? "" : ", ") + neighbours[i];
    if (neighbours.size() > shown_max) expected += ", ...";
    error(name.column, "no link leads from " + names_[at.value] + " to " + name.text, expected,
          nearest_of(name, neighbours));
  }

  // The first of entries for the same place and destination stands, the others are errors.
  void find_repeated() {
    std::vector<const TableEntry*> sorted;
    for (const TableEntry& entry : table_.entries) sorted.push_back(&entry);
    const auto key = [](const TableEntry* entry) { return std::tie(entry->at, entry->destination); };
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](const TableEntry* a, const TableEntry* b) { return key(a) < key(b); });
    std::size_t first = 0;
    for (std::size_t i = 1; i < sorted.size(); ++i) {
      if (key(sorted[i]) != key(sorted[first])) {
        first = i;
        continue;
      }
      table_.errors.push_back({sorted[i]->line, sorted[i]->column,
                               "a second entry at " + names_[sorted[i]->at.value] +
                                   " for the same destination; the first is in line " +
                                   std::to_string(sorted[first]->line),
                               "one entry, with several next vertices if there are several ways", ""});
    }
  }

  const Topology& topology_;
  std::vector<std::string> names_;                      // [vertex]
  std::unordered_map<std::string, VertexId> vertices_;  // looked up only
  std::vector<std::uint32_t> start_;                    // [vertex]: its first link in links_
  std::vector<LinkId> links_;                           // by source
  ReadTable table_;
  int searches_ = 0;
};

}  // namespace

ReadTable read_routing_table(const Topology& topology, std::string_view text) {
  return Reader(topology).read(text);
}

}  // namespace collsim::topologies
