// Aggregations of the packet network: segments move through the stages of a tree.
#include <algorithm>

#include "sim/core/check.hpp"
#include "sim/network/packet_state.hpp"

namespace collsim {

// A vertex that sends up has a stage up, one that receives from above a stage down. At the root they are one:
// what has come up turns there.
std::uint32_t PacketNetwork::Impl::add_tree(std::span<const TreeVertex> vertices,
                                            std::optional<Bandwidth> rate_max) {
  const auto tree_id = static_cast<std::uint32_t>(trees.size());
  Tree& tree = trees.emplace_back();
  tree.first_stage = static_cast<std::uint32_t>(stages.size());
  if (rate_max) tree.pace.set(rate_max->bytes_per_second(), wire(mtu));
  std::vector<std::uint32_t> up(vertices.size(), none);
  std::vector<std::uint32_t> down(vertices.size(), none);
  const auto add_stage = [&](std::int32_t member) {
    Stage& stage = stages.emplace_back();
    stage.tree = tree_id;
    stage.member = member;
    return static_cast<std::uint32_t>(stages.size() - 1);
  };
  const auto add_edge = [&](std::uint32_t link, std::uint32_t from, std::uint32_t to) {
    const auto id = static_cast<std::uint32_t>(edges.size());
    Edge& edge = edges.emplace_back();
    edge.link = link;
    edge.from = from;
    edge.to = to;
    stages[from].out.push_back(id);
    stages[to].in.push_back(id);
  };
  for (std::size_t place = 0; place < vertices.size(); ++place) {
    const TreeVertex& vertex = vertices[place];
    if (vertex.parent == TreeVertex::none) {
      COLLSIM_CHECK_MSG(place == 0, "the root comes first");
      up[0] = down[0] = add_stage(vertex.member);
      continue;
    }
    COLLSIM_CHECK(vertex.parent < place);
    if (vertex.up != TreeVertex::none) {
      up[place] = add_stage(vertex.member);
      stages[up[place]].is_source = vertex.member >= 0;
      COLLSIM_CHECK_MSG(up[vertex.parent] != none, "the parent sends nothing up");
      add_edge(vertex.up, up[place], up[vertex.parent]);
    }
    if (vertex.down != TreeVertex::none) {
      down[place] = add_stage(vertex.member);
      stages[down[place]].is_receiver = vertex.member >= 0;
      COLLSIM_CHECK_MSG(down[vertex.parent] != none, "nothing comes down to the parent");
      add_edge(vertex.down, down[vertex.parent], down[place]);
    }
  }
  tree.stage_end = static_cast<std::uint32_t>(stages.size());
  Stage& root = stages[tree.first_stage];
  root.is_source = root.member >= 0;
  root.is_receiver = !root.in.empty() && (root.member >= 0 || root.out.empty());
  for (std::uint32_t id = tree.first_stage; id < tree.stage_end; ++id) {
    tree.sources += stages[id].is_source ? 1 : 0;
    tree.receivers += stages[id].is_receiver ? 1 : 0;
    size_stage(stages[id]);
  }
  COLLSIM_CHECK_MSG(tree.sources > 0 && tree.receivers > 0, "a tree has a source and a receiver");
  return tree_id;
}

// Room for as many segments as the links into the stage keep on their way, unless the spec says how many.
// Members always have room for results.
void PacketNetwork::Impl::size_stage(Stage& stage) {
  if (stage.in.empty() || (stage.out.empty() && stage.in.size() == 1)) return;
  const std::int64_t segment = std::max<std::int64_t>(wire(mtu), 1);
  for (const std::uint32_t edge : stage.in) {
    const Link& link = links[edges[edge].link];
    const std::int64_t buffer = std::max(default_buffer(link), link.expected_buffer);
    stage.window = std::max(stage.window, (buffer + segment - 1) / segment);
  }
  if (spec.reduction_buffer)
    stage.window = std::max<std::int64_t>(spec.reduction_buffer->count() / segment, 1);
  const auto places = static_cast<std::size_t>(stage.window);
  stage.arrivals.assign(places, 0);
  stage.leavings.assign(places, 0);
  stage.released_at.assign(places, 0);
}

void PacketNetwork::Impl::start_tree(std::uint32_t id, std::int64_t size) {
  Tree& tree = trees[id];
  const std::int64_t count = std::max<std::int64_t>((size + mtu - 1) / mtu, 1);
  Operation operation;
  operation.begin = tree.segments;
  operation.end = tree.segments + count;
  operation.last_payload = static_cast<std::int32_t>(size - (count - 1) * mtu);
  operation.sources_left = tree.sources;
  operation.receivers_left = tree.receivers;
  operation.posted_at = now;
  tree.open.push(operation);
  tree.segments += count;
  ++outstanding;
  for (std::uint32_t stage = tree.first_stage; stage < tree.stage_end; ++stage) {
    if (!stages[stage].is_source) continue;
    for (const std::uint32_t edge : stages[stage].out) {
      if (tree.pace.rate() > 0 && edges[edge].pace_end.ceil() < now) edges[edge].pace_end = {now, 0};
      edges[edge].taken_at = now;
      // An event, so that what is said of the operation right after its start comes first.
      if (!edges[edge].offered) push(EventKind::offer, edge, now);
      edges[edge].offered = true;
    }
  }
}

// How many segments the stage can have sent on.
std::int64_t PacketNetwork::Impl::available(const Stage& stage) const {
  if (!stage.is_source) return stage.complete;
  const std::int64_t posted = trees[stage.tree].segments;
  return stage.in.empty() ? posted : std::min(posted, stage.complete);
}

// Whether the far end has room for the next segment. If not, the edge is offered again when it has.
bool PacketNetwork::Impl::has_stage_room(Edge& edge, std::uint32_t id) {
  const Stage& to = stages[edge.to];
  if (to.window == 0 || edge.sent < to.window) return true;
  const std::int64_t before = edge.sent - to.window;  // had the place of the next one
  edge.waits = before >= to.released;
  if (edge.waits) return false;
  const std::int64_t seen =
      to.released_at[static_cast<std::size_t>(before % to.window)] + links[edge.link].latency;
  if (seen <= now) return true;
  if (!edge.offered) push(EventKind::offer, id, seen);
  edge.offered = true;
  return false;
}

// Puts the edge in the turn of its link if its next segment can go.
void PacketNetwork::Impl::offer(std::uint32_t id) {
  Edge& edge = edges[id];
  const Stage& from = stages[edge.from];
  if (edge.queued || edge.sent >= available(from) || !has_stage_room(edge, id)) return;
  Tree& tree = trees[from.tree];
  Link& link = links[edge.link];
  if (from.is_source && tree.pace.rate() > 0) {
    const std::int64_t bytes = wire(segment_payload(tree, edge));
    packet::ExactTime end = edge.pace_end;
    if (end.ceil() < edge.taken_at - tree.pace.floor(bytes))
      end = {edge.taken_at - tree.pace.floor(bytes), 0};
    tree.pace.add(bytes, end);
    const bool is_faster = link.rate.rate() > tree.pace.rate();
    const std::int64_t due = end.ceil() - (is_faster ? link.rate.floor(bytes) : tree.pace.floor(bytes));
    if (due > now) {
      if (!edge.offered) push(EventKind::offer, id, due);
      edge.offered = true;
      return;
    }
    edge.pace_end = end;
  }
  edge.queued = true;
  append(link, link.edges, edges, id);
  link.pending |= std::uint64_t{1} << (channel_count + 1);
  serve(edge.link);
}

std::int32_t PacketNetwork::Impl::segment_payload(const Tree& tree, const Edge& edge) const {
  const Operation& operation = tree.open[static_cast<std::size_t>(edge.operation - tree.first_open)];
  return edge.sent + 1 < operation.end ? static_cast<std::int32_t>(mtu) : operation.last_payload;
}

void PacketNetwork::Impl::send_edge(std::uint32_t link_id) {
  Link& link = links[link_id];
  const std::uint32_t id = take(link, link.edges, edges);
  if (link.edges.head == none) link.pending &= ~(std::uint64_t{1} << (channel_count + 1));
  Edge& edge = edges[id];
  edge.queued = false;
  Stage& to = stages[edge.to];
  Tree& tree = trees[to.tree];
  const std::int32_t payload = segment_payload(tree, edge);
  Operation& operation = tree.operation(edge.operation);
  const std::int64_t segment = edge.sent++;
  const bool is_last = edge.sent == operation.end;
  if (is_last) ++edge.operation;
  edge.taken_at = now;
  const std::int64_t end = begin_transmission(link, payload);
  link.tree_payload += payload;
  link.facts.arrived += payload;
  if (has_background) note_progress(true);
  if (stages[edge.from].is_source) ++packet_count;
  const bool is_end = to.is_receiver && (to.out.empty() || to.in.size() > 1);
  if (to.window > 0) {
    Link* next = nullptr;
    for (const std::uint32_t out : to.out) {
      Link& candidate = links[edges[out].link];
      if (next == nullptr || candidate.rate.rate() > next->rate.rate()) next = &candidate;
    }
    push(EventKind::segment, id, ready_time(link, end, wire(payload), is_end ? nullptr : next));
  } else {
    ++edge.arrived;
  }
  if (is_last && to.is_receiver && to.in.size() == 1)
    push(EventKind::result, edge.to, end + link.latency + operation.extra);
  if (is_last && stages[edge.from].is_source) {
    operation.posted_at = std::max(operation.posted_at, end);
    // A root that sends to several has posted when it has sent to all.
    const bool all = stages[edge.from].out.size() == 1 ||
                     std::all_of(stages[edge.from].out.begin(), stages[edge.from].out.end(),
                                 [&](std::uint32_t out) { return edges[out].sent >= operation.end; });
    if (all && --operation.sources_left == 0) push(EventKind::posted, tree.flow, operation.posted_at);
  }
  segment_left(id, segment, end);
  offer(id);
}

// A segment has begun to leave its stage over one edge. When it has over all, its room is free.
void PacketNetwork::Impl::segment_left(std::uint32_t id, std::int64_t segment, std::int64_t end) {
  Stage& from = stages[edges[id].from];
  if (from.window == 0) return;
  const auto place = static_cast<std::size_t>(segment % from.window);
  const std::int64_t at = cut_through ? now : end;
  // Of edges that differ in speed, the last to leave counts.
  from.released_at[place] = from.leavings[place] == 0 ? at : std::max(from.released_at[place], at);
  if (++from.leavings[place] < from.out.size()) return;
  from.leavings[place] = 0;
  release(from, place);
}

// Room for a segment is free: edges that wait for it see that a latency later.
void PacketNetwork::Impl::release(Stage& stage, std::size_t place) {
  ++stage.released;
  for (const std::uint32_t in : stage.in) {
    Edge& edge = edges[in];
    if (!edge.waits) continue;
    edge.waits = false;
    if (!edge.offered) push(EventKind::offer, in, stage.released_at[place] + links[edge.link].latency);
    edge.offered = true;
  }
}

void PacketNetwork::Impl::segment_arrives(std::uint32_t id) {
  const std::uint32_t stage_id = edges[id].to;
  Stage& to = stages[stage_id];
  const auto place = static_cast<std::size_t>(edges[id].arrived++ % to.window);
  if (++to.arrivals[place] < to.in.size()) return;
  to.arrivals[place] = 0;
  ++to.complete;
  if (to.is_receiver && to.in.size() > 1) {
    Tree& tree = trees[to.tree];
    for (std::size_t open = 0; open < tree.open.size(); ++open)
      if (tree.open[open].end == to.complete) push(EventKind::result, stage_id, now + tree.open[open].extra);
  }
  if (to.out.empty()) {
    to.released_at[place] = now;
    release(to, place);
  }
  for (const std::uint32_t out : to.out) offer(out);
}

// All of the first operation that this stage has not had yet has arrived there. Operations end in order.
void PacketNetwork::Impl::result(std::uint32_t stage_id) {
  Stage& stage = stages[stage_id];
  Tree& tree = trees[stage.tree];
  Operation& operation = tree.operation(stage.results++);
  if (stage.member >= 0) notice(NoticeKind::result, tree.flow, stage.member);
  if (--operation.receivers_left > 0) return;
  while (!tree.open.empty() && tree.open.front().receivers_left == 0) {
    tree.open.pop();
    ++tree.first_open;
    --outstanding;
    notice(NoticeKind::over, tree.flow);
  }
}

}  // namespace collsim
