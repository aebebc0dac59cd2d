// What no command line can reach of execute: verdicts, exit codes and figures of points that are made here,
// and schedules that no algorithm makes.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "experiments/execute_report.hpp"
#include "experiments/execution.hpp"
#include "sim/model/layout.hpp"

namespace collsim::program {

TEST_SUITE_BEGIN("execute");

namespace {

using Status = ExecutionStatus;

ExecutedPoint point_of(Status status) {
  ExecutedPoint point;
  point.collective.bytes = Bytes(4096);
  point.algorithm = "ring";
  point.ranks = 4;
  point.status = status;
  if (status != Status::ok) point.reason = "because";
  point.proof = ProofVerdict::proven;
  point.checks = {{kernels::InputKind::exact, "parallel", 0}};
  point.checked = 4096;
  return point;
}

ExecuteReport report_of(const std::vector<Status>& statuses) {
  ExecuteReport report{"cpu", "2 threads", 2, 1, 20, 5, false, {}};
  for (const Status status : statuses) report.points.push_back(point_of(status));
  return report;
}

ExecutedPoint timed(Duration median) {
  ExecutedPoint point = point_of(Status::ok);
  point.times = Times{median, median, median, 1, 0, 1};
  return point;
}

// The row of a point: all words of the last line that is no comment.
std::string row_of(ExecutedPoint point, bool compared = false) {
  ExecuteReport report = report_of({});
  report.compared = compared;
  report.points = {std::move(point)};
  const std::string text = table_text(report);
  const std::size_t start = text.find("\n ");
  return text.substr(start + 1, text.find('\n', start + 1) - start - 1);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Two ranks with one stream each: `kinds` in this order, with the other rank as the peer.
Schedule exchange(const std::vector<OperationKind>& kinds) {
  Schedule schedule = empty_schedule("exchange", {CollectiveKind::all_gather, Bytes(16)}, 2);
  schedule.layout = Layout::in_parts(4, 4, {1}, 2);
  Program program;
  Loop loop;
  for (const OperationKind kind : kinds) {
    OperationTemplate operation;
    operation.kind = kind;
    operation.peer = 0;
    operation.chunk.block_base = kind == OperationKind::send ? 0 : 1;
    operation.chunk.block_modulus = 2;
    loop.body.push_back(operation);
  }
  program.loops.push_back(loop);
  schedule.programs = {program};
  schedule.stream_count = [](Rank) { return 1; };
  schedule.bind = [](Rank rank, std::int32_t, Binding& binding) {
    binding.program = 0;
    binding.peers = {{1 - rank, 0}};
    binding.bases = {rank, 1 - rank};
  };
  return schedule;
}

// As the exchange of two ranks that send and then receive; then stream 0 sends on what it received, and
// stream 1 of the other rank, whose own it is, receives it over the same. That is ordered by the messages,
// but not by what a rank knows by itself. `idle` streams a rank do nothing.
Schedule ordered_by_messages(std::int32_t idle) {
  Schedule schedule = exchange({OperationKind::send, OperationKind::receive, OperationKind::send});
  std::vector<OperationTemplate>& body = schedule.programs[0].loops[0].body;
  body[2].peer = 1;
  body[2].chunk.block_base = 1;
  Program second;
  Loop loop;
  loop.body = {body[1]};
  loop.body[0].peer = 1;
  loop.body[0].chunk.block_base = 0;
  second.loops.push_back(loop);
  schedule.programs.push_back(second);
  schedule.programs.push_back(Program{});
  schedule.stream_count = [idle](Rank) { return 2 + idle; };
  schedule.bind = [](Rank rank, std::int32_t stream, Binding& binding) {
    binding.program = std::min(stream, 2);
    binding.peers = {{1 - rank, 0}, {1 - rank, 1}};
    binding.bases = {rank, 1 - rank};
  };
  return schedule;
}

// Every run of it wrote outside two areas.
class BreachedExecution : public kernels::Execution {
 public:
  explicit BreachedExecution(std::unique_ptr<kernels::Execution> real) : real_(std::move(real)) {}
  void upload(std::int32_t area, std::int64_t offset, std::span<const std::byte> data) override {
    real_->upload(area, offset, data);
  }
  void download(std::int32_t area, std::int64_t offset, std::span<std::byte> data) override {
    real_->download(area, offset, data);
  }
  Duration run() override { return real_->run(); }
  void run_in_order(std::span<const std::int32_t> order) override { real_->run_in_order(order); }
  std::vector<kernels::GuardBreach> breaches() override { return {{0, true, -8}, {1, false, 20}}; }

 private:
  std::unique_ptr<kernels::Execution> real_;
};

// Memory for only so many executions of so many sets; then a device without any.
class SmallBackend : public kernels::Backend {
 public:
  SmallBackend(std::int32_t sets_max, int executions, bool breached = false)
      : sets_max_(sets_max), executions_(executions), breached_(breached) {}
  std::string name() const override { return "cpu"; }
  std::string description() const override { return "small"; }
  int devices() const override { return 1; }
  std::int64_t cache_bytes() const override { return 1 << 16; }
  std::int64_t free_bytes() const override { return 1 << 30; }
  std::unique_ptr<kernels::Execution> prepare(const kernels::Plan& plan,
                                              const kernels::PrepareOptions& options) override {
    if (options.sets > sets_max_ || executions_-- <= 0)
      throw kernels::DeviceError(kernels::DeviceError::Kind::memory, "too large", "1 B is free");
    auto execution = backend_->prepare(plan, options);
    if (!breached_) return execution;
    return std::make_unique<BreachedExecution>(std::move(execution));
  }

 private:
  std::int32_t sets_max_;
  int executions_;
  bool breached_;
  std::unique_ptr<kernels::Backend> backend_ = kernels::cpu_backend(2);
};

ExecutedPoint executed(const Schedule& schedule, std::int64_t runs,
                       std::unique_ptr<kernels::Backend> backend) {
  Proofs proofs(false);
  ExecutionOptions options;
  options.runs = runs;
  ExecutedPoint point;
  point.collective = schedule.collective;
  point.algorithm = schedule.algorithm;
  point.ranks = schedule.ranks;
  execute_schedule(*backend, proofs, schedule, options, point);
  return point;
}

ExecutedPoint executed(const Schedule& schedule, std::int64_t runs = 0) {
  return executed(schedule, runs, kernels::cpu_backend(2));
}

}  // namespace

TEST_CASE(
    "A device that failed comes before wrong values, these before limits, these before the impossible") {
  CHECK(outcome_of(report_of({Status::ok, Status::ok})) == ExitCode::done);
  CHECK(outcome_of(report_of({Status::ok, Status::impossible})) == ExitCode::negative);
  CHECK(outcome_of(report_of({Status::impossible, Status::limit})) == ExitCode::limit);
  for (const Status bad : {Status::wrong, Status::unproven, Status::deadlock}) {
    CHECK(outcome_of(report_of({Status::limit, bad})) == ExitCode::negative);
    CHECK(outcome_of(report_of({bad, Status::failed})) == ExitCode::no_device);
  }
}

TEST_CASE("The table says OK only where every point is right") {
  const auto verdict = [](const std::vector<Status>& statuses) {
    const std::string text = table_text(report_of(statuses));
    const std::size_t start = text.find("# Out of bounds values : ") + 25;
    return text.substr(start, text.find('\n', start) - start);
  };
  CHECK(verdict({Status::ok, Status::ok}) == "0 OK");
  CHECK(verdict({Status::ok, Status::limit}) == "0 INCOMPLETE");
  CHECK(verdict({Status::ok, Status::failed}) == "0 INCOMPLETE");
  CHECK(verdict({Status::ok, Status::unproven}) == "0 INCOMPLETE");
  CHECK(verdict({Status::wrong, Status::ok}) == "0 FAILED");
  ExecuteReport report = report_of({Status::wrong, Status::limit});
  report.points[0].wrong = 12;
  CHECK(has(table_text(report), "# Out of bounds values : 12 FAILED\n"));
}

TEST_CASE("Figures have as many decimals as their columns hold") {
  const auto time = [](std::int64_t picoseconds) {
    const std::string row = row_of(timed(Duration::picoseconds(picoseconds)));
    std::size_t end = row.find("ring");
    std::vector<std::string> words;
    for (std::size_t at = 0; at < end;) {
      const std::size_t start = row.find_first_not_of(' ', at);
      at = row.find(' ', start);
      words.push_back(row.substr(start, at - start));
      if (row.find_first_not_of(' ', at) >= end) break;
    }
    return words[9];
  };
  CHECK(time(1'234'567) == "1.23");
  CHECK(time(12'345'678'900) == "12345.7");
  CHECK(time(1'234'567'890'000) == "1234568");
  CHECK(time(123'456'789'000'000) == "1.2e+08");
}

TEST_CASE("A row has the widths of nccl-tests") {
  CHECK(row_of(timed(Duration::microseconds(4))) ==
        "        4096          1024     float     sum      -1      N/A     N/A     N/A     N/A"
        "     4.00    1.02    1.54       0  ring");
  ExecutedPoint point = timed(Duration::microseconds(4));
  point.in_place = false;
  point.predicted = Duration::microseconds(3);
  CHECK(row_of(point, true) ==
        "        4096          1024     float     sum      -1     4.00    1.02    1.54       0"
        "      N/A     N/A     N/A     N/A       3.00    -25.0%  ring");
}

TEST_CASE("The proof and the execution are held against each other") {
  ExecutedPoint point = point_of(Status::ok);
  CHECK(agreement_of(point) == "the proof and the execution agree");
  point.status = Status::wrong;
  CHECK(has(agreement_of(point), "do not agree"));
  point.proof = ProofVerdict::refuted;
  CHECK(agreement_of(point) == "the proof and the execution agree: both refute it");
  point.status = Status::unproven;
  CHECK(agreement_of(point) == "the proof refutes it, but no run gave a wrong value");
  point.checks.clear();
  CHECK(agreement_of(point).empty());
}

TEST_CASE("What a failed device did not run is in the JSON with its reason and without values") {
  ExecuteReport report = report_of({Status::failed});
  report.points[0].checks.clear();
  const auto point = nlohmann::json::parse(json_text(report)).at("points")[0];
  CHECK(point.at("status") == "failed");
  CHECK(point.at("reason") == "because");
  CHECK(point.at("wrong").is_null());
  CHECK(point.at("algbw_gb_per_s").is_null());
}

TEST_CASE("Memory is shown in the largest unit of which there is one") {
  CHECK(memory_text(0) == "0 B");
  CHECK(memory_text(1023) == "1023 B");
  CHECK(memory_text(1024) == "1.00 KiB");
  CHECK(memory_text(std::int64_t{3} << 29) == "1.50 GiB");
  CHECK(memory_text(std::numeric_limits<std::int64_t>::max()) == "8.00 EiB");
}

TEST_CASE("A schedule in which both wait first is a deadlock, and nothing is run") {
  const ExecutedPoint right = executed(exchange({OperationKind::send, OperationKind::receive}), 2);
  CHECK(right.reason == "");
  CHECK(right.status == Status::ok);
  CHECK(right.times.has_value());
  const ExecutedPoint stuck = executed(exchange({OperationKind::receive, OperationKind::send}), 2);
  CHECK(stuck.status == Status::deadlock);
  CHECK(stuck.reason.find("it deadlocks: ") == 0);
  CHECK(!stuck.ran());
  CHECK(!stuck.times);
}

TEST_CASE("What its proof does not decide is not ok, even where no run gives a wrong value") {
  const ExecutedPoint few = executed(ordered_by_messages(0), 1);
  CHECK(few.reason == "");
  CHECK(few.status == Status::ok);
  const ExecutedPoint many = executed(ordered_by_messages(2100), 1);
  CHECK(many.proof == ProofVerdict::undecided);
  CHECK(many.status == Status::unproven);
  CHECK(many.reason.find("there is no proof: rank ") == 0);
  CHECK(many.wrong == 0);
  CHECK(many.checks.size() == 3);
  CHECK(!many.times);
  CHECK(agreement_of(many) == "the proof is undecided, no run gave a wrong value");
  ExecuteReport report = report_of({});
  report.points = {many};
  CHECK(outcome_of(report) == ExitCode::negative);
}

TEST_CASE("Without memory for many sets of buffers one set is timed, and without any a note says so") {
  const Schedule schedule = exchange({OperationKind::send, OperationKind::receive});
  const auto small = [&schedule](std::int32_t sets, int executions) {
    return executed(schedule, 2, std::make_unique<SmallBackend>(sets, executions));
  };
  const ExecutedPoint all = small(64, 2);
  REQUIRE(all.times);
  CHECK(all.times->sets == 64);
  const ExecutedPoint one = small(1, 2);
  CHECK(one.status == Status::ok);
  REQUIRE(one.times);
  CHECK(one.times->sets == 1);
  CHECK(one.notes.empty());
  const ExecutedPoint untimed = small(1, 1);
  CHECK(untimed.status == Status::ok);
  CHECK(untimed.reason == "");
  CHECK(untimed.ran());
  CHECK(!untimed.times);
  CHECK(untimed.notes == std::vector<std::string>{"not timed: too large"});
  const ExecutedPoint none = small(1, 0);
  CHECK(none.status == Status::limit);
  CHECK(none.reason == "too large");
  ExecuteReport report = report_of({});
  report.points = {none};
  CHECK(has(table_text(report), "limit: too large; 1 B is free\n"));
  CHECK(!has(json_text(report), "is free"));
  CHECK(!has(csv_text(report), "is free"));
}

TEST_CASE("What was written outside a buffer names the rank, the buffer and the distance") {
  using kernels::AreaKind;
  ExecuteReport report = report_of({Status::wrong});
  report.points[0].first_wrong = kernels::ValueReport{};
  report.points[0].breaches = {{AreaKind::scratch, 3, false, 64},
                               {AreaKind::output, 0, true, 1},
                               {AreaKind::input, 1, false, 0},
                               {AreaKind::staging, 2, false, 8}};
  const std::string table = table_text(report);
  CHECK(has(table, "#   value: rank 3: written 64 bytes past the end of its scratch\n"));
  CHECK(has(table, "#   value: rank 0: written 1 byte before the begin of its output\n"));
  CHECK(has(table, "#   value: rank 1: written right at the end of its input\n"));
  CHECK(has(table, "#   value: rank 2: written 8 bytes past the end of its staging memory\n"));
  const auto findings = nlohmann::json::parse(json_text(report)).at("points")[0].at("findings");
  REQUIRE(findings.size() == 4);
  CHECK(findings[0].at("rank") == 3);
  CHECK(findings[0].at("text") == "rank 3: written 64 bytes past the end of its scratch");
}

TEST_CASE("A breach is that of the area in which it was found") {
  const Schedule schedule = exchange({OperationKind::send, OperationKind::receive});  // outputs of 16 bytes
  const ExecutedPoint point = executed(schedule, 0, std::make_unique<SmallBackend>(1, 9, true));
  CHECK(point.status == Status::wrong);
  REQUIRE(point.breaches.size() == 2);
  CHECK(text_of(point.breaches[0]) == "rank 0: written 8 bytes before the begin of its output");
  CHECK(text_of(point.breaches[1]) == "rank 1: written 4 bytes past the end of its output");
}

TEST_CASE("Warm-ups are as many as asked for, or at least so many where there are more sets of buffers") {
  ExecuteReport report = report_of({});
  report.points = {timed(Duration::microseconds(4))};
  report.points[0].times->warmups = 5;
  CHECK(has(table_text(report), "# time: the median of 20 runs after 5 warm-ups ("));
  report.points[0].times->warmups = 6;
  CHECK(has(table_text(report), "# time: the median of 20 runs after at least 5 warm-ups ("));
}

TEST_CASE("A schedule whose messages do not pair up has no plan") {
  const ExecutedPoint point = executed(exchange({OperationKind::send}));
  CHECK(point.status == Status::unproven);
  CHECK(!point.reason.empty());
  CHECK(point.proof == ProofVerdict::refuted);
  CHECK(!point.ran());
}

TEST_SUITE_END();

}  // namespace collsim::program
