// What is issued to CUDA streams, without a device: every order in which streams may get on keeps
// predecessors first; few streams, events, waits and launches; areas and guards.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "kernels/backend.hpp"
#include "kernels/cuda_areas.hpp"
#include "kernels/cuda_issue.hpp"
#include "tests/kernels/random_plans.hpp"

using namespace collsim;
using namespace collsim::kernels;
using collsim::kernels::testing::random_plan;
using collsim::kernels::testing::RandomPlanShape;

namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

std::vector<int> evenly(std::int32_t ranks, int devices) {
  std::vector<int> device_of;
  for (std::int32_t rank = 0; rank < ranks; ++rank)
    device_of.push_back(static_cast<int>(std::int64_t{rank} * devices / ranks));
  return device_of;
}

IssueOptions options_for(const Plan& plan, int devices = 1,
                         std::int32_t streams = streams_per_device_default) {
  IssueOptions options;
  options.device_of = evenly(plan.ranks, devices);
  options.streams_per_device = streams;
  return options;
}

// [task]: tasks with work that must be done before it, through those without.
std::vector<std::set<std::int32_t>> work_before(const Plan& plan) {
  std::vector<std::set<std::int32_t>> before(plan.tasks.size());
  for (std::size_t i = 0; i < plan.tasks.size(); ++i)
    for (const std::int32_t task : plan.predecessors_of(plan.tasks[i])) {
      if (plan.tasks[at(task)].kind != TaskKind::nothing)
        before[i].insert(task);
      else
        before[i].insert(before[at(task)].begin(), before[at(task)].end());
    }
  return before;
}

// What is wrong with an issue for any speed of its streams, or nothing: happens-before by vector clocks.
std::string fault_of(const Plan& plan, const Issue& issue) {
  using Clock = std::vector<std::int64_t>;
  const std::size_t streams = issue.stream_device.size();
  const std::vector<std::set<std::int32_t>> before = work_before(plan);
  std::vector<Clock> clock(streams, Clock(streams, 0));
  std::vector<std::optional<Clock>> recorded(issue.event_device.size());
  std::vector<std::pair<std::int32_t, std::int64_t>> done(plan.tasks.size(), {-1, 0});
  for (const Command& command : issue.commands) {
    Clock& mine = clock[at(command.stream)];
    if (command.kind == CommandKind::wait) {
      if (!recorded[at(command.event)]) return "a wait for an event that was not recorded";
      const Clock& other = *recorded[at(command.event)];
      for (std::size_t i = 0; i < streams; ++i) mine[i] = std::max(mine[i], other[i]);
    }
    if (command.stream != 0 && mine[0] == 0) return "a stream begins before the origin";
    for (const std::int32_t task : issue.tasks_of(command))
      for (const std::int32_t earlier : before[at(task)])
        if (done[at(earlier)].first < 0 || mine[at(done[at(earlier)].first)] < done[at(earlier)].second)
          return "task " + std::to_string(task) + " may come before " + std::to_string(earlier);
    ++mine[at(command.stream)];
    for (const std::int32_t task : issue.tasks_of(command)) {
      if (done[at(task)].first >= 0) return "a task is issued twice";
      done[at(task)] = {command.stream, mine[at(command.stream)]};
    }
    if (command.kind != CommandKind::record) continue;
    if (issue.event_device[at(command.event)] != issue.stream_device[at(command.stream)])
      return "an event is recorded on another device";
    recorded[at(command.event)] = mine;
  }
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    const bool has_work = plan.tasks[i].kind != TaskKind::nothing;
    if (has_work != (done[i].first >= 0)) return "task " + std::to_string(i) + " is left out, or has no work";
    if (has_work && clock[0][at(done[i].first)] < done[i].second) return "the origin ends too early";
  }
  return "";
}

// Runs the commands with streams that get on at different speeds, and returns the order of tasks. `choose`
// picks one of the streams that can go on.
template <class Choose>
std::vector<std::int32_t> order_with(const Issue& issue, Choose choose) {
  std::vector<std::int64_t> record_of(issue.commands.size(), -1);  // of waits: the command that it means
  std::map<std::int32_t, std::int64_t> last_record;
  std::vector<std::vector<std::size_t>> queue(issue.stream_device.size());
  for (std::size_t i = 0; i < issue.commands.size(); ++i) {
    const Command& command = issue.commands[i];
    if (command.kind == CommandKind::record) last_record[command.event] = static_cast<std::int64_t>(i);
    if (command.kind == CommandKind::wait) record_of[i] = last_record.at(command.event);
    queue[at(command.stream)].push_back(i);
  }
  std::vector<char> is_done(issue.commands.size(), 0);
  std::vector<std::size_t> next(queue.size(), 0);
  std::vector<std::int32_t> order;
  for (std::size_t count = 0; count < issue.commands.size(); ++count) {
    std::vector<std::int32_t> ready;
    for (std::size_t stream = 0; stream < queue.size(); ++stream) {
      if (next[stream] == queue[stream].size()) continue;
      const std::int64_t record = record_of[queue[stream][next[stream]]];
      if (record < 0 || is_done[static_cast<std::size_t>(record)] != 0)
        ready.push_back(static_cast<std::int32_t>(stream));
    }
    REQUIRE_FALSE(ready.empty());
    const std::size_t stream = at(choose(ready));
    const std::size_t command = queue[stream][next[stream]++];
    is_done[command] = 1;
    const std::span<const std::int32_t> tasks = issue.tasks_of(issue.commands[command]);
    order.insert(order.end(), tasks.rbegin(), tasks.rend());
  }
  return order;
}

bool is_topological(const Plan& plan, const std::vector<std::int32_t>& order) {
  const std::vector<std::set<std::int32_t>> before = work_before(plan);
  std::vector<char> is_done(plan.tasks.size(), 0);
  for (const std::int32_t task : order) {
    for (const std::int32_t earlier : before[at(task)])
      if (is_done[at(earlier)] == 0) return false;
    is_done[at(task)] = 1;
  }
  return true;
}

// Orders in which one stream always goes first, or last, and random ones.
bool every_order_is_topological(const Plan& plan, const Issue& issue, std::uint64_t seed) {
  bool all = true;
  for (std::int32_t stream = 0; stream < static_cast<std::int32_t>(issue.stream_device.size()); ++stream) {
    const auto first = [&](const std::vector<std::int32_t>& ready) {
      return std::find(ready.begin(), ready.end(), stream) != ready.end() ? stream : ready.back();
    };
    const auto last = [&](const std::vector<std::int32_t>& ready) {
      return ready.front() != stream || ready.size() == 1 ? ready.front() : ready[1];
    };
    all = all && is_topological(plan, order_with(issue, first)) &&
          is_topological(plan, order_with(issue, last));
  }
  Random random(seed);
  for (int i = 0; i < 10; ++i) {
    const auto any = [&](const std::vector<std::int32_t>& ready) {
      return ready[random.below(ready.size())];
    };
    all = all && is_topological(plan, order_with(issue, any));
  }
  return all;
}

std::int64_t count_of(const Issue& issue, CommandKind kind) {
  return std::count_if(issue.commands.begin(), issue.commands.end(),
                       [kind](const Command& command) { return command.kind == kind; });
}

// One area of 64 bytes a rank; tasks copy 8 bytes inside it, or from one rank to another.
struct PlanByHand {
  Plan plan;
  explicit PlanByHand(std::int32_t ranks) {
    plan.ranks = ranks;
    for (Rank rank = 0; rank < ranks; ++rank) plan.areas.push_back({AreaKind::output, rank, 64});
  }
  std::int32_t add(Task task, const std::vector<std::int32_t>& before) {
    task.first_predecessor = static_cast<std::int32_t>(plan.predecessors.size());
    task.predecessor_count = static_cast<std::int32_t>(before.size());
    plan.predecessors.insert(plan.predecessors.end(), before.begin(), before.end());
    plan.tasks.push_back(task);
    return static_cast<std::int32_t>(plan.tasks.size()) - 1;
  }
  std::int32_t work(Rank rank, std::int32_t stream, const std::vector<std::int32_t>& before,
                    std::vector<Rank> ranks = {}, std::uint8_t sources = 1) {
    if (ranks.empty()) ranks = {rank, rank};
    Task task;
    task.kind = TaskKind::combine;
    task.rank = rank;
    task.stream = stream;
    task.sources = sources;
    task.destinations = static_cast<std::uint8_t>(ranks.size() - sources);
    task.bytes = 8;
    task.first_place = static_cast<std::int32_t>(plan.places.size());
    for (const Rank place : ranks) plan.places.push_back({place, 8 * (std::ssize(plan.places) % 8)});
    return add(task, before);
  }
  std::int32_t nothing(Rank rank, std::int32_t stream, const std::vector<std::int32_t>& before) {
    Task task;
    task.rank = rank;
    task.stream = stream;
    return add(task, before);
  }
  std::int32_t divide(Rank rank, const std::vector<std::int32_t>& before) {
    Task task;
    task.kind = TaskKind::divide;
    task.rank = rank;
    task.bytes = 8;
    task.first_place = static_cast<std::int32_t>(plan.places.size());
    plan.places.push_back({rank, 0});
    return add(task, before);
  }
};

}  // namespace

TEST_CASE("Random plans keep their order on streams of any speed") {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    Random random(seed);
    RandomPlanShape shape;
    shape.ranks = 1 + static_cast<std::int32_t>(random.below(6));
    shape.streams = 1 + static_cast<std::int32_t>(random.below(5));
    shape.tasks = static_cast<std::int32_t>(random.below(80));
    const Plan plan = random_plan(shape, Datatype::int32, ReductionOp::sum, seed);
    const int devices = 1 + static_cast<int>(random.below(3));
    const std::int32_t limits[] = {1, 2, 3, 32};
    const std::int32_t limit = limits[random.below(4)];
    CAPTURE(seed);
    const Issue issue = issue_of(plan, options_for(plan, devices, limit));
    CHECK(fault_of(plan, issue) == "");
    CHECK(every_order_is_topological(plan, issue, seed));
    CHECK(issue.stream_device.size() <= at(devices * limit + 1));
  }
}

TEST_CASE("Every wait between tasks is needed where no task without work collects") {
  std::int64_t waits = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    RandomPlanShape shape;
    shape.nothing_percent = 0;
    shape.barrier_percent = 0;
    const Plan plan = random_plan(shape, Datatype::int32, ReductionOp::sum, seed);
    const Issue issue = issue_of(plan, options_for(plan, 2, 2));
    CAPTURE(seed);
    for (std::size_t i = 0; i < issue.commands.size(); ++i) {
      // Those with which streams begin and end are there in any case.
      const bool at_the_ends = i < issue.stream_device.size() || issue.commands[i].stream == 0;
      if (issue.commands[i].kind != CommandKind::wait || at_the_ends) continue;
      Issue without = issue;
      without.commands.erase(without.commands.begin() + static_cast<std::ptrdiff_t>(i));
      CHECK(fault_of(plan, without) != "");
      ++waits;
    }
  }
  CHECK(waits > 1000);
}

TEST_CASE("Tasks of one level and one stream are one launch") {
  PlanByHand hand(2);
  for (Rank rank = 0; rank < 2; ++rank)
    for (std::int32_t stream = 0; stream < 8; ++stream) {
      std::int32_t last = hand.work(rank, stream, {});
      last = hand.work(rank, stream, {last});
      hand.work(rank, stream, {last});
    }
  const Issue folded = issue_of(hand.plan, options_for(hand.plan, 1, 2));
  CHECK(fault_of(hand.plan, folded) == "");
  CHECK(count_of(folded, CommandKind::combine) == 6);
  for (const Command& command : folded.commands)
    if (command.kind == CommandKind::combine) CHECK(command.task_count == 8);
  CHECK(folded.stream_device.size() == 3);
  // Each of the 16 streams its own: launches of one task.
  const Issue wide = issue_of(hand.plan, options_for(hand.plan, 1, 16));
  CHECK(fault_of(hand.plan, wide) == "");
  CHECK(count_of(wide, CommandKind::combine) == 48);
  CHECK(wide.stream_device.size() == 17);
  // A wait for each stream at the start and at the end, and no other.
  CHECK(count_of(wide, CommandKind::wait) == 32);
}

TEST_CASE("A long exchange of two streams uses few events") {
  PlanByHand hand(2);
  std::int32_t last = -1;
  for (int i = 0; i < 1000; ++i) {
    const std::vector<std::int32_t> before = last < 0 ? std::vector<std::int32_t>{} : std::vector{last};
    last = hand.work(i % 2, 0, before);
  }
  const Issue issue = issue_of(hand.plan, options_for(hand.plan));
  CHECK(fault_of(hand.plan, issue) == "");
  CHECK(issue.event_device.size() <= 2);
  CHECK(count_of(issue, CommandKind::wait) == 999 + 4);
}

TEST_CASE("A meeting of all without work is a number of waits in proportion") {
  constexpr std::int32_t ranks = 20;
  PlanByHand hand(ranks);
  std::vector<std::int32_t> before;
  for (Rank rank = 0; rank < ranks; ++rank) before.push_back(hand.work(rank, 0, {}));
  const std::int32_t meeting = hand.nothing(0, 1, before);
  for (Rank rank = 0; rank < ranks; ++rank) hand.work(rank, 0, {meeting});
  const Issue issue = issue_of(hand.plan, options_for(hand.plan));
  CHECK(fault_of(hand.plan, issue) == "");
  CHECK(every_order_is_topological(hand.plan, issue, 1));
  CHECK(count_of(issue, CommandKind::wait) <= 4 * ranks);
}

TEST_CASE("Waits that others imply are dropped") {
  PlanByHand hand(3);
  const std::int32_t first = hand.work(0, 0, {});
  const std::int32_t second = hand.work(1, 0, {first});
  const std::int32_t third = hand.work(2, 0, {first, second});
  hand.work(2, 0, {first, second, third});
  const Issue issue = issue_of(hand.plan, options_for(hand.plan));
  CHECK(fault_of(hand.plan, issue) == "");
  CHECK(count_of(issue, CommandKind::wait) == 2 + 3 + 3);
}

TEST_CASE("Divisions follow on the first stream of their rank, one by one") {
  PlanByHand hand(2);
  const std::int32_t low = hand.work(0, 2, {});
  const std::int32_t high = hand.work(0, 5, {});
  hand.divide(0, {low, high});
  hand.divide(0, {low, high});
  hand.divide(1, {high});
  const Issue issue = issue_of(hand.plan, options_for(hand.plan));
  CHECK(fault_of(hand.plan, issue) == "");
  CHECK(count_of(issue, CommandKind::divide) == 3);
  std::map<std::int32_t, std::int32_t> stream_of;
  for (const Command& command : issue.commands)
    for (const std::int32_t task : issue.tasks_of(command)) stream_of[task] = command.stream;
  CHECK(stream_of[2] == stream_of[low]);
  CHECK(stream_of[3] == stream_of[low]);
  CHECK(stream_of[4] != stream_of[low]);
  CHECK(stream_of[4] != stream_of[high]);
}

TEST_CASE("Plans without work issue nothing") {
  PlanByHand hand(2);
  CHECK(issue_of(hand.plan, options_for(hand.plan)).commands.empty());
  const std::int32_t first = hand.nothing(0, 0, {});
  hand.nothing(1, 0, {first});
  const Issue issue = issue_of(hand.plan, options_for(hand.plan));
  CHECK(issue.commands.empty());
  CHECK(issue.stream_device == std::vector<int>{0});
}

TEST_CASE("Tasks run on the device of their rank") {
  RandomPlanShape shape;
  shape.ranks = 8;
  const Plan plan = random_plan(shape, Datatype::int32, ReductionOp::sum, 7);
  const Issue issue = issue_of(plan, options_for(plan, 4));
  CHECK(fault_of(plan, issue) == "");
  for (const Command& command : issue.commands)
    for (const std::int32_t task : issue.tasks_of(command))
      CHECK(issue.stream_device[at(command.stream)] == plan.tasks[at(task)].rank / 2);
}

TEST_CASE("Between devices without access only copies are possible") {
  PlanByHand hand(4);
  IssueOptions options = options_for(hand.plan, 2);
  options.reaches = [](int from, int to) { return from == to; };
  hand.work(0, 0, {}, {0, 1});
  hand.work(1, 0, {}, {1, 2});
  const Issue issue = issue_of(hand.plan, options);
  CHECK(fault_of(hand.plan, issue) == "");
  CHECK(count_of(issue, CommandKind::combine) == 1);
  CHECK(count_of(issue, CommandKind::peer_copy) == 1);
  CHECK(issue.has_peer_copies);
  hand.work(3, 0, {}, {3, 1, 3}, 2);
  try {
    issue_of(hand.plan, options);
    FAIL("a reduction over memory out of reach was issued");
  } catch (const DeviceError& error) {
    CHECK(error.kind() == DeviceError::Kind::unsupported);
    CHECK(std::string(error.what()) ==
          "device 1 has no access to the memory of device 0, which rank 3 needs for more than a copy");
  }
  // Access in one direction is enough where the kernel runs on that side.
  options.reaches = [](int from, int to) { return from >= to; };
  CHECK(count_of(issue_of(hand.plan, options), CommandKind::peer_copy) == 1);
}

TEST_CASE("Areas and their guards lie apart in device memory") {
  PlanByHand hand(5);
  hand.plan.areas.push_back({AreaKind::staging, 3, 0});
  hand.plan.areas.push_back({AreaKind::staging, 0, 1001});
  for (const std::int32_t misalignment : {0, 4, 252}) {
    PrepareOptions options;
    options.misalignment = misalignment;
    options.sets = 3;
    const std::vector<int> device_of = evenly(5, 3);
    const AreaMap map = area_map(hand.plan, device_of, 4, options);
    std::map<int, std::int64_t> end;  // of what has been seen, by device
    for (std::int32_t set = 0; set < 3; ++set)
      for (std::int32_t area = 0; area < map.areas; ++area) {
        const int device = map.device[at(area)];
        CHECK(device == device_of[at(hand.plan.areas[at(area)].rank)]);
        const std::int64_t begin = map.offset_of(set, area);
        CHECK(begin % 256 == misalignment);
        CHECK(begin - guard_bytes >= std::max(end[device], head_bytes));
        end[device] = begin + hand.plan.areas[at(area)].bytes + guard_bytes;
      }
    for (int device = 0; device < 3; ++device) CHECK(map.bytes[at(device)] == end[device]);
    CHECK(map.bytes[3] == head_bytes);
  }
}

TEST_CASE("Guards differ from area to area and tell their first changed byte") {
  CHECK(guard_of(1, true) != guard_of(1, false));
  CHECK(guard_of(1, true) != guard_of(2, true));
  Guard guard = guard_of(5, false);
  CHECK_FALSE(first_changed(guard, 5, false).has_value());
  guard[200] ^= std::byte{1};
  guard[17] ^= std::byte{128};
  CHECK(first_changed(guard, 5, false) == 17);
}

TEST_CASE("Where there is no CUDA device the reason is the error") {
  const std::string why = why_no_cuda();
  if (why.empty()) {
    CHECK(cuda_backend()->devices() >= 1);
    return;
  }
  const auto check = [](const DeviceError& error) {
    CHECK(error.kind() == DeviceError::Kind::missing);
    CHECK(std::string(error.what()) == why_no_cuda());
  };
  try {
    cuda_backend();
    FAIL("a backend without a device");
  } catch (const DeviceError& error) {
    check(error);
  }
  try {
    nccl_all_reduce_time(1024, 1, 1);
    FAIL("a time without a device");
  } catch (const DeviceError& error) {
    check(error);
  }
}
