#include "sim/network/fluid.hpp"

#include <algorithm>
#include <limits>

#include "sim/core/check.hpp"

namespace collsim {
namespace {

constexpr std::int64_t micro_per_byte = 1'000'000;
constexpr std::int64_t time_end = std::int64_t{1} << 62;                  // ps; about 53 days
const Int128 work_per_byte = Int128{1'000'000'000'000} * micro_per_byte;  // 10^18

Int128 ceiling_division(Int128 value, Int128 divisor) {
  if (value <= std::numeric_limits<std::int64_t>::max() / 2 &&
      divisor <= std::numeric_limits<std::int64_t>::max() / 2) {
    const auto small = static_cast<std::int64_t>(value);
    const auto by = static_cast<std::int64_t>(divisor);
    return (small + by - 1) / by;
  }
  return (value + divisor - 1) / divisor;
}

Int128 floor_division(Int128 value, std::int64_t divisor) {
  if (value <= std::numeric_limits<std::int64_t>::max()) return static_cast<std::int64_t>(value) / divisor;
  return value / divisor;
}

}  // namespace

Int128 FluidNetwork::Bound::micro() const {
  const Int128 whole = Int128{rate} * micro_per_byte;
  return shares == 1 ? whole : whole / shares;
}

bool FluidNetwork::Bound::is_below(const Bound& other) const {
  if (shares == 1 && other.shares == 1) return rate < other.rate;
  return micro() < other.micro();
}

FluidNetwork::Work FluidNetwork::work_of(Bytes size) { return size.count() * work_per_byte; }

// ---------------------------------------------------------------- construction

void FluidNetwork::reserve(std::size_t resources, std::size_t flows, std::size_t uses) {
  resources_.reserve(resources);
  flows_.reserve(flows);
  fixed_.reserve(flows);
  exclusive_.reserve(flows);
  hops_.reserve(uses);
}

ResourceId FluidNetwork::add_resource(Bandwidth capacity, bool changes) {
  COLLSIM_CHECK(!frozen_ && capacity.bytes_per_second() > 0);
  Resource resource;
  resource.capacity = capacity.bytes_per_second();
  resource.changes = changes;
  resources_.push_back(resource);
  return static_cast<ResourceId>(resources_.size() - 1);
}

FlowId FluidNetwork::add_flow(std::span<const Use> route, std::optional<Bandwidth> rate_max,
                              std::uint64_t exclusive, std::uint32_t weight) {
  COLLSIM_CHECK(!frozen_ && weight > 0 && (!route.empty() || rate_max.has_value()));
  const auto id = static_cast<FlowId>(flows_.size());
  Flow flow;
  flow.weight = weight;
  flow.route_begin = static_cast<std::uint32_t>(hops_.size());
  flow.route_size = static_cast<std::uint32_t>(route.size());
  for (const Use& use : route) hops_.push_back(Hop{use.weight, use.resource, id, none, none});
  flows_.push_back(flow);
  fixed_.push_back({rate_max ? rate_max->bytes_per_second() : std::numeric_limits<std::int64_t>::max(), 1});
  exclusive_.push_back(exclusive);
  return id;
}

void FluidNetwork::freeze() {
  COLLSIM_CHECK(!frozen_);
  std::vector<char> slack(resources_.size());
  find_slack(slack);
  drop(slack);
  for (FlowId id = 0; id < flows_.size(); ++id) write_solo(flows_[id], solo_of(id));
  position_.resize(flows_.size());
  exclusive_ = {};
  frozen_ = true;
}

// A resource is slack for good if the largest rates that flows can put on it at once fit: of the flows with
// one exclusive key only the fastest counts. A capacity that changes cannot bound a flow, and is never slack
// itself.
void FluidNetwork::find_slack(std::vector<char>& slack) const {
  struct Load {
    Int128 sum = 0;
    Int128 largest = 0;  // of the flows with `key`
    std::uint64_t key = 0;
  };
  std::vector<Load> loads(resources_.size());
  for (std::size_t id = 0; id < flows_.size(); ++id) {
    const Flow& flow = flows_[id];
    const std::span<const Hop> hops(hops_.data() + flow.route_begin, flow.route_size);
    Bound fastest = fixed_[id];
    for (const Hop& hop : hops) {
      const Bound bound = {resources_[hop.resource].capacity, hop.shares};
      if (!resources_[hop.resource].changes && bound.is_below(fastest)) fastest = bound;
    }
    for (const Hop& hop : hops) {
      Load& load = loads[hop.resource];
      if (load.key != exclusive_[id]) load.largest = 0;
      load.key = exclusive_[id];
      const Int128 together = fastest.micro() * hop.shares;
      load.sum += std::max<Int128>(0, together - load.largest);
      load.largest = std::max(load.largest, together);
    }
  }
  for (std::size_t id = 0; id < resources_.size(); ++id)
    slack[id] = !resources_[id].changes && loads[id].sum <= Int128{resources_[id].capacity} * micro_per_byte;
}

// Takes slack resources out of all routes, keeping their capacities as bounds of the flows.
void FluidNetwork::drop(const std::vector<char>& slack) {
  std::uint32_t kept = 0;
  for (FlowId id = 0; id < flows_.size(); ++id) {
    Flow& flow = flows_[id];
    const std::uint32_t begin = kept;
    for (std::uint32_t hop = flow.route_begin; hop < flow.route_begin + flow.route_size; ++hop) {
      const Bound bound = {resources_[hops_[hop].resource].capacity, hops_[hop].shares};
      if (slack[hops_[hop].resource] == 0)
        hops_[kept++] = hops_[hop];
      else if (bound.is_below(fixed_[id]))
        fixed_[id] = bound;
    }
    flow.route_begin = begin;
    flow.route_size = kept - begin;
  }
  hops_.resize(kept);
}

FluidNetwork::Bound FluidNetwork::solo_of(FlowId id) const {
  const Flow& flow = flows_[id];
  Bound solo = fixed_[id];
  for (std::uint32_t hop = flow.route_begin; hop < flow.route_begin + flow.route_size; ++hop) {
    const Bound bound = {resources_[hops_[hop].resource].capacity, hops_[hop].shares};
    if (bound.is_below(solo)) solo = bound;
  }
  return solo;
}

void FluidNetwork::write_solo(Flow& flow, const Bound& solo) {
  flow.solo = solo.micro();
  flow.whole_solo = solo.shares == 1 ? solo.rate : -1;
}

Duration FluidNetwork::solo_time(const Flow& flow, std::int64_t bytes) {
  constexpr std::int64_t small_max = 4'000'000;  // small_max * 10^12 + a rate stays below 2^63
  if (bytes <= small_max && flow.whole_solo < (std::int64_t{1} << 62) && flow.whole_solo > 0) {
    const std::int64_t work = bytes * picoseconds_per_second;
    const std::int64_t whole = work / flow.whole_solo;
    return Duration::picoseconds(whole + (whole * flow.whole_solo != work));
  }
  if (flow.solo == 0) return Duration::picoseconds(time_end);
  const Int128 time = ceiling_division(bytes * work_per_byte, flow.solo);
  return Duration::picoseconds(static_cast<std::int64_t>(std::min<Int128>(time, time_end)));
}

// ---------------------------------------------------------------- changes of an instant

bool FluidNetwork::binds(const Resource& resource) {
  return resource.solo_sum > Int128{resource.capacity} * micro_per_byte;
}

void FluidNetwork::touch(ResourceId id) {
  Resource& resource = resources_[id];
  if (resource.dirty || !(resource.contended || binds(resource))) return;
  resource.dirty = true;
  dirty_.push_back(id);
}

void FluidNetwork::link(std::uint32_t index) {
  Hop& hop = hops_[index];
  Resource& resource = resources_[hop.resource];
  hop.previous = none;
  hop.next = resource.first_hop;
  if (hop.next != none) hops_[hop.next].previous = index;
  resource.first_hop = index;
  resource.solo_sum += flows_[hop.flow].solo * hop.shares;
  touch(hop.resource);
}

void FluidNetwork::unlink(std::uint32_t index) {
  const Hop& hop = hops_[index];
  Resource& resource = resources_[hop.resource];
  if (hop.next != none) hops_[hop.next].previous = hop.previous;
  (hop.previous != none ? hops_[hop.previous].next : resource.first_hop) = hop.next;
  resource.solo_sum -= flows_[hop.flow].solo * hop.shares;
  touch(hop.resource);
}

void FluidNetwork::start(FlowId id, Bytes size) {
  Flow& flow = flows_[id];
  COLLSIM_DCHECK(frozen_ && flow.state == State::idle && size.count() > 0);
  flow.state = State::fresh;
  flow.bytes = size.count();
  flow.drained_at = -1;
  for (std::uint32_t hop = flow.route_begin; hop < flow.route_begin + flow.route_size; ++hop) link(hop);
  fresh_.push_back(id);
}

void FluidNetwork::finish(FlowId id) {
  Flow& flow = flows_[id];
  COLLSIM_DCHECK(flow.state != State::idle);
  for (std::uint32_t hop = flow.route_begin; hop < flow.route_begin + flow.route_size; ++hop) unlink(hop);
  if (flow.drain_place != none) remove_drain(id);
  flow.state = State::idle;
  flow.drained_at = -1;
}

FluidNetwork::Work FluidNetwork::abort(FlowId id, Instant now) {
  Flow& flow = flows_[id];
  COLLSIM_DCHECK(flow.state != State::idle && !drained(id, now));
  if (flow.state == State::fresh)
    flow.work_left = flow.bytes * work_per_byte;
  else
    bring_up_to(flow, now);
  const Work left = flow.work_left;
  finish(id);
  return left;
}

void FluidNetwork::start_rest(FlowId id, Work left, Instant now) {
  COLLSIM_DCHECK(left > 0);
  start(id, Bytes(1));
  Flow& flow = flows_[id];
  flow.state = State::shared;
  flow.work_left = left;
  flow.rate = 0;
  flow.since = now.picoseconds();
}

void FluidNetwork::set_capacity(ResourceId resource, Bandwidth capacity, Instant now) {
  COLLSIM_CHECK(resources_[resource].changes && capacity.bytes_per_second() >= 0);
  resources_[resource].capacity = capacity.bytes_per_second();
  for (const Hop& hop : hops_)
    if (hop.resource == resource) change_solo(hop.flow, now);
  touch(resource);
}

// A new solo rate. An active flow is planned again by the next settle(), whether it meets others or not.
void FluidNetwork::change_solo(FlowId id, Instant now) {
  Flow& flow = flows_[id];
  const bool running = flow.state == State::solo || flow.state == State::shared;
  if (running) bring_up_to(flow, now);
  const Int128 before = flow.solo;
  write_solo(flow, solo_of(id));
  if (flow.state == State::idle) return;
  for (const Hop& hop : hops_of(flow)) {
    resources_[hop.resource].solo_sum += (flow.solo - before) * hop.shares;
    touch(hop.resource);
  }
  if (running) fresh_.push_back(id);
}

// ---------------------------------------------------------------- solving

void FluidNetwork::settle(Instant now, std::vector<Scheduled>& scheduled) {
  ++settle_number_;
  if (!dirty_.empty()) solve(now, scheduled);
  for (const FlowId id : fresh_) {
    Flow& flow = flows_[id];
    if (flow.mark == settle_number_ || flow.state == State::idle) continue;
    if (flow.state == State::fresh)
      plan_solo(id, now, scheduled);
    else
      plan(id, flow.solo, now, scheduled);
  }
  fresh_.clear();
}

void FluidNetwork::solve(Instant now, std::vector<Scheduled>& scheduled) {
  begin_region();
  if (members_.empty()) return;
  ++solves_;
  for (int growths = 0;; ++growths) {
    fill();
    flows_solved_ += static_cast<std::int64_t>(members_.size());
    if (!grow()) break;
    if (growths < growths_max) continue;
    for (std::size_t place = 0; place < members_.size(); ++place) release(members_[place].flow);
  }
  for (const Member& member : members_)
    if (member.free) plan(member.flow, member.rate, now, scheduled);
}

// The flows that a touched resource bound, and those that have just started there, are free.
void FluidNetwork::begin_region() {
  region_.clear();
  members_.clear();
  for (const ResourceId id : dirty_) {
    Resource& resource = resources_[id];
    resource.dirty = false;
    const Int128 level = resource.level;
    resource.contended = binds(resource);
    if (resource.contended)
      enter(id);
    else
      resource.level = unbound;
    if (level == unbound) continue;
    for (std::uint32_t hop = resource.first_hop; hop != none; hop = hops_[hop].next)
      if (rate(hops_[hop].flow) == rate_at(flows_[hops_[hop].flow], level)) release(hops_[hop].flow);
  }
  dirty_.clear();
  for (const FlowId id : fresh_) {
    const Flow& flow = flows_[id];
    if (flow.state == State::idle) continue;
    for (const Hop& hop : hops_of(flow)) {
      if (!binds(resources_[hop.resource])) continue;
      release(id);
      break;
    }
  }
}

// Takes a contended resource into the region; its flows are held.
void FluidNetwork::enter(ResourceId id) {
  Resource& resource = resources_[id];
  if (resource.mark == settle_number_ || !binds(resource)) return;
  resource.mark = settle_number_;
  resource.contended = true;
  std::int64_t active = 0;
  for (std::uint32_t hop = resource.first_hop; hop != none; hop = hops_[hop].next) {
    hold(hops_[hop].flow);
    active += std::int64_t{flows_[hops_[hop].flow].weight} * hops_[hop].shares;
  }
  region_.push_back({id, active});
}

void FluidNetwork::hold(FlowId id) {
  Flow& flow = flows_[id];
  if (flow.mark == settle_number_) return;
  flow.mark = settle_number_;
  position_[id] = static_cast<std::uint32_t>(members_.size());
  const Int128 held = rate(id);
  members_.push_back({id, false, held, level_of(flow, held), -1});
}

Int128 FluidNetwork::level_of(const Flow& flow, Int128 limit) {
  return flow.weight == 1 ? limit : ceiling_division(limit, flow.weight);
}

// Makes a flow free, with all contended resources on its route.
void FluidNetwork::release(FlowId id) {
  hold(id);
  Member& member = members_[position_[id]];
  if (member.free) return;
  member.free = true;
  member.limit = flows_[id].solo;
  member.level = level_of(flows_[id], member.limit);
  for (const Hop& hop : hops_of(flows_[id])) enter(hop.resource);
}

// Releases the held flows whose present rates the solution contradicts; false if there are none.
bool FluidNetwork::grow() {
  const std::size_t count = members_.size();
  bool grown = false;
  for (std::size_t place = 0; place < count; ++place) {
    if (members_[place].free || !contradicted(members_[place])) continue;
    release(members_[place].flow);
    grown = true;
  }
  return grown;
}

// A held flow is right where it is if it kept its rate and something still binds it at that rate.
bool FluidNetwork::contradicted(const Member& member) const {
  const Flow& flow = flows_[member.flow];
  if (member.rate != member.limit) return true;
  if (member.rate == flow.solo) return false;
  for (std::uint32_t hop = flow.route_begin; hop < flow.route_begin + flow.route_size; ++hop)
    if (rate_at(flow, resources_[hops_[hop].resource].level) == member.rate) return false;
  return true;
}

// Progressive filling of the region. A flow's limit acts as a resource of its own.
void FluidNetwork::fill() {
  for (Member& member : members_) member.rate = -1;
  fill_heap();
  Int128 level = 0;
  while (next_level(level)) {
    for (; next_by_level_ < by_level_.size(); ++next_by_level_) {
      const Member& member = members_[by_level_[next_by_level_]];
      if (member.rate >= 0) continue;
      if (member.level > level) break;
      freeze_flow(member.flow, level);
    }
    for (const ResourceId id : tightest_) {
      resources_[id].level = level;
      for (std::uint32_t hop = resources_[id].first_hop; hop != none; hop = hops_[hop].next)
        if (members_[position_[hops_[hop].flow]].rate < 0) freeze_flow(hops_[hop].flow, level);
    }
  }
}

void FluidNetwork::fill_heap() {
  heap_.clear();
  for (const auto& [id, active] : region_) {
    Resource& resource = resources_[id];
    resource.level = unbound;
    resource.free = Int128{resource.capacity} * micro_per_byte;
    resource.unfrozen = active;
    heap_.push_back({floor_division(resource.free, resource.unfrozen), id});
  }
  const auto later = [](const Level& a, const Level& b) { return a.level > b.level; };
  std::make_heap(heap_.begin(), heap_.end(), later);
  by_level_.resize(members_.size());
  for (std::uint32_t place = 0; place < by_level_.size(); ++place) by_level_[place] = place;
  const auto lower = [this](std::uint32_t a, std::uint32_t b) {
    return members_[a].level < members_[b].level;
  };
  if (!std::is_sorted(by_level_.begin(), by_level_.end(), lower))
    std::sort(by_level_.begin(), by_level_.end(), lower);
  next_by_level_ = 0;
}

// The smallest level of any resource or flow that is not frozen, and in tightest_ the resources
// that have it. Levels only grow while the filling goes on, so the keys in the heap are lower bounds, renewed
// at the top.
bool FluidNetwork::next_level(Int128& level) {
  tightest_.clear();
  while (next_by_level_ < by_level_.size() && members_[by_level_[next_by_level_]].rate >= 0) ++next_by_level_;
  if (next_by_level_ == by_level_.size()) return false;
  level = members_[by_level_[next_by_level_]].level;
  const auto later = [](const Level& a, const Level& b) { return a.level > b.level; };
  while (!heap_.empty() && heap_.front().level <= level) {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    Level& top = heap_.back();
    const Resource& resource = resources_[top.resource];
    if (resource.unfrozen == 0) {
      heap_.pop_back();
      continue;
    }
    const Int128 now = floor_division(resource.free, resource.unfrozen);
    if (now != top.level) {
      top.level = now;
      std::push_heap(heap_.begin(), heap_.end(), later);
      continue;
    }
    level = now;
    tightest_.push_back(top.resource);
    heap_.pop_back();
  }
  return true;
}

void FluidNetwork::freeze_flow(FlowId id, Int128 level) {
  const Flow& flow = flows_[id];
  Member& member = members_[position_[id]];
  member.rate = std::min(member.limit, rate_at(flow, level));
  for (const Hop& hop : hops_of(flow)) {
    Resource& resource = resources_[hop.resource];
    if (resource.mark != settle_number_) continue;
    resource.free -= member.rate * hop.shares;
    resource.unfrozen -= std::int64_t{flow.weight} * hop.shares;
  }
}

// ---------------------------------------------------------------- planning

// Writes work_left as of `now`; the flow goes on at its old rate.
void FluidNetwork::bring_up_to(Flow& flow, Instant now) {
  if (flow.state == State::solo) {
    flow.rate = flow.solo;
    flow.work_left = flow.bytes * work_per_byte;
    flow.state = State::shared;
  }
  flow.work_left -= flow.rate * (now.picoseconds() - flow.since);
  flow.since = now.picoseconds();
}

void FluidNetwork::plan_solo(FlowId id, Instant now, std::vector<Scheduled>& scheduled) {
  Flow& flow = flows_[id];
  flow.state = State::solo;
  flow.since = now.picoseconds();
  const Duration delay = solo_time(flow, flow.bytes);
  if (delay.picoseconds() >= time_end - now.picoseconds()) {
    overflowed_ = overflowed_ || flow.solo > 0;
    return;
  }
  flow.drained_at = now.picoseconds() + delay.picoseconds();
  scheduled.push_back({id, delay});
}

void FluidNetwork::plan(FlowId id, Int128 rate, Instant now, std::vector<Scheduled>& scheduled) {
  Flow& flow = flows_[id];
  if (rate == flow.solo) {
    if (flow.state == State::fresh) return plan_solo(id, now, scheduled);
    if (flow.state == State::solo) return;
  }
  if (flow.state == State::shared && flow.rate == rate && flow.drained_at >= 0) return;
  if (flow.state == State::fresh) {
    flow.state = State::shared;
    flow.work_left = flow.bytes * work_per_byte;
    flow.since = now.picoseconds();
  } else {
    bring_up_to(flow, now);
  }
  flow.rate = rate;
  const Int128 delay = rate == 0 ? Int128{time_end} : ceiling_division(flow.work_left, rate);
  if (delay >= time_end - now.picoseconds()) {
    overflowed_ = overflowed_ || rate > 0;
    flow.drained_at = -1;
    if (flow.drain_place != none) remove_drain(id);
    return;
  }
  flow.drained_at = now.picoseconds() + static_cast<std::int64_t>(delay);
  if (flow.drain_place == none) {
    flow.drain_place = static_cast<std::uint32_t>(drains_.size());
    drains_.push_back(id);
  }
  move_drain(id);
}

bool FluidNetwork::drains_before(FlowId a, FlowId b) const {
  const std::int64_t first = flows_[a].drained_at;
  const std::int64_t second = flows_[b].drained_at;
  return first != second ? first < second : a < b;
}

void FluidNetwork::place_drain(std::uint32_t place, FlowId id) {
  drains_[place] = id;
  flows_[id].drain_place = place;
}

// Restores the heap after the drain time of `id` has changed.
void FluidNetwork::move_drain(FlowId id) {
  std::uint32_t hole = flows_[id].drain_place;
  while (hole > 0 && drains_before(id, drains_[(hole - 1) / 2])) {
    place_drain(hole, drains_[(hole - 1) / 2]);
    hole = (hole - 1) / 2;
  }
  const auto count = static_cast<std::uint32_t>(drains_.size());
  for (std::uint32_t child = 2 * hole + 1; child < count; child = 2 * hole + 1) {
    if (child + 1 < count && drains_before(drains_[child + 1], drains_[child])) ++child;
    if (!drains_before(drains_[child], id)) break;
    place_drain(hole, drains_[child]);
    hole = child;
  }
  place_drain(hole, id);
}

void FluidNetwork::remove_drain(FlowId id) {
  const std::uint32_t place = flows_[id].drain_place;
  flows_[id].drain_place = none;
  const FlowId last = drains_.back();
  drains_.pop_back();
  if (last == id) return;
  place_drain(place, last);
  move_drain(last);
}

std::optional<Instant> FluidNetwork::drain_time(FlowId id) const {
  if (flows_[id].drained_at < 0) return std::nullopt;
  return Instant::picoseconds(flows_[id].drained_at);
}

Int128 FluidNetwork::rate(FlowId id) const {
  const Flow& flow = flows_[id];
  if (flow.state == State::idle || flow.state == State::fresh) return 0;
  return flow.state == State::shared ? flow.rate : flow.solo;
}

}  // namespace collsim
