// What must hold of every text that is read as an MSCCL file.
#pragma once

#include <string_view>
#include <variant>
#include <vector>

#include "algorithms/msccl_check.hpp"
#include "algorithms/msccl_reader.hpp"
#include "algorithms/msccl_schedule.hpp"
#include "algorithms/msccl_writer.hpp"
#include "sim/model/proof.hpp"

namespace collsim::fuzz {

inline bool is_said(const algorithms::MscclFinding& finding) {
  return !finding.text.empty() && finding.place.line >= 0 && finding.column >= 0;
}

// A text is malformed and it is said why, or each kind of call is proven, refuted with an error, or undecided
// with a reason. What is proven is a schedule that is proven, and reads back from what is written of it.
inline bool msccl_property_holds(std::string_view text) {
  const auto read = algorithms::read_msccl(text);
  if (const auto* findings = std::get_if<std::vector<algorithms::MscclFinding>>(&read)) {
    for (const algorithms::MscclFinding& finding : *findings)
      if (!is_said(finding)) return false;
    return !findings->empty();
  }
  const auto& file = std::get<algorithms::MscclFile>(read);
  for (const algorithms::MscclCheck& check : algorithms::check_msccl(file)) {
    for (const algorithms::MscclFinding& finding : check.findings)
      if (!is_said(finding)) return false;
    if (check.verdict == algorithms::MscclCheck::Verdict::undecided) {
      if (check.reason.empty()) return false;
      continue;
    }
    const bool proven = check.verdict == algorithms::MscclCheck::Verdict::proven;
    if (proven == (check.errors > 0)) return false;
    if (!proven) continue;
    Collective collective;
    collective.kind = file.kind;
    collective.root = algorithms::root_of(file);
    collective.bytes = Bytes(std::int64_t{file.chunks} * 8);
    algorithms::MscclReading reading;
    reading.in_place = check.in_place;
    const auto made = algorithms::schedule_from(file, collective, file.ranks, reading);
    if (!std::holds_alternative<Schedule>(made)) return false;
    const auto written = algorithms::write_msccl(std::get<Schedule>(made));
    if (!std::holds_alternative<std::string>(written)) continue;  // all-to-all in place, for instance
    if (!std::holds_alternative<algorithms::MscclFile>(
            algorithms::read_msccl(std::get<std::string>(written))))
      return false;
  }
  return true;
}

}  // namespace collsim::fuzz
