#include "sim/model/numerics.hpp"

namespace collsim {
namespace {

bool rounds(Datatype datatype) { return unit_roundoff(datatype) > 0; }

}  // namespace

double unit_roundoff(Datatype datatype) {
  // 2^-p for p bits of significand, the hidden one included.
  switch (datatype) {
    case Datatype::float8_e5m2:
      return 0x1p-3;
    case Datatype::float8_e4m3:
      return 0x1p-4;
    case Datatype::bfloat16:
      return 0x1p-8;
    case Datatype::float16:
      return 0x1p-11;
    case Datatype::float32:
      return 0x1p-24;
    case Datatype::float64:
      return 0x1p-53;
    case Datatype::int8:
    case Datatype::uint8:
    case Datatype::int32:
    case Datatype::uint32:
    case Datatype::int64:
    case Datatype::uint64:
      return 0;
  }
  return 0;
}

bool is_exact(const Collective& collective) {
  return !reduces(collective.kind) || !rounds(collective.datatype) ||
         collective.reduction == ReductionOp::min || collective.reduction == ReductionOp::max;
}

bool same_on_all_ranks(const Numerics& numerics, const Collective& collective) {
  return is_exact(collective) || (numerics.known && numerics.same_on_all_ranks);
}

bool repeats(const Numerics& numerics, const Collective& collective) {
  return is_exact(collective) || (numerics.known && numerics.repeats);
}

std::string why_not_repeated(const Numerics& numerics, const Collective& collective) {
  if (repeats(numerics, collective)) return "";
  if (!numerics.known) return numerics.reason;
  std::string text = "the switches of ";
  if (numerics.node_switches_add) text += "a node";
  if (numerics.node_switches_add && numerics.fabric_switches_add) text += " and of ";
  if (numerics.fabric_switches_add) text += "the fabric";
  text += " add in an order of their own (";
  if (numerics.node_switches_add) text += "NVLS";
  if (numerics.node_switches_add && numerics.fabric_switches_add) text += ", ";
  if (numerics.fabric_switches_add) text += "SHARP";
  return text + ")";
}

std::optional<double> error_bound(const Numerics& numerics, const Collective& collective,
                                  std::int64_t ranks) {
  if (is_exact(collective)) return 0;
  if (!numerics.known) return std::nullopt;
  std::int64_t roundings = numerics.additions_deep;
  if (collective.reduction == ReductionOp::avg) ++roundings;
  if (collective.reduction == ReductionOp::prod) roundings = ranks - 1;
  const double share = static_cast<double>(roundings) * unit_roundoff(collective.datatype);
  if (share >= 1) return std::nullopt;
  return share / (1 - share);
}

}  // namespace collsim
