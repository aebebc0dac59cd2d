#include "algorithms/msccl_check.hpp"

#include <algorithm>
#include <charconv>
#include <utility>
#include <variant>

#include "algorithms/msccl_reader.hpp"
#include "algorithms/msccl_run.hpp"
#include "algorithms/msccl_schedule.hpp"
#include "algorithms/msccl_static.hpp"
#include "algorithms/msccl_trace.hpp"
#include "sim/core/check.hpp"
#include "sim/model/proof.hpp"

namespace collsim::algorithms {
namespace {

// Says what a proof says in the terms of the file. A proof speaks of ranks, streams, operations and blocks:
// gpus, thread blocks, steps and chunks.
class Translator {
 public:
  Translator(const MscclFile& file, const MscclPlaces& places)
      : file_(file), places_(places), steps_(steps_of_operations(file)) {}

  MscclFinding finding(const ProofFailure& failure) {
    MscclFinding finding;
    finding.place = {failure.rank, failure.stream, -1, file_.line};
    if (failure.stream >= 0 && failure.step >= 0)
      finding.place =
          file_.place(failure.rank, failure.stream, step_of(failure.rank, failure.stream, failure.step));
    else if (failure.rank >= 0)
      finding.place.line = file_.gpus[static_cast<std::size_t>(failure.rank)].line;
    rest_ = failure.text;
    rank_ = failure.rank;
    stream_ = failure.stream;
    // The place comes first in both.
    const std::string prefix = "rank " + std::to_string(failure.rank) + ", stream " +
                               std::to_string(failure.stream) + ", step " + std::to_string(failure.step) +
                               ": ";
    if (rest_.substr(0, prefix.size()) == prefix) rest_.remove_prefix(prefix.size());
    while (!rest_.empty()) finding.text += next(finding);
    return finding;
  }

 private:
  std::int32_t step_of(Rank gpu, std::int32_t tb, std::int64_t operation) const {
    const std::vector<std::int32_t>& steps =
        steps_[static_cast<std::size_t>(gpu)][static_cast<std::size_t>(tb)];
    return steps[std::min(static_cast<std::size_t>(operation), steps.size() - 1)];
  }
  bool take(std::string_view word) {
    if (rest_.substr(0, word.size()) != word) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  std::int64_t number() {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) return -1;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }
  std::string next(MscclFinding& finding);
  std::string chunk(std::int64_t first, std::int64_t last);

  const MscclFile& file_;
  const MscclPlaces& places_;
  const MscclStepOfOperation steps_;
  std::string_view rest_;
  Rank rank_ = 0;
  std::int32_t stream_ = 0;
};

// One translated word, or one character.
std::string Translator::next(MscclFinding& finding) {
  if (take("rank ")) return "gpu " + std::to_string(number());
  if (take("blocks ")) {
    const std::int64_t first = number();
    take(" to ");
    return chunk(first, number());
  }
  if (take("block ")) {
    const std::int64_t block = number();
    return chunk(block, block);
  }
  if (take("stream ")) return "tb " + std::to_string(number());
  if (take("step ")) {
    const std::int64_t operation = number();
    const std::int32_t tb = take(" of stream ") ? static_cast<std::int32_t>(number()) : stream_;
    if (rank_ < 0 || tb < 0) return "step " + std::to_string(operation);
    const MscclFinding::Place place = file_.place(rank_, tb, step_of(rank_, tb, operation));
    finding.other = place;
    return "step " + std::to_string(place.step) + " of tb " + std::to_string(tb) + " (line " +
           std::to_string(place.line) + ")";
  }
  const char character = rest_.front();
  rest_.remove_prefix(1);
  return std::string(1, character);
}

std::string Translator::chunk(std::int64_t first, std::int64_t last) {
  take(" of region 0");
  const Buffer buffer = take(" of scratch") ? Buffer::scratch
                        : take(" of input") ? Buffer::input
                                            : Buffer::output;
  return places_.name(buffer, static_cast<std::int32_t>(first), static_cast<std::int32_t>(last - first + 1),
                      std::max(rank_, 0));
}

bool has_other_source(const MscclFile& file) {
  for (const MscclGpu& gpu : file.gpus)
    for (const MscclThreadBlock& tb : gpu.tbs)
      for (const MscclStep& step : tb.steps)
        if (step.type == MscclStepType::rrc &&
            (step.source_buffer != step.target_buffer || step.source != step.target))
          return true;
  return false;
}

class Check {
 public:
  Check(const MscclFile& file, const MscclIndex& index, bool in_place, std::int32_t slots)
      : file_(file), index_(index), places_(file, in_place), slots_(slots) {
    check_.in_place = in_place;
  }

  MscclCheck run() {
    for (const MscclFinding& warning : file_.warnings) findings_.add(warning);
    for (const MscclIndex::Link& link : index_.links())
      check_.messages += static_cast<std::int64_t>(link.sends.size());
    check_steps(index_, places_, findings_);
    check_links(index_, findings_);
    check_dependencies(index_, findings_);
    check_limits(index_, findings_);
    if (findings_.has_errors())
      check_.verdict = MscclCheck::Verdict::refuted;
    else
      execute();
    check_.findings = findings_.items();
    std::stable_sort(check_.findings.begin(), check_.findings.end(),
                     [](const MscclFinding& a, const MscclFinding& b) { return a.severity < b.severity; });
    check_.errors = findings_.errors();
    check_.warnings = findings_.warnings();
    return std::move(check_);
  }

 private:
  void execute() {
    check_.slots_min = smallest_slots(index_);
    const MscclRun run = run_msccl(index_, slots_);
    if (!run.ended) {
      check_.verdict = MscclCheck::Verdict::refuted;
      check_.deadlock = true;
      return explain_deadlock(index_, run, slots_, findings_);
    }
    auto made = schedule(false);
    if (auto* impossible = std::get_if<Impossible>(&made)) {
      check_.reason = std::move(impossible->reason);
      return;
    }
    const Schedule& schedule = std::get<Schedule>(made);
    const Proof proof = prove(schedule);
    if (proof.undecided && !proof.failures.empty()) check_.reason = proof.failures.front().text;
    if (proof.undecided) return;
    check_.verdict = proof.proven ? MscclCheck::Verdict::proven : MscclCheck::Verdict::refuted;
    check_.deadlock = proof.deadlock;
    if (!proof.proven) explain(schedule, run, proof);
    find_unused(index_, places_, run, schedule, findings_);
  }

  ScheduleOrReason schedule(bool generator) const {
    Collective collective;
    collective.kind = file_.kind;
    collective.root = root_of(file_);
    collective.bytes = Bytes(std::int64_t{file_.chunks} * element_bytes(collective.datatype));
    MscclReading reading;
    reading.in_place = places_.in_place();
    reading.generator = generator;
    reading.slots = slots_;
    return schedule_from(file_, collective, file_.ranks, reading);
  }

  // Races as the proof says them; wrong results by what the steps do, which the proof does not keep.
  void explain(const Schedule& schedule, const MscclRun& run, const Proof& proof) {
    Translator translator(file_, places_);
    bool results = false;
    for (const ProofFailure& failure : proof.failures) {
      const bool race = failure.text.find(" ordered after ") != std::string::npos;
      results = results || !race;
      if (!race) continue;
      MscclFinding finding = translator.finding(failure);
      finding.text = "race: " + finding.text;
      finding.nccl = "may run the two in either order";
      findings_.add(std::move(finding));
    }
    if (results) explain_result(index_, places_, run, schedule, findings_);
    if (results && !findings_.has_errors())
      for (const ProofFailure& failure : proof.failures) findings_.add(translator.finding(failure));
    if (!results || !has_other_source(file_)) return;
    const auto other = this->schedule(true);
    if (std::holds_alternative<Schedule>(other) && prove(std::get<Schedule>(other)).proven)
      findings_.warning({-1, -1, -1, file_.line},
                        "with rrc as MSCCLang means it, target plus message, the file is right");
  }

  const MscclFile& file_;
  const MscclIndex& index_;
  const MscclPlaces places_;
  const std::int32_t slots_;
  MscclFindings findings_;
  MscclCheck check_;
};

}  // namespace

std::vector<MscclCheck> check_msccl(const MscclFile& file, std::int32_t slots) {
  COLLSIM_CHECK(slots >= 1);
  const MscclIndex index(file);
  std::vector<MscclCheck> checks;
  if (file.out_of_place || !file.in_place) checks.push_back(Check(file, index, false, slots).run());
  if (file.in_place) checks.push_back(Check(file, index, true, slots).run());
  return checks;
}

}  // namespace collsim::algorithms
