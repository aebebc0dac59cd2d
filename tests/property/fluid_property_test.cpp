// The fluid network against max-min fairness from its definition (tests/support/max_min.hpp), on random
// networks with weights, classes, limits, and messages that start, drain, move to other flows, and capacities
// that change.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "sim/core/random.hpp"
#include "sim/network/fluid.hpp"
#include "tests/support/max_min.hpp"

using namespace collsim;
using collsim::testing::SharedResources;

namespace {

constexpr std::uint64_t networks = 10'000;
constexpr int instants = 6;

template <typename Item>
void shuffle(std::vector<Item>& items, Random& random) {
  for (std::size_t place = items.size(); place > 1; --place)
    std::swap(items[place - 1], items[random.below(place)]);
}

std::int64_t between(Random& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(high - low + 1)));
}

struct Case {
  SharedResources shared;
  std::vector<char> changes;             // [resource]
  std::vector<std::uint64_t> exclusive;  // [flow]
  bool tiny = false;                     // capacities of a few bytes per second: rounding is seen

  std::size_t flows() const { return shared.routes.size(); }
};

std::int64_t random_capacity(Random& random, bool tiny) {
  if (tiny) return between(random, 1, 50);
  return random.below(2) == 0 ? between(random, 1'000'000'000, 1'000'000'000'000)
                              : between(random, 1, 4) * 25'000'000'000;
}

void add_random_flow(Case& drawn, Random& random, bool classes, bool weighted) {
  SharedResources& shared = drawn.shared;
  std::vector<std::uint32_t> route(shared.capacity.size());
  std::iota(route.begin(), route.end(), 0U);
  shuffle(route, random);
  route.resize(1 + random.below(std::min<std::uint64_t>(5, route.size())));
  std::vector<std::uint32_t> shares;
  for (std::size_t place = 0; place < route.size(); ++place)
    shares.push_back(classes && random.below(3) == 0 ? 1 + static_cast<std::uint32_t>(random.below(5)) : 1);
  const bool limited = random.below(4) == 0;
  const std::int64_t rate_max = drawn.tiny ? between(random, 1, 20) : between(random, 1, 60) * 1'000'000'007;
  constexpr std::uint32_t weights[] = {1, 2, 3, 4, 6, 12};
  shared.routes.push_back(std::move(route));
  shared.shares.push_back(std::move(shares));
  shared.rate_max.push_back(limited ? rate_max : 0);
  shared.weight.push_back(weighted ? weights[random.below(6)] : 1);
  const std::uint64_t flow = drawn.exclusive.size();
  const bool follows = flow % 2 == 1 && random.below(4) == 0;  // never drains together with the one before
  drawn.exclusive.push_back(follows ? flow - 1 : flow);
}

Case random_case(std::uint64_t seed) {
  Random random(seed);
  Case drawn;
  drawn.tiny = seed % 8 == 0;
  const bool classes = random.below(2) == 0;
  const bool weighted = seed % 3 != 0;
  const std::uint64_t resources = 1 + random.below(12);
  const std::uint64_t flows = 1 + random.below(30);
  for (std::uint64_t index = 0; index < resources; ++index) {
    drawn.shared.capacity.push_back(random_capacity(random, drawn.tiny));
    drawn.changes.push_back(random.below(4) == 0);
  }
  for (std::uint64_t index = 0; index < flows; ++index) add_random_flow(drawn, random, classes, weighted);
  return drawn;
}

// What happens at one instant.
struct Changes {
  struct Capacity {
    std::uint32_t resource;
    std::int64_t value;
  };
  struct Start {
    std::size_t flow;
    std::int64_t bytes;
  };
  struct Move {
    std::size_t from;
    std::size_t to;
  };
  std::vector<std::size_t> finishes;
  std::vector<Capacity> capacities;
  std::vector<Start> starts;
  std::vector<Move> moves;  // after the starts: some have started at this instant
};

// The slow side: what is on each flow, integrated with the rates of the definition.
class Reference {
 public:
  explicit Reference(Case drawn) : case_(std::move(drawn)), left_(case_.flows()) {}

  std::int64_t now() const { return now_; }
  bool is_active(std::size_t flow) const { return left_[flow] > 0; }
  const Case& drawn() const { return case_; }
  const std::vector<Int128>& rates() const { return rates_; }
  Int128 left(std::size_t flow) const { return left_[flow]; }
  std::vector<char> active() const {
    std::vector<char> result;
    for (const Int128 left : left_) result.push_back(left > 0);
    return result;
  }
  // May the flow start: it is idle, and nothing with its key drains.
  bool may_start(std::size_t flow) const {
    for (std::size_t other = 0; other < left_.size(); ++other)
      if (case_.exclusive[other] == case_.exclusive[flow] && is_active(other)) return false;
    return true;
  }
  std::optional<std::int64_t> drain_time(std::size_t flow) const {
    if (!is_active(flow) || rates_[flow] == 0) return std::nullopt;
    const Int128 delay = (left_[flow] + rates_[flow] - 1) / rates_[flow];
    if (delay >= (Int128{1} << 62) - now_) return std::nullopt;
    return now_ + static_cast<std::int64_t>(delay);
  }
  std::optional<std::int64_t> next_drain() const {
    std::optional<std::int64_t> next;
    for (std::size_t flow = 0; flow < left_.size(); ++flow)
      if (const auto at = drain_time(flow)) next = std::min(next.value_or(*at), *at);
    return next;
  }
  // Draws what happens at `now`, and does it.
  Changes advance(std::int64_t now, Random& random) {
    Changes changes;
    for (std::size_t flow = 0; flow < left_.size(); ++flow) {
      if (!is_active(flow)) continue;
      left_[flow] -= rates_[flow] * (now - now_);
      if (!is_active(flow)) changes.finishes.push_back(flow);
    }
    now_ = now;
    draw_capacities(changes, random);
    draw_starts(changes, random);
    draw_moves(changes, random);
    rates_ = testing::weighted_integer_rates(case_.shared, active());
    return changes;
  }

 private:
  void draw_capacities(Changes& changes, Random& random) {
    for (std::uint32_t resource = 0; resource < case_.changes.size(); ++resource) {
      if (case_.changes[resource] == 0 || random.below(4) != 0) continue;
      std::int64_t& capacity = case_.shared.capacity[resource];
      capacity = random.below(4) == 0 ? 0 : random_capacity(random, case_.tiny);
      changes.capacities.push_back({resource, capacity});
    }
  }
  void draw_starts(Changes& changes, Random& random) {
    const std::int64_t bytes_max = case_.tiny ? 1000 : 10'000'000;
    for (std::size_t flow = 0; flow < left_.size(); ++flow) {
      if (!may_start(flow) || random.below(2) == 0) continue;
      const std::int64_t bytes = between(random, 1, bytes_max);
      left_[flow] = Int128{bytes} * 1'000'000'000'000'000'000;
      changes.starts.push_back({flow, bytes});
    }
  }
  void draw_moves(Changes& changes, Random& random) {
    for (std::size_t from = 0; from < left_.size(); ++from) {
      if (!is_active(from) || random.below(5) != 0) continue;
      const auto to = static_cast<std::size_t>(random.below(left_.size()));
      const Int128 left = std::exchange(left_[from], 0);
      if (!may_start(to)) {
        left_[from] = left;
        continue;
      }
      left_[to] = left;
      changes.moves.push_back({from, to});
    }
  }

  Case case_;
  std::vector<Int128> left_;  // 10^-18 byte; idle: not above 0
  std::vector<Int128> rates_;
  std::int64_t now_ = 0;
};

// The fluid network of a case, its resources and flows added in some order.
class Fluid {
 public:
  Fluid(const Case& drawn, Random* order)
      : resource_(drawn.shared.capacity.size()), flow_(drawn.flows()), order_(order) {
    std::vector<std::size_t> resources(resource_.size());
    std::iota(resources.begin(), resources.end(), std::size_t{0});
    if (order_ != nullptr) shuffle(resources, *order_);
    for (const std::size_t resource : resources)
      resource_[resource] = network_.add_resource(
          Bandwidth::bytes_per_second(drawn.shared.capacity[resource]), drawn.changes[resource] != 0);
    std::vector<std::uint64_t> keys(drawn.exclusive);
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    if (order_ != nullptr) shuffle(keys, *order_);
    for (const std::uint64_t key : keys)
      for (std::size_t flow = 0; flow < flow_.size(); ++flow)
        if (drawn.exclusive[flow] == key) add_flow(drawn, flow);
    network_.freeze();
  }

  Int128 rate(std::size_t flow) const { return network_.rate(flow_[flow]); }
  std::optional<std::int64_t> drain_time(std::size_t flow) const {
    const auto at = network_.drain_time(flow_[flow]);
    return at ? std::optional(at->picoseconds()) : std::nullopt;
  }

  // Applies the changes of an instant, and solves. Moves are returned as what was left.
  std::vector<Int128> apply(Changes changes, std::int64_t now) {
    if (order_ != nullptr) {
      shuffle(changes.finishes, *order_);
      shuffle(changes.capacities, *order_);
      shuffle(changes.starts, *order_);
    }
    const bool capacities_first = order_ != nullptr && order_->below(2) == 0;
    const Instant instant = Instant::picoseconds(now);
    if (capacities_first) set_capacities(changes, instant);
    for (const std::size_t flow : changes.finishes) {
      REQUIRE(network_.drained(flow_[flow], instant));
      network_.finish(flow_[flow]);
    }
    for (const Changes::Start& start : changes.starts) network_.start(flow_[start.flow], Bytes(start.bytes));
    std::vector<Int128> left;
    for (const Changes::Move& move : changes.moves) {
      left.push_back(network_.abort(flow_[move.from], instant));
      network_.start_rest(flow_[move.to], left.back(), instant);
    }
    if (!capacities_first) set_capacities(changes, instant);
    scheduled_.clear();
    network_.settle(instant, scheduled_);
    return left;
  }

 private:
  void add_flow(const Case& drawn, std::size_t flow) {
    const SharedResources& shared = drawn.shared;
    std::vector<FluidNetwork::Use> route;
    for (std::size_t place = 0; place < shared.routes[flow].size(); ++place)
      route.push_back({resource_[shared.routes[flow][place]], shared.shares_of(flow, place)});
    if (order_ != nullptr) shuffle(route, *order_);
    std::optional<Bandwidth> rate_max;
    if (shared.rate_max[flow] > 0) rate_max = Bandwidth::bytes_per_second(shared.rate_max[flow]);
    flow_[flow] = network_.add_flow(route, rate_max, drawn.exclusive[flow], shared.weight[flow]);
  }
  void set_capacities(const Changes& changes, Instant now) {
    for (const Changes::Capacity& change : changes.capacities)
      network_.set_capacity(resource_[change.resource], Bandwidth::bytes_per_second(change.value), now);
  }

  FluidNetwork network_;
  std::vector<ResourceId> resource_;  // [resource of the case]
  std::vector<FlowId> flow_;          // [flow of the case]
  std::vector<FluidNetwork::Scheduled> scheduled_;
  Random* order_;  // null: as the case has it
};

// Some time before the next drain, or that drain.
std::int64_t next_instant(const Reference& reference, Random& random) {
  const auto next = reference.next_drain();
  if (!next) return reference.now() + between(random, 0, 1'000'000);
  if (random.below(3) != 0) return *next;
  return reference.now() + between(random, 0, *next - reference.now());
}

struct Totals {
  std::int64_t rates = 0;
  std::int64_t moves = 0;
  std::int64_t drains = 0;
  std::int64_t shared = 0;  // flows that did not have their largest rate
};

void check_rates(const Reference& reference, const Fluid& fluid, Totals& totals) {
  const SharedResources& shared = reference.drawn().shared;
  const bool unweighted =
      std::all_of(shared.weight.begin(), shared.weight.end(), [](auto w) { return w == 1; });
  const std::vector<char> active = reference.active();
  const std::vector<long double> real = testing::real_rates(shared, active);
  if (unweighted) REQUIRE((testing::integer_rates(shared, active) == reference.rates()));
  for (std::size_t flow = 0; flow < active.size(); ++flow) {
    CAPTURE(flow);
    const Int128 expected = reference.rates()[flow];
    REQUIRE((fluid.rate(flow) == expected));
    REQUIRE(fluid.drain_time(flow) == reference.drain_time(flow));
    if (active[flow] == 0) continue;
    ++totals.rates;
    totals.shared += shared.rate_max[flow] == 0 || expected < Int128{shared.rate_max[flow]} * 1'000'000;
    if (reference.drawn().tiny || real[flow] == 0) continue;
    REQUIRE(std::abs(static_cast<long double>(expected) / (real[flow] * 1e6L) - 1) < 1e-9L);
  }
}

// No resource carries more than it can.
void check_capacities(const Reference& reference) {
  const SharedResources& shared = reference.drawn().shared;
  std::vector<Int128> load(shared.capacity.size());
  for (std::size_t flow = 0; flow < shared.routes.size(); ++flow)
    for (std::size_t place = 0; place < shared.routes[flow].size(); ++place)
      load[shared.routes[flow][place]] += reference.rates()[flow] * shared.shares_of(flow, place);
  for (std::size_t resource = 0; resource < load.size(); ++resource)
    REQUIRE((load[resource] <= Int128{shared.capacity[resource]} * 1'000'000));
}

}  // namespace

TEST_CASE("The fluid network has the rates, drains and rests of max-min fairness on random networks") {
  Totals totals;
  for (std::uint64_t seed = 0; seed < networks; ++seed) {
    CAPTURE(seed);
    Random random(mix64(seed));
    Reference reference(random_case(seed));
    Fluid fluid(reference.drawn(), nullptr);
    for (int instant = 0; instant < instants; ++instant) {
      CAPTURE(instant);
      const Changes changes = reference.advance(next_instant(reference, random), random);
      const std::vector<Int128> left = fluid.apply(changes, reference.now());
      for (std::size_t move = 0; move < left.size(); ++move) {
        const bool moved_again =
            std::count_if(changes.moves.begin(), changes.moves.end(), [&](const auto& other) {
              return other.to == changes.moves[move].to || other.from == changes.moves[move].to;
            }) > 1;
        if (!moved_again) REQUIRE((left[move] == reference.left(changes.moves[move].to)));
      }
      check_rates(reference, fluid, totals);
      check_capacities(reference);
      totals.moves += static_cast<std::int64_t>(left.size());
      totals.drains += static_cast<std::int64_t>(changes.finishes.size());
    }
  }
  // The cases are worth something.
  CHECK(totals.rates > 100'000);
  CHECK(totals.shared > 50'000);
  CHECK(totals.moves > 10'000);
  CHECK(totals.drains > 10'000);
}

TEST_CASE(
    "The fluid network does not depend on the order of resources, flows, routes and changes of an instant") {
  for (std::uint64_t seed = 0; seed < networks / 4; ++seed) {
    CAPTURE(seed);
    Random random(mix64(seed));
    Random order(mix64(~seed));
    Reference reference(random_case(seed));
    Fluid plain(reference.drawn(), nullptr);
    Fluid shuffled(reference.drawn(), &order);
    for (int instant = 0; instant < 2 * instants; ++instant) {
      CAPTURE(instant);
      const Changes changes = reference.advance(next_instant(reference, random), random);
      REQUIRE((plain.apply(changes, reference.now()) == shuffled.apply(changes, reference.now())));
      for (std::size_t flow = 0; flow < reference.drawn().flows(); ++flow) {
        CAPTURE(flow);
        REQUIRE((plain.rate(flow) == shuffled.rate(flow)));
        REQUIRE(plain.drain_time(flow) == shuffled.drain_time(flow));
      }
    }
  }
}
