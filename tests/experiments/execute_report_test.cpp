// What no command line can reach of execute: verdicts, exit codes and figures of points that are made here,
// and schedules that no algorithm makes.
#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>
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

ExecutedPoint executed(const Schedule& schedule, std::int64_t runs = 0) {
  const auto backend = kernels::cpu_backend(2);
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

TEST_CASE("A schedule whose messages do not pair up has no plan") {
  const ExecutedPoint point = executed(exchange({OperationKind::send}));
  CHECK(point.status == Status::unproven);
  CHECK(!point.reason.empty());
  CHECK(point.proof == ProofVerdict::refuted);
  CHECK(!point.ran());
}

TEST_SUITE_END();

}  // namespace collsim::program
