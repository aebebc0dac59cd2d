#include "topologies/routing_entries.hpp"

#include <algorithm>

namespace collsim::topologies {

RoutingEntries::RoutingEntries(const Topology& topology, std::vector<TableEntry> entries,
                               std::vector<NextHop> next)
    : entries_(std::move(entries)), next_(std::move(next)) {
  std::sort(entries_.begin(), entries_.end(), [](const TableEntry& a, const TableEntry& b) {
    return std::tie(a.at, a.destination, a.line) < std::tie(b.at, b.destination, b.line);
  });
  start_.assign(topology.vertex_count() + 1, 0);
  for (const TableEntry& entry : entries_) ++start_[entry.at.value + 1];
  for (std::size_t i = 0; i + 1 < start_.size(); ++i) start_[i + 1] += start_[i];
  for (Rank rank = 0; rank < topology.ranks(); ++rank) {
    nic_.push_back(static_cast<std::uint32_t>(rank));
    node_.push_back(static_cast<std::uint32_t>(topology.vertex(VertexId(rank)).node));
  }
  for (const Link& link : topology.links())
    if (link.source.value < nic_.size() && topology.vertex(link.target).kind == VertexKind::nic)
      nic_[link.source.value] = link.target.value;
}

const TableEntry* RoutingEntries::find(VertexId at, Rank target) const {
  const auto begin = entries_.begin() + start_[at.value];
  const auto end = entries_.begin() + start_[at.value + 1];
  const auto rank = static_cast<std::size_t>(target);
  for (const TableDestination& wanted :
       {TableDestination{Breadth::gpu, static_cast<std::uint32_t>(target)},
        TableDestination{Breadth::nic, nic_[rank]}, TableDestination{Breadth::node, node_[rank]},
        TableDestination{Breadth::all, 0}}) {
    const auto found = std::lower_bound(begin, end, wanted, [](const TableEntry& entry, const auto& value) {
      return entry.destination < value;
    });
    if (found != end && found->destination == wanted) return &*found;
  }
  return nullptr;
}

namespace {

std::string counted_others(std::int64_t count) {
  if (count == 0) return "";
  return " (and " + std::to_string(count) + (count == 1 ? " other GPU)" : " other GPUs)");
}

// Depth-first searches from all ranks towards one destination after another.
class EntriesCheck {
 public:
  EntriesCheck(const Topology& topology, const RoutingEntries& entries, int lines)
      : topology_(topology), entries_(entries), lines_(lines), state_(topology.vertex_count(), 0) {}

  std::vector<TableError> run() {
    for (Rank target = 0; target < topology_.ranks() && faults_.size() < faults_max; ++target)
      for (Rank source = 0; source < topology_.ranks() && faults_.size() < faults_max; ++source)
        if (source != target) search(VertexId(source), target);
    std::vector<TableError> errors;
    for (Fault& fault : faults_) {
      fault.error.message = fault.before + counted_others(fault.targets - 1) + fault.after;
      errors.push_back(std::move(fault.error));
    }
    return errors;
  }

 private:
  struct Frame {
    VertexId at;
    const TableEntry* entry;
    std::uint32_t tried;  // next hops
  };
  // The same entry can be at fault for many destinations, and is reported once.
  struct Fault {
    TableError error;
    VertexId at;
    std::string before;
    std::string after;
    Rank last_target = -1;
    std::int64_t targets = 0;
  };

  // state_[vertex]: 2 t + 1 while its ways to target t are being followed, 2 t + 2 once they are known.
  std::uint32_t open(Rank target) const { return 2 * static_cast<std::uint32_t>(target) + 1; }

  void search(VertexId source, Rank target) {
    if (state_[source.value] > open(target)) return;
    stack_.clear();
    enter(source, target);
    while (!stack_.empty()) {
      Frame& top = stack_.back();
      if (top.tried == top.entry->next_count) {
        state_[top.at.value] = open(target) + 1;
        stack_.pop_back();
        continue;
      }
      const VertexId next = entries_.next(*top.entry)[top.tried++].vertex;
      if (next == VertexId(target) || state_[next.value] == open(target) + 1) continue;
      if (state_[next.value] == open(target))
        report_loop(next, target);
      else
        enter(next, target);
    }
  }

  void enter(VertexId vertex, Rank target) {
    const TableEntry* entry = entries_.find(vertex, target);
    if (entry == nullptr) report_hole(vertex, target);
    state_[vertex.value] = open(target) + (entry == nullptr ? 1 : 0);
    if (entry != nullptr) stack_.push_back({vertex, entry, 0});
  }

  // Where the last step was taken, or below the text if there was none.
  TableError place() const {
    if (stack_.empty()) return {lines_ + 1, 1, "", "", ""};
    const Frame& top = stack_.back();
    return {top.entry->line, entries_.next(*top.entry)[top.tried - 1].column, "", "", ""};
  }
  Fault* fault_at(VertexId at, const TableError& place, Rank target) {
    auto found = std::find_if(faults_.begin(), faults_.end(), [&](const Fault& fault) {
      return fault.at == at && fault.error.line == place.line && fault.error.column == place.column;
    });
    if (found == faults_.end()) found = faults_.insert(found, Fault{place, at, "", "", -1, 0});
    found->targets += found->last_target != target;
    found->last_target = target;
    return found->before.empty() ? &*found : nullptr;
  }

  void report_hole(VertexId vertex, Rank target) {
    Fault* fault = fault_at(vertex, place(), target);
    if (fault == nullptr) return;
    const std::string name = topology_.vertex_name(vertex);
    fault->before = "there is no entry at " + name + " for " + topology_.vertex_name(VertexId(target));
    fault->error.expected = "a line such as '" + name + "  *  " + neighbour_of(vertex) + "'";
  }
  void report_loop(VertexId back, Rank target) {
    Fault* fault = fault_at(back, place(), target);
    if (fault == nullptr) return;
    fault->before = "messages to " + topology_.vertex_name(VertexId(target));
    const auto first =
        std::find_if(stack_.begin(), stack_.end(), [&](const Frame& f) { return f.at == back; });
    constexpr std::ptrdiff_t shown_max = 12;
    fault->after = " come back: ";
    for (auto frame = first; frame != stack_.end() && frame - first < shown_max; ++frame)
      fault->after += topology_.vertex_name(frame->at) + " -> ";
    fault->after += (stack_.end() - first > shown_max ? "... -> " : "") + topology_.vertex_name(back);
    fault->error.expected = "a next vertex that leads on";
    if (stack_.back().entry->next_count > 1) fault->error.expected += ", as the other ones of this entry";
  }
  std::string neighbour_of(VertexId vertex) const {
    for (const Link& link : topology_.links())
      if (link.source == vertex) return topology_.vertex_name(link.target);
    return "";
  }

  static constexpr std::size_t faults_max = 200;  // then the search ends
  const Topology& topology_;
  const RoutingEntries& entries_;
  int lines_;
  std::vector<std::uint32_t> state_;
  std::vector<Frame> stack_;
  std::vector<Fault> faults_;
};

}  // namespace

std::vector<TableError> check_routing_entries(const Topology& topology, const RoutingEntries& entries,
                                              int lines) {
  return EntriesCheck(topology, entries, lines).run();
}

}  // namespace collsim::topologies
