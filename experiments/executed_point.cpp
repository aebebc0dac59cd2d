#include "experiments/executed_point.hpp"

#include <utility>

namespace collsim::program {

namespace {

const char* name_of(kernels::AreaKind kind) {
  switch (kind) {
    case kernels::AreaKind::input:
      return "its input";
    case kernels::AreaKind::output:
      return "its output";
    case kernels::AreaKind::scratch:
      return "its scratch";
    case kernels::AreaKind::staging:
      return "its staging memory";
  }
  return "its memory";
}

}  // namespace

const char* name_of(ExecutionStatus status) {
  switch (status) {
    case ExecutionStatus::ok:
      return "ok";
    case ExecutionStatus::wrong:
      return "wrong";
    case ExecutionStatus::unproven:
      return "unproven";
    case ExecutionStatus::deadlock:
      return "deadlock";
    case ExecutionStatus::impossible:
      return "impossible";
    case ExecutionStatus::limit:
      return "limit";
    case ExecutionStatus::failed:
      return "failed";
  }
  return "unknown";
}

const char* name_of(ProofVerdict verdict) {
  switch (verdict) {
    case ProofVerdict::none:
      return "none";
    case ProofVerdict::proven:
      return "proven";
    case ProofVerdict::refuted:
      return "refuted";
    case ProofVerdict::undecided:
      return "undecided";
  }
  return "unknown";
}

const char* name_of(kernels::InputKind inputs) {
  return inputs == kernels::InputKind::exact ? "exact" : "random";
}

std::string text_of(const BreachedArea& breach) {
  const std::string distance = std::to_string(breach.bytes) + (breach.bytes == 1 ? " byte" : " bytes");
  const std::string where = breach.before       ? distance + " before the begin of "
                            : breach.bytes == 0 ? "right at the end of "
                                                : distance + " past the end of ";
  return "rank " + std::to_string(breach.rank) + ": written " + where + name_of(breach.kind);
}

bool fail(ExecutedPoint& point, ExecutionStatus status, std::string reason) {
  point.status = status;
  point.reason = std::move(reason);
  return false;
}

std::string agreement_of(const ExecutedPoint& point) {
  if (!point.ran()) return "";
  const bool wrong = point.status == ExecutionStatus::wrong;
  switch (point.proof) {
    case ProofVerdict::none:
      return "";
    case ProofVerdict::undecided:
      return wrong ? "the proof is undecided, the execution refutes it"
                   : "the proof is undecided, no run gave a wrong value";
    case ProofVerdict::proven:
      return wrong
                 ? "the proof and the execution do not agree: one of collsim's parts is wrong, or the device"
                 : "the proof and the execution agree";
    case ProofVerdict::refuted:
      return wrong ? "the proof and the execution agree: both refute it"
                   : "the proof refutes it, but no run gave a wrong value";
  }
  return "";
}

}  // namespace collsim::program
