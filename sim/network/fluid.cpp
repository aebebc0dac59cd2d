#include "sim/network/fluid.hpp"

#include <algorithm>
#include <limits>

#include "sim/core/check.hpp"

namespace collsim {
namespace {

constexpr std::int64_t micro = 1'000'000;                        // microbytes in a byte
constexpr std::int64_t time_end = std::int64_t{1} << 62;         // ps; about 53 days
constexpr std::uint32_t exact_flows_max = 1'000'000;             // see Limits in the header
const Int128 work_per_byte = Int128{1'000'000'000'000} * micro;  // 10^18

Int128 ceiling_division(Int128 value, Int128 divisor) {
  if (value <= std::numeric_limits<std::int64_t>::max() / 2 &&
      divisor <= std::numeric_limits<std::int64_t>::max() / 2) {
    const auto small = static_cast<std::int64_t>(value);
    const auto by = static_cast<std::int64_t>(divisor);
    return (small + by - 1) / by;
  }
  return (value + divisor - 1) / divisor;
}

Int128 floor_division(Int128 value, std::uint32_t divisor) {
  if (value <= std::numeric_limits<std::int64_t>::max()) return static_cast<std::int64_t>(value) / divisor;
  return value / divisor;
}

}  // namespace

// ---------------------------------------------------------------- construction

void FluidNetwork::reserve(std::size_t resources, std::size_t flows, std::size_t uses) {
  resources_.reserve(resources);
  flows_.reserve(flows);
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
                              std::uint64_t exclusive) {
  COLLSIM_CHECK(!frozen_ && (!route.empty() || rate_max.has_value()));
  const auto id = static_cast<FlowId>(flows_.size());
  Flow flow;
  flow.fixed_rate = rate_max ? rate_max->bytes_per_second() : std::numeric_limits<std::int64_t>::max();
  flow.route_begin = static_cast<std::uint32_t>(hops_.size());
  flow.route_size = static_cast<std::uint32_t>(route.size());
  for (const Use& use : route) hops_.push_back(Hop{use.weight, use.resource, id, none, none});
  flows_.push_back(flow);
  exclusive_.push_back(exclusive);
  return id;
}

void FluidNetwork::freeze() {
  COLLSIM_CHECK(!frozen_);
  std::vector<char> slack(resources_.size());
  find_slack(slack);
  drop(slack);
  for (Flow& flow : flows_) flow.solo = solo_of(flow);
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
    std::uint32_t flows = 0;
  };
  std::vector<Load> loads(resources_.size());
  for (std::size_t id = 0; id < flows_.size(); ++id) {
    const Flow& flow = flows_[id];
    const std::span<const Hop> hops(hops_.data() + flow.route_begin, flow.route_size);
    std::int64_t fastest = flow.fixed_rate;
    for (const Hop& hop : hops)
      if (!resources_[hop.resource].changes) fastest = std::min(fastest, resources_[hop.resource].capacity);
    for (const Hop& hop : hops) {
      Load& load = loads[hop.resource];
      if (load.flows == 0 || load.key != exclusive_[id]) load.largest = 0;
      load.key = exclusive_[id];
      const Int128 together = Int128{hop.weight} * fastest;
      load.sum += std::max<Int128>(0, together - load.largest);
      load.largest = std::max(load.largest, together);
      load.flows += hop.weight;
    }
  }
  for (std::size_t id = 0; id < resources_.size(); ++id)
    slack[id] = !resources_[id].changes && loads[id].sum <= resources_[id].capacity &&
                loads[id].flows < exact_flows_max;
}

// Takes slack resources out of all routes, keeping their capacities as bounds of the flows.
void FluidNetwork::drop(const std::vector<char>& slack) {
  std::uint32_t kept = 0;
  for (Flow& flow : flows_) {
    const std::uint32_t begin = kept;
    for (std::uint32_t hop = flow.route_begin; hop < flow.route_begin + flow.route_size; ++hop) {
      const ResourceId resource = hops_[hop].resource;
      if (slack[resource])
        flow.fixed_rate = std::min(flow.fixed_rate, resources_[resource].capacity);
      else
        hops_[kept++] = hops_[hop];
    }
    flow.route_begin = begin;
    flow.route_size = kept - begin;
  }
  hops_.resize(kept);
}

std::int64_t FluidNetwork::solo_of(const Flow& flow) const {
  std::int64_t solo = flow.fixed_rate;
  for (std::uint32_t hop = flow.route_begin; hop < flow.route_begin + flow.route_size; ++hop)
    solo = std::min(solo, resources_[hops_[hop].resource].capacity);
  return solo;
}

Duration FluidNetwork::time_at(std::int64_t bytes_per_second, Bytes size) {
  constexpr std::int64_t small_max = 4'000'000;  // small_max * 10^12 + a rate stays below 2^63
  if (size.count() <= small_max && bytes_per_second < (std::int64_t{1} << 62) && bytes_per_second > 0) {
    const std::int64_t work = size.count() * picoseconds_per_second;
    const std::int64_t whole = work / bytes_per_second;
    return Duration::picoseconds(whole + (whole * bytes_per_second != work));
  }
  if (bytes_per_second == 0) return Duration::picoseconds(time_end);
  const Int128 time = ceiling_division(Int128{size.count()} * picoseconds_per_second, bytes_per_second);
  return Duration::picoseconds(static_cast<std::int64_t>(std::min<Int128>(time, time_end)));
}

// ---------------------------------------------------------------- changes of an instant

bool FluidNetwork::binds(const Resource& resource) {
  return resource.solo_sum > resource.capacity || resource.active >= exact_flows_max;
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
  resource.active += hop.weight;
  resource.solo_sum += Int128{flows_[hop.flow].solo} * hop.weight;
  touch(hop.resource);
}

void FluidNetwork::unlink(std::uint32_t index) {
  const Hop& hop = hops_[index];
  Resource& resource = resources_[hop.resource];
  if (hop.next != none) hops_[hop.next].previous = hop.previous;
  (hop.previous != none ? hops_[hop.previous].next : resource.first_hop) = hop.next;
  resource.active -= hop.weight;
  resource.solo_sum -= Int128{flows_[hop.flow].solo} * hop.weight;
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
  COLLSIM_DCHECK(flow.state == State::solo || flow.state == State::shared);
  for (std::uint32_t hop = flow.route_begin; hop < flow.route_begin + flow.route_size; ++hop) unlink(hop);
  if (flow.drain_place != none) remove_drain(id);
  flow.state = State::idle;
  flow.drained_at = -1;
}

void FluidNetwork::set_capacity(ResourceId resource, Bandwidth capacity, Instant now) {
  COLLSIM_CHECK(resources_[resource].changes && capacity.bytes_per_second() >= 0);
  resources_[resource].capacity = capacity.bytes_per_second();
  for (const Hop& hop : hops_)
    if (hop.resource == resource) set_solo(flows_[hop.flow], solo_of(flows_[hop.flow]), now);
  touch(resource);
}

// A new solo rate. An active flow is planned again by the next settle(), whether it meets others or not.
void FluidNetwork::set_solo(Flow& flow, std::int64_t solo, Instant now) {
  const std::int64_t change = solo - flow.solo;
  const bool running = flow.state == State::solo || flow.state == State::shared;
  if (running) bring_up_to(flow, now);
  flow.solo = solo;
  if (flow.state == State::idle) return;
  for (const Hop& hop : hops_of(flow)) {
    resources_[hop.resource].solo_sum += Int128{change} * hop.weight;
    touch(hop.resource);
  }
  if (running) fresh_.push_back(static_cast<FlowId>(&flow - flows_.data()));
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
      plan(id, Int128{flow.solo} * micro, now, scheduled);
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
      if (rate(hops_[hop].flow) == level) release(hops_[hop].flow);
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
  region_.push_back(id);
  for (std::uint32_t hop = resource.first_hop; hop != none; hop = hops_[hop].next) hold(hops_[hop].flow);
}

void FluidNetwork::hold(FlowId id) {
  Flow& flow = flows_[id];
  if (flow.mark == settle_number_) return;
  flow.mark = settle_number_;
  position_[id] = static_cast<std::uint32_t>(members_.size());
  members_.push_back({id, false, rate(id), -1});
}

// Makes a flow free, with all contended resources on its route.
void FluidNetwork::release(FlowId id) {
  hold(id);
  Member& member = members_[position_[id]];
  if (member.free) return;
  member.free = true;
  member.limit = Int128{flows_[id].solo} * micro;
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
  if (member.rate == Int128{flow.solo} * micro) return false;
  for (std::uint32_t hop = flow.route_begin; hop < flow.route_begin + flow.route_size; ++hop)
    if (resources_[hops_[hop].resource].level == member.rate) return false;
  return true;
}

// Progressive filling of the region. A flow's limit acts as a resource of its own.
void FluidNetwork::fill() {
  for (Member& member : members_) member.rate = -1;
  fill_heap();
  Int128 share = 0;
  while (next_share(share)) {
    for (; next_by_limit_ < by_limit_.size(); ++next_by_limit_) {
      const Member& member = members_[by_limit_[next_by_limit_]];
      if (member.rate >= 0) continue;
      if (member.limit > share) break;
      freeze_flow(member.flow, share);
    }
    for (const ResourceId id : tightest_) {
      resources_[id].level = share;
      for (std::uint32_t hop = resources_[id].first_hop; hop != none; hop = hops_[hop].next)
        if (members_[position_[hops_[hop].flow]].rate < 0) freeze_flow(hops_[hop].flow, share);
    }
  }
}

void FluidNetwork::fill_heap() {
  heap_.clear();
  for (const ResourceId id : region_) {
    Resource& resource = resources_[id];
    resource.level = unbound;
    resource.free = Int128{resource.capacity} * micro;
    resource.unfrozen = resource.active;
    heap_.push_back({floor_division(resource.free, resource.unfrozen), id});
  }
  const auto later = [](const Share& a, const Share& b) { return a.share > b.share; };
  std::make_heap(heap_.begin(), heap_.end(), later);
  by_limit_.resize(members_.size());
  for (std::uint32_t place = 0; place < by_limit_.size(); ++place) by_limit_[place] = place;
  const auto slower = [this](std::uint32_t a, std::uint32_t b) {
    return members_[a].limit < members_[b].limit;
  };
  if (!std::is_sorted(by_limit_.begin(), by_limit_.end(), slower))
    std::sort(by_limit_.begin(), by_limit_.end(), slower);
  next_by_limit_ = 0;
}

// The smallest share of any resource or limit of any flow that is not frozen, and in tightest_ the resources
// that have it. Shares only grow while the filling goes on, so the keys in the heap are lower bounds, renewed
// at the top.
bool FluidNetwork::next_share(Int128& share) {
  tightest_.clear();
  while (next_by_limit_ < by_limit_.size() && members_[by_limit_[next_by_limit_]].rate >= 0) ++next_by_limit_;
  if (next_by_limit_ == by_limit_.size()) return false;
  share = members_[by_limit_[next_by_limit_]].limit;
  const auto later = [](const Share& a, const Share& b) { return a.share > b.share; };
  while (!heap_.empty() && heap_.front().share <= share) {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    Share& top = heap_.back();
    const Resource& resource = resources_[top.resource];
    if (resource.unfrozen == 0) {
      heap_.pop_back();
      continue;
    }
    const Int128 now = floor_division(resource.free, resource.unfrozen);
    if (now != top.share) {
      top.share = now;
      std::push_heap(heap_.begin(), heap_.end(), later);
      continue;
    }
    share = now;
    tightest_.push_back(top.resource);
    heap_.pop_back();
  }
  return true;
}

void FluidNetwork::freeze_flow(FlowId id, Int128 share) {
  members_[position_[id]].rate = share;
  for (const Hop& hop : hops_of(flows_[id])) {
    Resource& resource = resources_[hop.resource];
    if (resource.mark != settle_number_) continue;
    resource.free -= share * hop.weight;
    resource.unfrozen -= hop.weight;
  }
}

// ---------------------------------------------------------------- planning

// Writes work_left as of `now`; the flow goes on at its old rate.
void FluidNetwork::bring_up_to(Flow& flow, Instant now) {
  if (flow.state == State::solo) {
    flow.rate = Int128{flow.solo} * micro;
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
  const Duration delay = time_at(flow.solo, Bytes(flow.bytes));
  if (delay.picoseconds() >= time_end - now.picoseconds()) {
    overflowed_ = overflowed_ || flow.solo > 0;
    return;
  }
  flow.drained_at = now.picoseconds() + delay.picoseconds();
  scheduled.push_back({id, delay});
}

void FluidNetwork::plan(FlowId id, Int128 rate, Instant now, std::vector<Scheduled>& scheduled) {
  Flow& flow = flows_[id];
  if (rate == Int128{flow.solo} * micro) {
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
  return flow.state == State::shared ? flow.rate : Int128{flow.solo} * micro;
}

}  // namespace collsim
