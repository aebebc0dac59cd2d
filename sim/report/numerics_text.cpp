#include "sim/report/numerics_text.hpp"

#include <fmt/format.h>

#include <string_view>

namespace collsim {

namespace {

// What the bound is a factor of.
std::string_view scale_of(ReductionOp reduction) {
  switch (reduction) {
    case ReductionOp::sum:
      return "the sum of |x|";
    case ReductionOp::avg:
      return "the mean of |x|";
    case ReductionOp::prod:
      return "|product|";
    case ReductionOp::min:
    case ReductionOp::max:
      break;
  }
  return "";
}

std::string error_text(const Numerics& numerics, const Collective& collective, std::int64_t ranks) {
  const std::optional<double> bound = error_bound(numerics, collective, ranks);
  if (!bound) return fmt::format("so many roundings of {} have no bound", name_of(collective.datatype));
  return fmt::format("error at most {:.3g} times {}", *bound, scale_of(collective.reduction));
}

}  // namespace

std::string numerics_text(const Numerics& numerics, const Collective& collective, std::int64_t ranks) {
  if (!reduces(collective.kind)) return "";
  const std::string what =
      fmt::format("{} {}: ", name_of(collective.datatype), name_of(collective.reduction));
  if (is_exact(collective)) return what + "exact, in any order";
  if (!numerics.known) return numerics.reason.empty() ? "" : what + "not known, " + numerics.reason;
  // A reduce and a reduce-scatter give an element to one rank alone.
  const bool is_shared = collective.kind == CollectiveKind::all_reduce;
  std::string text = what;
  if (is_shared) {
    text += same_on_all_ranks(numerics, collective) ? "every rank gets bitwise the same, "
                                                    : "ranks can differ in the last bits, ";
  }
  text += repeats(numerics, collective)
              ? "every run the same"
              : "runs can differ, because " + why_not_repeated(numerics, collective);
  return text + "; " + error_text(numerics, collective, ranks);
}

}  // namespace collsim
