#include "experiments/executed_point.hpp"

namespace collsim::program {

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
