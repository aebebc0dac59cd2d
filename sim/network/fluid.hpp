// FluidNetwork: draining messages share resources max-min fairly.
//
// A resource is anything with a capacity: a link, the reduction unit of a GPU. A flow is a reusable slot with
// a fixed route over resources; at most one message drains through it at a time. Rates change only when a
// message starts, when one has drained or when a capacity changes; all changes of an instant are applied
// first, then settle() solves once.
//
// Rates are integers in microbytes per second: the tightest resource gives floor(free / unfrozen flows) to
// each of its unfrozen flows, and all resources with that same share freeze together (progressive filling;
// Bertsekas and Gallager, Data Networks, section 6.5.2). Work left is bytes * 10^18 minus rate * picoseconds,
// in 128 bits; a message has drained at the first picosecond with nothing left. No floating point: the result
// does not depend on order or compiler.
//
// Classes. A flow may stand for a class of flows that always drain alike; `shares` of a use is how many of
// them are on that resource. The flow has the rate of one of them, the resource carries shares * rate. A
// message spread over k equal parts is such a class, with k shares of what all parts cross.
//
// Weights. Where it is bound, a flow of weight w gets w times what a flow of weight 1 gets there. In full:
//   - The solo rate of a flow is the smallest of rate_max and floor(capacity / shares) on its route.
//   - A resource that can carry the solo rates of all its flows, sum(shares * solo) <= capacity, is slack: it
//     binds nobody, and connects nobody. (With weights of 1 that follows from the rest. With others it keeps
//     a flow that is alone at exactly its solo rate.)
//   - Any other resource has the level floor(free / sum(weight * shares)), the sum over its unfrozen flows; a
//     flow has the level ceil(solo / weight). The smallest level freezes: the flows that have it, and all
//     flows of the resources that have it, get min(solo, weight * level).
//
// Only what an event touches is solved again:
//   - A flow that meets only slack resources drains at its solo rate and disturbs no other flow.
//   - freeze() drops the resources that are slack whatever drains (sum over exclusive keys of the largest
//     solo rate <= capacity) from all routes.
//   - Elsewhere the connected component of contended resources and their flows is solved.
//
// Complexity  start, finish and abort O(route); settle O(component * log(component)), O(1) a flow where
//             nothing is contended; set_capacity O(all routes). Memory O(sum of routes). Nothing is allocated
//             after freeze() but the growth of work lists.
// Limits      The sum of weight * shares on a resource stays below 2^63.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/core/units.hpp"

namespace collsim {

using ResourceId = std::uint32_t;
using FlowId = std::uint32_t;

class FluidNetwork {
 public:
  struct Use {
    ResourceId resource;
    std::uint32_t weight = 1;  // shares, at least 1
  };
  // Of a message, in 10^-18 byte.
  using Work = Int128;
  // A flow that will have drained `delay` from now if it stays alone; the caller's queue holds it until then.
  struct Scheduled {
    FlowId flow;
    Duration delay;
  };

  // Room for so many, to save time.
  void reserve(std::size_t resources, std::size_t flows, std::size_t uses);
  // `changes`: its capacity may be set later. REQUIRES: capacity > 0
  ResourceId add_resource(Bandwidth capacity, bool changes = false);
  // Flows with equal `exclusive` never drain at once and must be added one after the other. A resource occurs
  // at most once in a route. REQUIRES: the route is not empty or rate_max is given; weight > 0
  FlowId add_flow(std::span<const Use> route, std::optional<Bandwidth> rate_max, std::uint64_t exclusive,
                  std::uint32_t weight = 1);
  // No resources or flows after this.
  void freeze();

  // Whether freeze() found that no resource can ever be contended: every flow always drains at its solo rate.
  bool static_rates() const { return hops_.empty(); }
  // Time to drain `size` with nobody else there.
  Duration alone(FlowId flow, Bytes size) const { return solo_time(flows_[flow], size.count()); }
  static Work work_of(Bytes size);

  // REQUIRES: the flow is idle, size > 0
  void start(FlowId flow, Bytes size);
  // Whether the flow's message has drained at `now`; false for a schedule that was overtaken.
  bool drained(FlowId flow, Instant now) const { return flows_[flow].drained_at == now.picoseconds(); }
  // The flow becomes idle. REQUIRES: drained(flow, now)
  void finish(FlowId flow);
  // Takes the message off the flow, which becomes idle; what is left of it, more than 0, may go on elsewhere.
  // REQUIRES: a message is on the flow (it may have started at this instant) and not drained(flow, now)
  Work abort(FlowId flow, Instant now);
  // start() for what abort() left. The drain is always kept here, never scheduled.
  // REQUIRES: the flow is idle, left > 0
  void start_rest(FlowId flow, Work left, Instant now);
  // REQUIRES: the resource was added with `changes`
  void set_capacity(ResourceId resource, Bandwidth capacity, Instant now);

  // Solves after the changes of this instant. Flows that have just started alone are appended to `scheduled`;
  // the drains of flows whose rate changes as others come and go are kept here, one entry a flow.
  void settle(Instant now, std::vector<Scheduled>& scheduled);
  // The earliest drain that is kept here, and whose it is.
  bool has_drain() const { return !drains_.empty(); }
  Instant next_drain() const { return Instant::picoseconds(flows_[drains_.front()].drained_at); }
  FlowId next_drained() const { return drains_.front(); }
  // When the flow's message will have drained as things stand; nothing if never, or if it is idle.
  std::optional<Instant> drain_time(FlowId flow) const;
  // Whether a message would drain after the end of simulated time (2^62 ps); it is then never scheduled.
  bool overflowed() const { return overflowed_; }

  // Rate of a flow after settle(), in microbytes per second; 0 if idle. For tests.
  Int128 rate(FlowId flow) const;
  // Solves of a component and flows in them, for --timing.
  std::int64_t solves() const { return solves_; }
  std::int64_t flows_solved() const { return flows_solved_; }

 private:
  static constexpr Int128 unbound = -1;
  static constexpr std::uint32_t none = 0xffffffffU;

  // A largest rate: `rate` bytes/s divided by `shares`, rounded down to microbytes/s.
  struct Bound {
    std::int64_t rate = 0;
    std::uint32_t shares = 1;
    Int128 micro() const;
    bool is_below(const Bound& other) const;
  };
  // State shared with a rate of 0 and no drain planned: may be the rest of a message that has just started.
  enum class State : std::uint8_t { idle, fresh, solo, shared };
  struct Flow {
    union {
      Work work_left = 0;  // state shared: at `since`
      std::int64_t bytes;  // states fresh, solo: of the message
    };
    Int128 rate = 0;                // state shared
    Int128 solo = 0;                // microbytes/s
    std::int64_t whole_solo = 0;    // `solo` in bytes/s where that is a whole number; else -1
    std::int64_t since = 0;         // ps: state solo: start; state shared: last change of rate
    std::int64_t drained_at = -1;   // ps, or -1
    std::uint32_t route_begin = 0;  // into hops_
    std::uint32_t route_size = 0;
    std::uint32_t mark = 0;            // settle number in which it was visited
    std::uint32_t drain_place = none;  // in drains_
    std::uint32_t weight = 1;
    State state = State::idle;
  };
  struct Resource {
    Int128 solo_sum = 0;             // of active flows by shares, microbytes/s
    Int128 free = 0;                 // while solving, microbytes/s
    std::int64_t capacity = 0;       // bytes/s
    std::int64_t unfrozen = 0;       // while solving: sum of weight * shares of the flows not frozen
    std::uint32_t first_hop = none;  // list of active hops
    std::uint32_t mark = 0;          // settle number in which it was visited
    bool changes = false;
    bool dirty = false;      // in dirty_
    bool contended = false;  // at the last settle that looked at it
    Int128 level = unbound;  // at which it froze in the last solve that held it, or unbound
  };
  struct Hop {
    std::uint32_t shares;
    ResourceId resource;
    FlowId flow;
    std::uint32_t next = none;  // active hops of the same resource
    std::uint32_t previous = none;
  };
  struct Level {
    Int128 level;
    ResourceId resource;
  };
  // A resource of the region that is being solved.
  struct Contended {
    ResourceId resource;
    std::int64_t active;  // sum of weight * shares of its active flows
  };
  // A flow of that region.
  struct Member {
    FlowId flow;
    bool free;     // to be solved; else held at its present rate unless that is contradicted
    Int128 limit;  // its solo rate, or the present rate of a held flow
    Int128 level;  // ceil(limit / weight)
    Int128 rate;   // solved; -1 while unfrozen
  };
  static constexpr int growths_max = 8;

  static Duration solo_time(const Flow& flow, std::int64_t bytes);
  static Int128 level_of(const Flow& flow, Int128 limit);
  // Where a resource binds it.
  static Int128 rate_at(const Flow& flow, Int128 level) {
    return flow.weight == 1 ? level : level * flow.weight;
  }
  static bool binds(const Resource& resource);
  std::span<Hop> hops_of(const Flow& flow) { return {hops_.data() + flow.route_begin, flow.route_size}; }
  void find_slack(std::vector<char>& slack) const;
  void drop(const std::vector<char>& slack);
  void link(std::uint32_t hop);
  void unlink(std::uint32_t hop);
  void touch(ResourceId resource);
  static void write_solo(Flow& flow, const Bound& solo);
  void change_solo(FlowId id, Instant now);
  Bound solo_of(FlowId id) const;
  void bring_up_to(Flow& flow, Instant now);
  void plan(FlowId id, Int128 rate, Instant now, std::vector<Scheduled>& scheduled);
  bool drains_before(FlowId a, FlowId b) const;
  void place_drain(std::uint32_t place, FlowId id);
  void move_drain(FlowId id);
  void remove_drain(FlowId id);
  void plan_solo(FlowId id, Instant now, std::vector<Scheduled>& scheduled);
  void solve(Instant now, std::vector<Scheduled>& scheduled);
  void begin_region();
  void enter(ResourceId id);
  void hold(FlowId id);
  void release(FlowId id);
  bool grow();
  bool contradicted(const Member& member) const;
  void fill();
  void fill_heap();
  bool next_level(Int128& level);
  void freeze_flow(FlowId id, Int128 level);

  std::vector<Resource> resources_;
  std::vector<Flow> flows_;
  std::vector<Hop> hops_;
  std::vector<Bound> fixed_;              // [flow]: rate_max and the capacities of dropped resources
  std::vector<std::uint64_t> exclusive_;  // [flow], until freeze()
  std::vector<FlowId> fresh_;             // started since the last settle
  std::vector<ResourceId> dirty_;         // contended resources touched since the last settle
  std::vector<Contended> region_;         // while solving
  std::vector<Member> members_;           // while solving: flows of the region's resources
  std::vector<std::uint32_t> position_;   // [flow]: its place in members_
  std::vector<FlowId>
      drains_;  // binary heap by drain time, then flow: the flows in state shared that will drain
  std::vector<Level> heap_;
  std::vector<ResourceId> tightest_;
  std::vector<std::uint32_t> by_level_;  // places in members_, by increasing level
  std::size_t next_by_level_ = 0;
  std::uint32_t settle_number_ = 0;
  bool frozen_ = false;
  bool overflowed_ = false;
  std::int64_t solves_ = 0;
  std::int64_t flows_solved_ = 0;
};

}  // namespace collsim
