#include "experiments/verify_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace collsim::program {

namespace {

using algorithms::MscclCheck;
using algorithms::MscclFinding;
using nlohmann::ordered_json;

std::string dump(const ordered_json& json) {
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string plural(std::int64_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

const char* word_of(MscclFinding::Severity severity) {
  return severity == MscclFinding::Severity::error ? "error" : "warning";
}

// "8 slots (2 are enough)"
std::string slots_text(const FileVerdict& verdict, const MscclCheck& check) {
  const std::string given = plural(verdict.slots, "slot");
  if (!check.slots_min) return given + " (no number is enough)";
  return fmt::format("{} ({} {} enough)", given, *check.slots_min, *check.slots_min == 1 ? "is" : "are");
}

std::string text_of(const MscclFinding& finding, const std::string& path) {
  std::string text = "  " + path;
  if (finding.place.line > 0) text += ":" + std::to_string(finding.place.line);
  if (finding.place.line > 0 && finding.column > 0) text += ":" + std::to_string(finding.column);
  text += std::string(": ") + word_of(finding.severity) + ": ";
  const std::string place = algorithms::text_of(finding.place);
  if (!place.empty()) text += place + ": ";
  text += finding.text + "\n";
  if (!finding.expected.empty()) text += "    expected " + finding.expected + "\n";
  if (!finding.hint.empty()) text += "    did you mean '" + finding.hint + "'?\n";
  if (!finding.nccl.empty()) text += "    NCCL " + finding.nccl + "\n";
  return text;
}

std::string head_of(const FileVerdict& verdict, const MscclCheck& check) {
  std::string text = fmt::format("{}: {} on {}, {}: {}", verdict.path, collsim::name_of(verdict.file.kind),
                                 plural(verdict.file.ranks, "gpu"),
                                 check.in_place ? "in place" : "out of place", name_of(check.verdict));
  if (check.verdict == MscclCheck::Verdict::undecided) return text + ": " + check.reason + "\n";
  text += ", " + plural(check.messages, "message");
  if (check.slots_min || check.deadlock) text += ", " + slots_text(verdict, check);
  return text + "\n";
}

std::string text_of(const Point& point) {
  const std::string head = fmt::format("  on {}, {} B: ", point.cluster, point.collective.bytes.count());
  if (!point.time) return head + name_of(point.status) + ": " + point.reason + "\n";
  const std::int64_t nanoseconds = (point.time->picoseconds() + 500) / 1'000;
  return head + fmt::format("{}.{:03} us\n", nanoseconds / 1'000, nanoseconds % 1'000);
}

ordered_json json_of(const MscclFinding::Place& place) {
  return {{"gpu", place.gpu}, {"tb", place.tb}, {"step", place.step}, {"line", place.line}};
}

ordered_json json_of(const MscclFinding& finding) {
  ordered_json json = json_of(finding.place);
  json["column"] = finding.column;
  json["severity"] = word_of(finding.severity);
  json["text"] = finding.text;
  json["expected"] = finding.expected;
  json["hint"] = finding.hint;
  json["nccl"] = finding.nccl;
  if (finding.other.gpu >= 0) json["other"] = json_of(finding.other);
  return json;
}

ordered_json json_of(const FileVerdict& verdict, const MscclCheck& check) {
  ordered_json findings = ordered_json::array();
  for (const MscclFinding& finding : check.findings) findings.push_back(json_of(finding));
  ordered_json json = {{"collective", collsim::name_of(verdict.file.kind)},
                       {"algorithm", verdict.path},
                       {"name", verdict.file.name},
                       {"ranks", verdict.file.ranks},
                       {"in_place", check.in_place},
                       {"status", name_of(check.verdict)},
                       {"reason", check.reason},
                       {"deadlock", check.deadlock},
                       {"messages", check.messages},
                       {"slots", verdict.slots},
                       {"slots_min", nullptr},
                       {"errors", check.errors},
                       {"warnings", check.warnings},
                       {"findings", findings}};
  if (check.slots_min) json["slots_min"] = *check.slots_min;
  return json;
}

}  // namespace

const char* name_of(MscclCheck::Verdict verdict) {
  switch (verdict) {
    case MscclCheck::Verdict::proven:
      return "proven";
    case MscclCheck::Verdict::refuted:
      return "refuted";
    case MscclCheck::Verdict::undecided:
      return "undecided";
  }
  return "unknown";
}

std::string text_of(const Verdict& verdict) {
  const std::string head =
      fmt::format("{} on {} ({} of {}): {}", verdict.algorithm, plural(verdict.ranks, "rank"),
                  plural(verdict.nodes, "node"), verdict.ranks / verdict.nodes, verdict.status);
  if (verdict.status == "impossible") return head + ": " + verdict.reason + "\n";
  std::string text = head + "\n";
  if (verdict.status != "undecided") text = head + ", " + plural(verdict.proof.messages, "message") + "\n";
  for (const ProofFailure& failure : verdict.proof.failures) text += "  " + failure.text + "\n";
  return text;
}

std::string text_of(const FileVerdict& verdict) {
  std::string text;
  for (const MscclCheck& check : verdict.checks) {
    text += head_of(verdict, check);
    std::int64_t errors = check.errors;
    std::int64_t warnings = check.warnings;
    for (const MscclFinding& finding : check.findings) {
      --(finding.severity == MscclFinding::Severity::error ? errors : warnings);
      text += text_of(finding, verdict.path);
    }
    if (errors > 0) text += fmt::format("  ... and {} more\n", plural(errors, "error"));
    if (warnings > 0) text += fmt::format("  ... and {} more\n", plural(warnings, "warning"));
  }
  for (const Point& point : verdict.points) text += text_of(point);
  return text;
}

std::string json_of(const std::vector<Verdict>& verdicts) {
  ordered_json json;
  json["collsim"] = COLLSIM_VERSION;
  json["proofs"] = ordered_json::array();
  for (const Verdict& verdict : verdicts) {
    ordered_json failures = ordered_json::array();
    for (const ProofFailure& failure : verdict.proof.failures) {
      failures.push_back({{"rank", failure.rank},
                          {"stream", failure.stream},
                          {"step", failure.step},
                          {"text", failure.text}});
    }
    json["proofs"].push_back({{"collective", collsim::name_of(verdict.collective.kind)},
                              {"algorithm", verdict.algorithm},
                              {"ranks", verdict.ranks},
                              {"nodes", verdict.nodes},
                              {"bytes", verdict.collective.bytes.count()},
                              {"status", verdict.status},
                              {"reason", verdict.reason},
                              {"deadlock", verdict.proof.deadlock},
                              {"messages", verdict.proof.messages},
                              {"failures", failures}});
  }
  return dump(json);
}

std::string json_of(const FileVerdict& verdict) {
  ordered_json json;
  json["collsim"] = COLLSIM_VERSION;
  json["proofs"] = ordered_json::array();
  for (const MscclCheck& check : verdict.checks) json["proofs"].push_back(json_of(verdict, check));
  if (verdict.points.empty()) return dump(json);
  json["points"] = ordered_json::array();
  for (const Point& point : verdict.points) {
    ordered_json entry = {{"cluster", point.cluster},
                          {"bytes", point.collective.bytes.count()},
                          {"status", collsim::name_of(point.status)},
                          {"reason", point.reason},
                          {"time_ps", nullptr}};
    if (point.time) entry["time_ps"] = point.time->picoseconds();
    json["points"].push_back(std::move(entry));
  }
  return dump(json);
}

}  // namespace collsim::program
