// What check_msccl() says of files: right ones are proven, wrong ones are refuted at the right place.
#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "algorithms/msccl_check.hpp"
#include "algorithms/msccl_schedule.hpp"
#include "sim/model/proof.hpp"
#include "tests/algorithms/msccl_samples.hpp"

using namespace collsim;
using namespace collsim::testing;
using algorithms::check_msccl;
using algorithms::MscclBuffer;
using algorithms::MscclCheck;
using algorithms::MscclFile;
using algorithms::MscclFinding;
using algorithms::MscclStep;
using algorithms::MscclStepType;
using algorithms::MscclThreadBlock;

namespace {

std::string text_of(const MscclCheck& check) {
  std::string text;
  for (const MscclFinding& finding : check.findings)
    text += std::to_string(finding.place.line) + ": " +
            (finding.severity == MscclFinding::Severity::error ? "error: " : "warning: ") +
            text_of(finding.place) + ": " + finding.text +
            (finding.nccl.empty() ? "" : "; NCCL " + finding.nccl) + "\n";
  return text;
}

MscclCheck only(const MscclFile& file, std::int32_t slots = 8) {
  const std::vector<MscclCheck> checks = check_msccl(file, slots);
  REQUIRE(checks.size() == 1);
  return checks.front();
}

void check_proven(const std::string& text, std::int64_t messages, std::int64_t slots_min) {
  for (const MscclCheck& check : check_msccl(file_of(text))) {
    const std::string findings = text_of(check);
    CAPTURE(findings);
    CAPTURE(check.reason);
    CHECK(check.verdict == MscclCheck::Verdict::proven);
    CHECK(findings.empty());
    CHECK(check.messages == messages);
    CHECK(check.slots_min == slots_min);
  }
}

MscclThreadBlock& tb_of(MscclFile& file, int gpu, int tb) {
  return file.gpus[static_cast<std::size_t>(gpu)].tbs[static_cast<std::size_t>(tb)];
}
MscclStep& step_of(MscclFile& file, int gpu, int tb, int step) {
  return tb_of(file, gpu, tb).steps[static_cast<std::size_t>(step)];
}
void drop(MscclFile& file, int gpu, int tb, int step) {
  auto& steps = tb_of(file, gpu, tb).steps;
  steps.erase(steps.begin() + step);
}
void swap(MscclFile& file, int gpu, int tb, int step) {
  auto& steps = tb_of(file, gpu, tb).steps;
  std::swap(steps[static_cast<std::size_t>(step)], steps[static_cast<std::size_t>(step) + 1]);
}
void repeat(MscclFile& file, int gpu, int tb, int step) {
  auto& steps = tb_of(file, gpu, tb).steps;
  steps.insert(steps.begin() + step, steps[static_cast<std::size_t>(step)]);
}
void move_both(MscclStep& step, int offset) { step.source = step.target = offset; }

// A change that makes a right file wrong, and where an error must point: to this thread block, to this step
// of it if it is not -1.
struct Mutation {
  const char* name;
  std::string base;
  std::function<void(MscclFile&)> change;
  int gpu;
  int tb;
  int step;
  const char* says;  // part of the text of an error
  std::int32_t slots = 8;
};

bool points_to(const MscclFinding::Place& place, const Mutation& mutation) {
  return place.gpu == mutation.gpu && place.tb == mutation.tb &&
         (mutation.step < 0 || place.step == mutation.step);
}

// Of a step that is named, its line is.
bool line_is_right(const MscclFile& file, const MscclFinding::Place& place) {
  if (place.gpu < 0) return true;
  const auto& gpu = file.gpus[static_cast<std::size_t>(place.gpu)];
  if (place.tb < 0) return place.line == gpu.line;
  const auto& tb = gpu.tbs[static_cast<std::size_t>(place.tb)];
  return place.line == (place.step < 0 ? tb.line : tb.steps[static_cast<std::size_t>(place.step)].line);
}

std::vector<Mutation> mutations_of_rings() {
  const std::string plain = plain_ring(8);
  const std::string fused = fused_ring(8);
  // plain: step 0 s, then odd steps receive and even ones send; chunk of gpu g in step 2k-1 is g - k.
  return {
      {"a send less", plain, [](MscclFile& f) { drop(f, 3, 0, 4); }, 3, 0, -1, "message 13"},
      {"a receive less", plain, [](MscclFile& f) { drop(f, 3, 0, 5); }, 3, 0, -1, "message 13"},
      {"a message less", plain,
       [](MscclFile& f) {
         drop(f, 3, 0, 4);
         drop(f, 4, 0, 5);
       },
       3, 0, 3, "before anyone has read it"},
      {"a send before its receive", plain, [](MscclFile& f) { swap(f, 5, 0, 3); }, 5, 0, -1, "lacks"},
      {"two receives changed over", plain,
       [](MscclFile& f) { std::swap(step_of(f, 2, 0, 3), step_of(f, 2, 0, 5)); }, 2, 0, 3, "adds chunk"},
      {"another chunk sent", plain, [](MscclFile& f) { move_both(step_of(f, 6, 0, 2), 2); }, 6, 0, 2,
       "adds chunk 2 of the vector to chunk 5"},
      {"another chunk reduced", plain, [](MscclFile& f) { move_both(step_of(f, 1, 0, 3), 5); }, 1, 0, 3,
       "adds chunk 7 of the vector to chunk 5"},
      {"another chunk received", plain, [](MscclFile& f) { move_both(step_of(f, 1, 0, 19), 1); }, 1, 0, 19,
       "stores chunk"},
      {"a reduction that only copies", plain,
       [](MscclFile& f) { step_of(f, 4, 0, 7).type = MscclStepType::r; }, 4, 0, 7, "lacks"},
      {"a copy that reduces", plain, [](MscclFile& f) { step_of(f, 4, 0, 21).type = MscclStepType::rrc; }, 4,
       0, 21, "a second time"},
      {"two chunks sent where one is received", plain, [](MscclFile& f) { step_of(f, 2, 0, 6).count = 2; }, 2,
       0, 6, "takes 1 chunk"},
      {"a source outside", plain, [](MscclFile& f) { step_of(f, 7, 0, 8).source = 8; }, 7, 0, 8,
       "s of i[8] is outside: gpu 7 has 8 input chunks"},
      {"a target outside", plain, [](MscclFile& f) { step_of(f, 7, 0, 9).target = -1; }, 7, 0, 9,
       "rrc into i[-1] is outside"},
      {"no peer to send to", plain, [](MscclFile& f) { tb_of(f, 5, 0).send = -1; }, 5, 0, 0, "has send=-1"},
      {"another peer to receive from", plain, [](MscclFile& f) { tb_of(f, 5, 0).receive = 3; }, 5, 0, 1,
       "no thread block of gpu 3 sends there"},
      {"another channel", plain, [](MscclFile& f) { tb_of(f, 5, 0).channel = 1; }, 5, 0, -1,
       "no thread block of gpu 4 sends there"},
      {"a step twice", plain, [](MscclFile& f) { repeat(f, 0, 0, 3); }, 0, 0, -1, "message 14"},
      {"all receive first", plain,
       [](MscclFile& f) {
         for (int g = 0; g < 8; ++g) swap(f, g, 0, 0);
       },
       3, 0, 0, "deadlock: rrc waits for a message from gpu 2"},
      {"one slot", fused, [](MscclFile&) {}, 2, 0, -1, "deadlock", 1},
      {"another chunk added before it is sent on", fused,
       [](MscclFile& f) { step_of(f, 3, 0, 4).source = 3; }, 3, 0, 4,
       "adds chunk 7 of the vector to chunk 3"},
      {"a sum sent on and not stored", fused,
       [](MscclFile& f) { step_of(f, 3, 0, 7).type = MscclStepType::rrs; }, 3, 0, 7,
       "rrs has the complete sum of chunk 4 and does not store it"},
      {"a chunk stored elsewhere", fused, [](MscclFile& f) { step_of(f, 3, 0, 9).target = 5; }, 3, 0, 9,
       "stores chunk 2 of the vector in i[5]"},
      {"scratch that is not there", fused,
       [](MscclFile& f) {
         step_of(f, 3, 0, 9).target_buffer = MscclBuffer::s;
         step_of(f, 3, 0, 9).target = 0;
       },
       3, 0, 9, "gpu 3 has 0 scratch chunks"},
  };
}

// all_pairs(4): thread blocks 0 to 2 exchange, 3 adds up: nop, nop, re, re, re.
std::vector<Mutation> mutations_of_pairs() {
  const std::string pairs = all_pairs(4);
  const auto no_dependency = [](MscclStep& step) { step.dependency_tb = step.dependency_step = -1; };
  return {
      {"a sum twice", pairs,
       [](MscclFile& f) {
         repeat(f, 1, 3, 3);
         step_of(f, 1, 3, 5).has_dependents = true;
         for (int q = 0; q < 3; ++q) step_of(f, 1, q, 2).dependency_step = 5;
       },
       1, 3, 4, "adds what gpu 2 contributes to i[1] a second time"},
      {"a sum less", pairs,
       [](MscclFile& f) {
         drop(f, 1, 3, 3);
         for (int q = 0; q < 3; ++q) step_of(f, 1, q, 2).dependency_step = 3;
       },
       1, 3, -1, "in the end i[1] of gpu 1 lacks gpu 2"},
      {"a dependency less before the sum", pairs, [](MscclFile& f) { step_of(f, 2, 3, 1).dependency_tb = 0; },
       2, 3, 3, "race: "},
      {"a nop that waits for nothing", pairs, [&](MscclFile& f) { no_dependency(step_of(f, 2, 3, 1)); }, 2, 3,
       -1, "which NCCL numbers lower"},
      {"the sum's own dependency", pairs, [&](MscclFile& f) { no_dependency(step_of(f, 2, 3, 2)); }, 2, 3, -1,
       "which NCCL numbers lower"},
      {"a result sent too early", pairs, [&](MscclFile& f) { no_dependency(step_of(f, 0, 1, 2)); }, 0, 1, 2,
       "race: "},
      {"a dependency on an earlier step", pairs,
       [](MscclFile& f) { step_of(f, 0, 1, 2).dependency_step = 3; }, 0, 1, 2, "race: "},
      {"nobody tells", pairs, [](MscclFile& f) { step_of(f, 3, 1, 1).has_dependents = false; }, 3, 3, 1,
       "it waits for step 1 of tb 1 (line "},
      {"a thread block that is not there", pairs, [](MscclFile& f) { step_of(f, 3, 3, 0).dependency_tb = 9; },
       3, 3, 0, "it waits for step 1 of tb 9, which does not exist"},
      {"a step that is not there", pairs, [](MscclFile& f) { step_of(f, 3, 3, 0).dependency_step = 7; }, 3, 3,
       0, "it waits for step 7 of tb 0, which does not exist"},
      {"a cycle of dependencies", pairs,
       [](MscclFile& f) {
         step_of(f, 2, 0, 0).dependency_tb = 3;
         step_of(f, 2, 0, 0).dependency_step = 4;
       },
       2, 0, 0, "deadlock: s waits for step 4 of tb 3"},
      {"two thread blocks on a connection", pairs,
       [](MscclFile& f) { tb_of(f, 2, 1).send = tb_of(f, 2, 0).send; }, 2, 1, -1, "as does gpu 2, tb 0"},
      {"scratch read that nobody wrote", pairs,
       [](MscclFile& f) {
         f.gpus[1].scratch_chunks = 4;
         step_of(f, 1, 3, 3).source = 3;
       },
       1, 3, 3, "re uses s[3], which nobody has written"},
      {"scratch written twice", pairs, [](MscclFile& f) { step_of(f, 1, 1, 1).target = 0; }, 1, 1, 1, "s[0]"},
      {"too little scratch", pairs, [](MscclFile& f) { f.gpus[1].scratch_chunks = 2; }, 1, 2, 1,
       "r into s[2] is outside: gpu 1 has 2 scratch chunks"},
      {"a source of another chunk", pairs, [](MscclFile& f) { step_of(f, 2, 0, 0).source = 3; }, 2, 0, 0,
       "adds chunk 3 of the vector to chunk 0"},
  };
}

std::vector<Mutation> mutations_of_others() {
  return {
      {"a part stored elsewhere", gather_ring(4, true), [](MscclFile& f) { step_of(f, 1, 0, 2).target = 1; },
       1, 0, 2, "stores chunk 3 of the vector in o[1]"},
      {"the own part is not copied", gather_ring(4, false), [](MscclFile& f) { f.gpus[2].tbs.pop_back(); }, 2,
       -1, -1, "in the end o[2] of gpu 2 is not defined; nobody has written it"},
      {"a part that is not the own", gather_ring(4, false),
       [](MscclFile& f) { step_of(f, 2, 0, 0).source = 1; }, 2, 0, 0,
       "s of i[1] is outside: gpu 2 has 1 input chunk"},
      {"the input is written out of place", gather_ring(4, false),
       [](MscclFile& f) {
         step_of(f, 2, 1, 0).target_buffer = MscclBuffer::i;
         step_of(f, 2, 1, 0).target = 0;
       },
       2, 1, 0, "cpy writes i[0], but out of place the input stays as it is"},
      {"two chunks of an all-to-all changed over", all_to_all(4),
       [](MscclFile& f) { std::swap(step_of(f, 1, 0, 1).target, step_of(f, 1, 2, 1).target); }, 1, 0, 1,
       "instead of chunk"},
      {"a wrong chunk for a peer", all_to_all(4), [](MscclFile& f) { step_of(f, 3, 1, 0).source = 3; }, 3, 1,
       0, "in the end o[3] of gpu 1 holds chunk 3 of gpu 3 instead of chunk 1 of gpu 3"},
  };
}

void check_refuted(const std::vector<Mutation>& mutations) {
  for (const Mutation& mutation : mutations) {
    CAPTURE(mutation.name);
    MscclFile file = file_of(mutation.base);
    REQUIRE(only(file).verdict == MscclCheck::Verdict::proven);
    mutation.change(file);
    const MscclCheck check = only(file, mutation.slots);
    const std::string findings = text_of(check);
    CAPTURE(findings);
    CHECK(check.verdict == MscclCheck::Verdict::refuted);
    CHECK(findings.find(mutation.says) != std::string::npos);
    bool pointed = false;
    bool lines = true;
    for (const MscclFinding& finding : check.findings) {
      if (finding.severity != MscclFinding::Severity::error) continue;
      pointed = pointed || points_to(finding.place, mutation) || points_to(finding.other, mutation);
      lines = lines && line_is_right(file, finding.place) && line_is_right(file, finding.other);
    }
    CHECK(pointed);
    CHECK(lines);
  }
}

}  // namespace

TEST_CASE("Right MSCCL files of every step type and alias are proven") {
  check_proven(exchange_of_two(), 4, 1);
  for (const int n : {2, 3, 4, 8}) {
    CAPTURE(n);
    check_proven(plain_ring(n), 2 * n * (n - 1), 1);
    check_proven(gather_ring(n, true), n * (n - 1), n > 2 ? 2 : 1);
    check_proven(gather_ring(n, false), n * (n - 1), n > 2 ? 2 : 1);
    check_proven(all_to_all(n), n * (n - 1), 1);
    if (n < 3) continue;
    check_proven(fused_ring(n, true), 2 * n * (n - 1), 2);
    check_proven(fused_ring(n, false), 2 * n * (n - 1), 2);
    check_proven(all_pairs(n), 2 * n * (n - 1), 1);
  }
}

TEST_CASE(
    "MSCCL files of eight gpus have the messages of their channels, and the slots that their order needs") {
  check_proven(plain_ring(8, 8), 896, 1);
  check_proven(all_pairs(8, 2), 224, 1);
  check_proven(all_pairs(8, 4), 448, 1);
  check_proven(two_by_two(), 12, 1);
  // rcs needs a message and a free slot: one more than what all send before they receive.
  for (const int parts : {1, 4, 8}) {
    CAPTURE(parts);
    const std::string in_turn = gather_ring_in_parts(8, parts, false);
    check_proven(in_turn, 56 * parts, 2);
    CHECK(only(file_of(in_turn), 1).deadlock);
    CHECK(only(file_of(in_turn), 2).verdict == MscclCheck::Verdict::proven);
  }
  for (const int parts : {1, 2, 7}) {
    CAPTURE(parts);
    const std::string own_first = gather_ring_in_parts(8, parts, true);
    check_proven(own_first, 56 * parts, parts + 1);
    CHECK(only(file_of(own_first), parts).deadlock);
    CHECK(only(file_of(own_first), parts + 1).verdict == MscclCheck::Verdict::proven);
  }
}

TEST_CASE("A file that deadlocks with its slots gives no schedule, although receive and send would be two") {
  const auto reason = [](const std::string& text, std::int32_t slots) {
    const MscclFile file = file_of(text);
    Collective collective;
    collective.kind = file.kind;
    collective.bytes = Bytes(std::int64_t{file.chunks} * element_bytes(collective.datatype));
    algorithms::MscclReading reading;
    reading.slots = slots;
    const auto made = algorithms::schedule_from(file, collective, file.ranks, reading);
    const auto* impossible = std::get_if<Impossible>(&made);
    CHECK((impossible != nullptr) == only(file, slots).deadlock);
    return impossible == nullptr ? std::string() : impossible->reason;
  };
  for (const std::string& ring : {gather_ring(3, true), gather_ring_in_parts(4, 8, false), fused_ring(3)}) {
    CHECK(reason(ring, 1) == "with 1 slot the file deadlocks; 2 are enough");
    CHECK(reason(ring, 2).empty());
  }
  const std::string own_first = gather_ring_in_parts(4, 3, true);
  CHECK(reason(own_first, 3) == "with 3 slots the file deadlocks; 4 are enough");
  CHECK(reason(own_first, 4).empty());
  std::string gpus;
  for (int g = 0; g < 2; ++g)
    gpus += gpu(g, 0, 2, 0,
                tb(0, 1 - g, 1 - g, 0, {step("r", "o", 1 - g, "o", 1 - g), step("s", "o", g, "o", g)}));
  CHECK(reason(algo("allgather", 2, 2, 1, true, false, gpus), 8) ==
        "the file deadlocks with any number of slots");
}

TEST_CASE("Changes of rings are refuted where they were made") { check_refuted(mutations_of_rings()); }
TEST_CASE("Changes of sums through scratch are refuted where they were made") {
  check_refuted(mutations_of_pairs());
}
TEST_CASE("Changes of gathers and all-to-alls are refuted where they were made") {
  check_refuted(mutations_of_others());
}
