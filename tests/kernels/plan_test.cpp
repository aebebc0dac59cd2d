#include "kernels/plan.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "kernels/plan_orders.hpp"
#include "sim/core/random.hpp"
#include "sim/model/contract.hpp"
#include "tests/algorithms/ideal_placement.hpp"
#include "tests/sim/model/unrolled_schedule.hpp"
#include "tests/support/requests.hpp"
#include "tests/support/serial_backend.hpp"

using namespace collsim;
using namespace collsim::kernels;
using collsim::testing::SerialBackend;
using collsim::testing::Variant;
using collsim::testing::variants;

namespace {

constexpr std::int64_t element = 8;

Collective collective_of(CollectiveKind kind, std::int64_t elements, std::int32_t ranks, Rank root = 0) {
  Collective collective = testing::collective_of(kind, elements, ranks, root);
  collective.bytes = Bytes(collective.bytes.count() / element_bytes(collective.datatype) * element);
  collective.datatype = Datatype::uint64;
  return collective;
}

std::optional<Schedule> schedule_of(const AlgorithmRequest& request, const Collective& collective,
                                    const Placement& placement) {
  auto made = algorithms::make_schedule(request, collective, placement);
  if (std::holds_alternative<Impossible>(made)) return std::nullopt;
  return std::get<Schedule>(std::move(made));
}

Schedule schedule_of(const std::string& name, CollectiveKind kind, std::int64_t elements, std::int32_t ranks,
                     AlgorithmOptions options = {}) {
  auto schedule =
      schedule_of({name, options}, collective_of(kind, elements, ranks), testing::ideal_placement(1, ranks));
  REQUIRE(schedule.has_value());
  return *std::move(schedule);
}

Plan plan_for(const Schedule& schedule, PlanOptions options = {}) {
  auto made = plan_of(schedule, options);
  REQUIRE(std::holds_alternative<Plan>(made));
  return std::get<Plan>(std::move(made));
}

// What a rank gives in an element; what lies there if it gives nothing.
std::uint64_t given(Rank rank, std::int64_t index) {
  return mix64(mix64(static_cast<std::uint64_t>(rank) + 1) ^ static_cast<std::uint64_t>(index));
}
std::uint64_t undefined(Rank rank, std::int64_t index) { return ~given(rank, index); }

struct Cell {
  std::int64_t first = 0;  // element
  std::int64_t count = 0;
};
Cell cell_of(const Layout& layout, std::int64_t cell) {
  const auto region = static_cast<std::int32_t>(cell / layout.blocks());
  const auto block = static_cast<std::int32_t>(cell % layout.blocks());
  return {layout.offset_bytes(region, block) / element, layout.size(region, block, 1).count() / element};
}

void fill_in(const Schedule& schedule, const Plan& plan, Execution& execution) {
  const Contract contract(schedule);
  for (Rank rank = 0; rank < schedule.ranks; ++rank) {
    const auto place = static_cast<std::size_t>(rank);
    const auto bytes = plan.areas[static_cast<std::size_t>(plan.output[place])].bytes;
    std::vector<std::uint64_t> holds(static_cast<std::size_t>(bytes / element));
    std::vector<std::uint64_t> nothing(holds.size());
    for (std::int64_t cell = 0; cell < schedule.layout.cells(); ++cell) {
      const Cell range = cell_of(schedule.layout, cell);
      for (std::int64_t i = range.first; i < range.first + range.count; ++i) {
        nothing[static_cast<std::size_t>(i)] = undefined(rank, i);
        holds[static_cast<std::size_t>(i)] = contract.gives(rank, cell) ? given(rank, i) : undefined(rank, i);
      }
    }
    execution.upload(plan.output[place], 0, std::as_bytes(std::span(schedule.in_place ? holds : nothing)));
    if (plan.input[place] >= 0) execution.upload(plan.input[place], 0, std::as_bytes(std::span(holds)));
  }
}

// Elements that are not what the contract wants; of averages the sum, divided.
std::int64_t wrong_in(const Schedule& schedule, const Plan& plan, Execution& execution) {
  const Contract contract(schedule);
  const bool divides = schedule.collective.reduction == ReductionOp::avg;
  std::int64_t wrong = 0;
  for (Rank rank = 0; rank < schedule.ranks; ++rank) {
    const std::int32_t area = plan.output[static_cast<std::size_t>(rank)];
    std::vector<std::uint64_t> found(
        static_cast<std::size_t>(plan.areas[static_cast<std::size_t>(area)].bytes / element));
    execution.download(area, 0, std::as_writable_bytes(std::span(found)));
    for (std::int64_t cell = 0; cell < schedule.layout.cells(); ++cell) {
      if (contract.wants(rank, cell) == Contract::Wants::nothing) continue;
      const Cell range = cell_of(schedule.layout, cell);
      for (std::int64_t i = 0; i < range.count; ++i) {
        std::uint64_t wanted = 0;
        if (contract.sums()) {
          for (Rank other = 0; other < schedule.ranks; ++other) wanted += given(other, range.first + i);
          if (divides) wanted /= static_cast<std::uint64_t>(schedule.ranks);
        } else {
          const Contract::Origin origin = contract.origin(rank, cell);
          wanted = given(origin.rank, cell_of(schedule.layout, origin.cell).first + i);
        }
        if (found[static_cast<std::size_t>(range.first + i)] != wanted) ++wrong;
      }
    }
  }
  return wrong;
}

std::int64_t wrong_after(const Schedule& schedule, const Plan& plan, const std::vector<std::int32_t>& order) {
  SerialBackend backend;
  const auto execution = backend.prepare(plan, {});
  fill_in(schedule, plan, *execution);
  execution->run_in_order(order);
  return wrong_in(schedule, plan, *execution);
}

// What is wrong with how a plan is made, or an empty text.
std::string structure_fault(const Plan& plan) {
  const auto count = static_cast<std::int32_t>(plan.tasks.size());
  for (std::int32_t number = 0; number < count; ++number) {
    const Task& task = plan.tasks[static_cast<std::size_t>(number)];
    std::int32_t last = -1;
    for (const std::int32_t before : plan.predecessors_of(task)) {
      if (before <= last || before >= number) return "predecessors are no rising numbers below the task";
      last = before;
    }
    if (task.rank < 0 || task.rank >= plan.ranks) return "a task of no rank";
    if (task.kind == TaskKind::nothing) continue;
    if (task.bytes < 1) return "work of no bytes";
    if (task.kind == TaskKind::combine && (task.sources < 1 || task.sources > sources_max ||
                                           task.destinations < 1 || task.destinations > destinations_max))
      return "too many sources or destinations";
    for (const Place& place : plan.places_of(task)) {
      if (place.area < 0 || place.area >= static_cast<std::int32_t>(plan.areas.size())) return "no such area";
      if (place.offset < 0 ||
          place.offset + task.bytes > plan.areas[static_cast<std::size_t>(place.area)].bytes)
        return "a place is outside its area";
    }
  }
  for (Rank rank = 0; rank < plan.ranks; ++rank) {
    const auto place = static_cast<std::size_t>(rank);
    const auto is = [&](std::int32_t area, AreaKind kind) {
      const Area& found = plan.areas[static_cast<std::size_t>(area)];
      return found.kind == kind && found.rank == rank;
    };
    if (!is(plan.output[place], AreaKind::output)) return "output";
    if (plan.input[place] >= 0 && !is(plan.input[place], AreaKind::input)) return "input";
    if (plan.scratch[place] >= 0 && !is(plan.scratch[place], AreaKind::scratch)) return "scratch";
  }
  return "";
}

std::vector<PlanOptions> all_options() {
  return {PlanOptions{false, false}, PlanOptions{true, false}, PlanOptions{false, true},
          PlanOptions{true, true}};
}

// In the plan's order, in that which lets things wait, in random ones and with streams delayed.
void check_orders(const Schedule& schedule, const Plan& plan) {
  CHECK(structure_fault(plan) == "");
  CHECK(wrong_after(schedule, plan, order_of(plan, OrderKind::as_planned)) == 0);
  CHECK(wrong_after(schedule, plan, order_of(plan, OrderKind::latest_first)) == 0);
  for (std::uint64_t seed = 1; seed <= 2; ++seed)
    CHECK(wrong_after(schedule, plan, order_of(plan, OrderKind::random, seed)) == 0);
  const std::int32_t streams = stream_count_of(plan);
  for (std::int32_t stream = 0; stream < streams; stream += 1 + streams / 4)
    CHECK(wrong_after(schedule, plan, order_delaying(plan, stream)) == 0);
}

void check_every_algorithm(std::int32_t ranks, std::int64_t elements) {
  std::int64_t made = 0;
  for (const Variant& variant : variants()) {
    const Collective collective = collective_of(variant.kind, elements, ranks, ranks / 2);
    const std::vector<Placement> shapes = testing::all_shapes(ranks);
    for (const Placement& placement : {shapes.front(), shapes.back()}) {
      const auto schedule = schedule_of(variant.request(), collective, placement);
      if (!schedule) continue;
      ++made;
      for (const PlanOptions& options : all_options()) {
        INFO(variant.text() << ", " << ranks << " ranks, " << elements << " elements, direct "
                            << options.direct << ", fused " << options.fused);
        check_orders(*schedule, plan_for(*schedule, options));
      }
    }
  }
  CHECK(made > 20);
}

// Tasks of plain receives that have work: their messages are staged.
std::int64_t staged_receives(const Schedule& schedule, const Plan& plan) {
  std::int64_t count = 0;
  for (const Task& task : plan.tasks)
    if (task.kind == TaskKind::combine &&
        operation(schedule, task.rank, task.stream, task.step).kind == OperationKind::receive)
      ++count;
  return count;
}

std::int64_t tasks_with_work(const Plan& plan) {
  return std::count_if(plan.tasks.begin(), plan.tasks.end(),
                       [](const Task& task) { return task.kind != TaskKind::nothing; });
}

std::int64_t staging_bytes(const Plan& plan) {
  std::int64_t sum = 0;
  for (const Area& area : plan.areas)
    if (area.kind == AreaKind::staging) sum += area.bytes;
  return sum;
}

// A schedule by hand: one region of `blocks` blocks of two elements, and scratch like that.
Schedule frame_of(CollectiveKind kind, std::int32_t ranks, std::int32_t blocks, Rank root,
                  std::int32_t scratch) {
  Schedule frame =
      empty_schedule("handmade", collective_of(kind, std::int64_t{2} * blocks, ranks, root), ranks);
  frame.layout = Layout(std::int64_t{2} * blocks, element, {}, blocks);
  frame.layout.set_scratch_blocks(scratch);
  return frame;
}

Chunk blocks_of(std::int32_t first, std::int32_t span = 1, Buffer buffer = Buffer::output) {
  return Chunk{buffer, 0, first, span};
}

Operation move_of(OperationKind kind, Rank peer, const Chunk& chunk, std::int32_t channel = 0) {
  Operation item;
  item.kind = kind;
  item.peer = Peer{peer, channel};
  item.chunk = item.source = chunk;
  return item;
}

Operation local_of(OperationKind kind, const Chunk& chunk, const Chunk& source) {
  Operation item;
  item.kind = kind;
  item.chunk = chunk;
  item.source = source;
  return item;
}

void check_proven(const Schedule& schedule) {
  const Proof proof = prove(schedule);
  for (const ProofFailure& failure : proof.failures) MESSAGE(failure.text);
  REQUIRE(proof.proven);
  for (const PlanOptions& options : all_options()) check_orders(schedule, plan_for(schedule, options));
}

NoPlan no_plan_for(const Schedule& schedule) {
  auto made = plan_of(schedule, {});
  REQUIRE(std::holds_alternative<NoPlan>(made));
  return std::get<NoPlan>(std::move(made));
}

void check_as_proof(const Schedule& schedule, bool deadlock) {
  const Proof proof = prove(schedule);
  const NoPlan none = no_plan_for(schedule);
  CHECK(none.deadlock == deadlock);
  CHECK_FALSE(none.too_large);
  CHECK(proof.deadlock == deadlock);
  REQUIRE(none.failures.size() == proof.failures.size());
  for (std::size_t i = 0; i < none.failures.size(); ++i)
    CHECK(none.failures[i].text == proof.failures[i].text);
}

}  // namespace

TEST_CASE("Plans of every algorithm compute its collective in every order: 1 to 3 ranks") {
  for (std::int32_t ranks = 1; ranks <= 3; ++ranks) check_every_algorithm(ranks, 29);
}

TEST_CASE("Plans of every algorithm compute its collective in every order: 5 ranks") {
  check_every_algorithm(5, 41);
}

TEST_CASE("Plans of every algorithm compute its collective in every order: 8 ranks") {
  check_every_algorithm(8, 67);
}

TEST_CASE("Plans of every algorithm with hardly any elements") {
  for (const std::int32_t ranks : {2, 4, 5}) check_every_algorithm(ranks, 1);
}

TEST_CASE("Plans of algorithms with options drawn at random") {
  Random random(11);
  const std::vector<Variant> all = variants();
  std::int64_t made = 0;
  for (int draw = 0; draw < 250; ++draw) {
    const Variant& variant = all[random.below(all.size())];
    const auto ranks = static_cast<std::int32_t>(1 + random.below(9));
    const auto elements = static_cast<std::int64_t>(1 + random.below(300));
    AlgorithmOptions options = testing::random_options(random, *variant.info, ranks);
    const std::vector<Placement> shapes = testing::all_shapes(ranks);
    const Placement& placement = shapes[random.below(shapes.size())];
    const auto schedule =
        schedule_of(variant.request(options), collective_of(variant.kind, elements, ranks), placement);
    if (!schedule) continue;
    ++made;
    for (const PlanOptions& how : all_options()) {
      INFO(draw << ": " << variant.text() << ", " << testing::text_of(options) << ", " << ranks << " ranks, "
                << elements << " elements, direct " << how.direct << ", fused " << how.fused);
      check_orders(*schedule, plan_for(*schedule, how));
    }
  }
  CHECK(made > 80);
}

TEST_CASE("A ring has as many tasks and bytes as its formula says") {
  for (std::int64_t n = 2; n <= 9; ++n) {
    const std::int64_t block = 5 * element;
    const Schedule ring =
        schedule_of("ring", CollectiveKind::all_reduce, 5 * n, static_cast<std::int32_t>(n));
    const Plan plain = plan_for(ring);
    CHECK(static_cast<std::int64_t>(plain.tasks.size()) == 4 * n * (n - 1));
    CHECK(tasks_with_work(plain) == 4 * n * (n - 1));
    CHECK(plain.traffic_bytes() == 9 * n * (n - 1) * block);  // copy, reduce, copy, copy
    const Plan direct = plan_for(ring, {true, false});
    CHECK(static_cast<std::int64_t>(direct.tasks.size()) == 4 * n * (n - 1));
    CHECK(tasks_with_work(direct) == 3 * n * (n - 1));
    CHECK(direct.traffic_bytes() == 7 * n * (n - 1) * block);
    // Of each rank: a send, n - 1 reductions and n - 2 receives that send on, a receive.
    const Plan fused = plan_for(ring, {false, true});
    CHECK(static_cast<std::int64_t>(fused.tasks.size()) == n * (2 * n - 1));
    CHECK(tasks_with_work(fused) == n * (2 * n - 1));
    CHECK(fused.traffic_bytes() == n * (2 + 4 * (n - 1) + 3 * (n - 2) + 2) * block);
    // A send, n - 1 reductions that send on, n - 2 sends; n - 1 receives without work.
    const Plan both = plan_for(ring, {true, true});
    CHECK(static_cast<std::int64_t>(both.tasks.size()) == n * (3 * n - 3));
    CHECK(tasks_with_work(both) == n * (2 * n - 2));
    CHECK(both.traffic_bytes() == n * (2 + 4 * (n - 1) + 2 * (n - 2)) * block);
  }
}

TEST_CASE("Chains and trees have fewer tasks when fused") {
  for (const char* name : {"chain", "double_binary_tree", "binomial_tree", "segmented_ring"}) {
    INFO(name);
    AlgorithmOptions options;
    options.slices = 3;
    if (std::string(name) == "binomial_tree") options = {};
    const CollectiveKind kind =
        std::string(name) == "chain" ? CollectiveKind::reduce : CollectiveKind::all_reduce;
    const Schedule schedule = schedule_of(name, kind, 96, 8, options);
    const Plan plain = plan_for(schedule);
    const Plan fused = plan_for(schedule, {false, true});
    CHECK(fused.tasks.size() < plain.tasks.size());
    CHECK(fused.traffic_bytes() < plain.traffic_bytes());
    CHECK(plan_for(schedule, {true, true}).traffic_bytes() <= fused.traffic_bytes());
  }
}

TEST_CASE("No algorithm stages a plain receive when sends are direct") {
  std::int64_t receives = 0;
  for (const std::int32_t ranks : {2, 3, 4, 8})
    for (const Variant& variant : variants())
      for (const bool sliced : {false, true}) {
        AlgorithmOptions options;
        if (sliced && variant.takes("slices")) options.slices = 4;
        const auto schedule = schedule_of(variant.request(options), collective_of(variant.kind, 840, ranks),
                                          testing::ideal_placement(1, ranks));
        if (!schedule) continue;
        INFO(variant.text() << ", " << ranks << " ranks");
        receives += staged_receives(*schedule, plan_for(*schedule));
        CHECK(staged_receives(*schedule, plan_for(*schedule, {true, false})) == 0);
        CHECK(staged_receives(*schedule, plan_for(*schedule, {true, true})) == 0);
      }
  CHECK(receives > 1000);
}

TEST_CASE("A send that may come before the last use of its target is staged") {
  // Rank 1 sends its block 0 away, late, before it receives into it.
  const Schedule frame = frame_of(CollectiveKind::broadcast, 2, 2, 0, 1);
  testing::Streams streams(2);
  using enum OperationKind;
  const Chunk aside = blocks_of(0, 1, Buffer::scratch);
  streams[0] = {{move_of(send, 1, blocks_of(0)), move_of(send, 1, blocks_of(1))},
                {move_of(receive, 1, aside)}};
  streams[1] = {{move_of(wait, -1, {}), move_of(wait, -1, {}), move_of(send, 0, blocks_of(0)),
                 move_of(receive, 0, blocks_of(0)), move_of(receive, 0, blocks_of(1))}};
  const Schedule schedule = testing::roll(frame, streams);
  check_proven(schedule);
  const Plan direct = plan_for(schedule, {true, false});
  CHECK(staged_receives(schedule, plan_for(schedule)) == 3);
  CHECK(staged_receives(schedule, direct) == 1);
  CHECK(staging_bytes(direct) == 256);
}

TEST_CASE("A send that waits for earlier users writes directly after them") {
  // Rank 1 sends block 0 to rank 0, which sends its own only then: the receive's chunk has been read.
  const Schedule frame = frame_of(CollectiveKind::broadcast, 2, 1, 0, 1);
  testing::Streams streams(2);
  using enum OperationKind;
  streams[0] = {{move_of(receive, 1, blocks_of(0, 1, Buffer::scratch)), move_of(send, 1, blocks_of(0))}};
  streams[1] = {{move_of(send, 0, blocks_of(0)), move_of(receive, 0, blocks_of(0))}};
  const Schedule schedule = testing::roll(frame, streams);
  check_proven(schedule);
  const Plan plan = plan_for(schedule, {true, false});
  CHECK(staged_receives(schedule, plan) == 0);
  CHECK(staging_bytes(plan) == 0);
}

TEST_CASE("Chunks that overlap their source in part are copied first") {
  const Schedule frame = frame_of(CollectiveKind::reduce, 2, 3, 1, 1);
  testing::Streams streams(2);
  using enum OperationKind;
  const Chunk aside = blocks_of(0, 1, Buffer::scratch);
  Operation from_source = move_of(receive_reduce, 0, blocks_of(1, 2));
  from_source.source = blocks_of(0, 2);
  from_source.from_source = true;
  streams[0] = {{move_of(send, 1, blocks_of(1, 2)), move_of(send, 1, blocks_of(0))}};
  streams[1] = {{local_of(copy, aside, blocks_of(0)), local_of(copy, blocks_of(0, 2), blocks_of(1, 2)),
                 from_source, local_of(copy, blocks_of(0), aside), move_of(receive_reduce, 0, blocks_of(0))}};
  const Schedule schedule = testing::roll(frame, streams);
  check_proven(schedule);
  CHECK(plan_for(schedule).tasks.size() == 9);  // 7 operations
}

TEST_CASE("Staging memory has a place a slot that is used, rounded to 256 bytes") {
  AlgorithmOptions options;
  options.slots = 2;
  const Schedule ring = schedule_of("ring", CollectiveKind::all_reduce, 4 * 33, 4, options);
  CHECK(staging_bytes(plan_for(ring)) == 4 * 2 * 512);  // 264 bytes a message
  const Schedule pair = schedule_of("ring", CollectiveKind::reduce_scatter, 2 * 32, 2, options);
  CHECK(staging_bytes(plan_for(pair)) == 2 * 1 * 256);  // one message a connection
}

TEST_CASE("Results of aggregations take turns in as many places as there are slots") {
  Schedule frame = frame_of(CollectiveKind::all_reduce, 2, 3, 0, 0);
  frame.slots = 1;
  frame.group_count = 1;
  frame.group = [](std::int32_t) {
    AggregationGroup group;
    group.members = {0, 1};
    return group;
  };
  testing::Streams streams(2);
  for (auto& of_rank : streams) {
    of_rank.resize(2);
    for (std::int32_t block = 0; block < 3; ++block) {
      of_rank[0].push_back(move_of(OperationKind::collect, -1, blocks_of(block)));
      of_rank[1].push_back(move_of(OperationKind::aggregate, -1, blocks_of(block)));
      of_rank[0].back().group = of_rank[1].back().group = 0;
    }
  }
  const Schedule schedule = testing::roll(frame, streams);
  check_proven(schedule);
  CHECK(staging_bytes(plan_for(schedule)) == 256);
}

TEST_CASE("Aggregations reduce eight sources at a time") {
  AlgorithmOptions options;
  options.channels = 1;
  const Schedule twenty = schedule_of("nvls", CollectiveKind::all_reduce, 100, 20, options);
  const Plan plan = plan_for(twenty);
  check_orders(twenty, plan);
  std::int64_t sources = 0;
  std::int64_t reductions = 0;
  std::int64_t most = 0;
  for (const Task& task : plan.tasks) {
    most = std::max<std::int64_t>(most, task.sources);
    if (task.sources < 2) continue;
    ++reductions;
    sources += task.sources;
  }
  CHECK(most == 8);
  // 8, 1 + 7 and 1 + 5 for each block.
  CHECK(reductions % 3 == 0);
  CHECK(sources == reductions / 3 * 22);
}

TEST_CASE("Averages are sums that are divided where they are wanted") {
  const auto divisions = [](const char* name, CollectiveKind kind, Rank root) {
    Collective collective = collective_of(kind, 60, 4, root);
    collective.reduction = ReductionOp::avg;
    const auto schedule = schedule_of({name, {}}, collective, testing::ideal_placement(1, 4));
    REQUIRE(schedule.has_value());
    for (const PlanOptions& options : all_options()) check_orders(*schedule, plan_for(*schedule, options));
    const Plan plan = plan_for(*schedule);
    std::int64_t count = 0;
    std::int64_t bytes = 0;
    for (const Task& task : plan.tasks) {
      if (task.kind != TaskKind::divide) continue;
      ++count;
      bytes += task.bytes;
      if (kind == CollectiveKind::reduce) CHECK(task.rank == root);
    }
    CHECK(bytes == (kind == CollectiveKind::all_reduce ? 4 : 1) * 60 * element);
    return count;
  };
  CHECK(divisions("ring", CollectiveKind::all_reduce, 0) == 4);
  CHECK(divisions("nvls", CollectiveKind::all_reduce, 0) == 4);
  CHECK(divisions("ring", CollectiveKind::reduce_scatter, 0) == 4);
  CHECK(divisions("binomial_tree", CollectiveKind::reduce, 2) == 1);
}

TEST_CASE("There is no plan of what cannot run, for the reasons that the proof has") {
  using enum OperationKind;
  const Schedule frame = frame_of(CollectiveKind::all_reduce, 2, 2, 0, 0);
  testing::Streams streams(2);
  const auto with = [&](std::vector<Operation> first, std::vector<Operation> second) {
    streams[0] = {std::move(first)};
    streams[1] = {std::move(second)};
    return testing::roll(frame, streams);
  };
  const Chunk chunk = blocks_of(0);
  check_as_proof(with({move_of(send, 1, chunk)}, {}), false);
  check_as_proof(with({move_of(send, 1, chunk)}, {move_of(receive, 0, blocks_of(0, 2))}), false);
  check_as_proof(with({move_of(send, 1, blocks_of(2))}, {move_of(receive, 0, blocks_of(2))}), false);
  check_as_proof(with({move_of(receive, 1, chunk), move_of(send, 1, chunk)},
                      {move_of(receive, 0, chunk), move_of(send, 0, chunk)}),
                 true);
  Schedule no_root = frame_of(CollectiveKind::broadcast, 2, 2, 5, 0);
  check_as_proof(no_root, false);
  Schedule endless = with({move_of(send, 1, chunk)}, {move_of(receive, 0, chunk)});
  for (Program& program : endless.programs) program.loops.front().trips = std::int64_t{1} << 60;
  const NoPlan none = no_plan_for(endless);
  CHECK(none.too_large);
  REQUIRE(none.failures.size() == 1);
  CHECK(none.failures[0].text == "it has more than 20000000 operations, which is too many to run");
}

TEST_CASE("Scratch lies block after block and region after region") {
  const auto check = [](const Layout& layout) {
    std::int64_t offset = 0;
    for (std::int32_t region = 0; region < layout.scratch_regions(); ++region)
      for (std::int32_t block = 0; block < layout.scratch_blocks(); ++block) {
        CHECK(offset_of(layout, Chunk{Buffer::scratch, region, block, 1}) == offset);
        offset += layout.scratch_size(region, block, 1).count();
      }
    CHECK(scratch_bytes(layout) == offset);
  };
  for (const std::int64_t elements : {0, 1, 5, 47, 96}) {
    Layout layout(elements, element, {3}, 4);
    check(layout);
    layout.set_scratch_regions(8);
    check(layout);
    layout.set_scratch_blocks(9);
    check(layout);
    Layout parts = Layout::in_parts(elements * 4, element, {2}, 4);
    parts.set_scratch_regions(5);
    check(parts);
  }
}

TEST_CASE("Orders are repeatable and unlike each other") {
  const Plan plan = plan_for(schedule_of("two_shot", CollectiveKind::all_reduce, 40, 4));
  const auto planned = order_of(plan, OrderKind::as_planned);
  CHECK(std::is_sorted(planned.begin(), planned.end()));
  CHECK(order_of(plan, OrderKind::latest_first) != planned);
  CHECK(order_of(plan, OrderKind::random, 1) == order_of(plan, OrderKind::random, 1));
  CHECK(order_of(plan, OrderKind::random, 1) != order_of(plan, OrderKind::random, 2));
}
