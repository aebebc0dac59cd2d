#include "sim/model/collective.hpp"

#include <array>
#include <utility>

#include "sim/core/check.hpp"

namespace collsim {
namespace {

template <class Enum, std::size_t count>
using Names = std::array<std::pair<Enum, std::string_view>, count>;

constexpr Names<CollectiveKind, 10> collective_names = {{{CollectiveKind::all_reduce, "all_reduce"},
                                                         {CollectiveKind::reduce_scatter, "reduce_scatter"},
                                                         {CollectiveKind::all_gather, "all_gather"},
                                                         {CollectiveKind::broadcast, "broadcast"},
                                                         {CollectiveKind::reduce, "reduce"},
                                                         {CollectiveKind::scatter, "scatter"},
                                                         {CollectiveKind::gather, "gather"},
                                                         {CollectiveKind::all_to_all, "all_to_all"},
                                                         {CollectiveKind::send_recv, "send_recv"},
                                                         {CollectiveKind::barrier, "barrier"}}};

struct DatatypeFacts {
  Datatype datatype;
  std::string_view name;
  int bytes;
};
constexpr std::array<DatatypeFacts, 12> datatype_facts = {{{Datatype::int8, "int8", 1},
                                                           {Datatype::uint8, "uint8", 1},
                                                           {Datatype::int32, "int32", 4},
                                                           {Datatype::uint32, "uint32", 4},
                                                           {Datatype::int64, "int64", 8},
                                                           {Datatype::uint64, "uint64", 8},
                                                           {Datatype::float16, "float16", 2},
                                                           {Datatype::bfloat16, "bfloat16", 2},
                                                           {Datatype::float32, "float32", 4},
                                                           {Datatype::float64, "float64", 8},
                                                           {Datatype::float8_e4m3, "float8_e4m3", 1},
                                                           {Datatype::float8_e5m2, "float8_e5m2", 1}}};

constexpr Names<ReductionOp, 5> reduction_names = {{{ReductionOp::sum, "sum"},
                                                    {ReductionOp::prod, "prod"},
                                                    {ReductionOp::min, "min"},
                                                    {ReductionOp::max, "max"},
                                                    {ReductionOp::avg, "avg"}}};

template <class Table, class Enum>
std::string_view name_in(const Table& table, Enum value) {
  for (const auto& [entry, name] : table)
    if (entry == value) return name;
  COLLSIM_CHECK_MSG(false, "unnamed enumerator");
  return {};
}

template <class Enum, std::size_t count>
std::optional<Enum> value_in(const Names<Enum, count>& table, std::string_view text) {
  for (const auto& [entry, name] : table)
    if (name == text) return entry;
  return std::nullopt;
}

const DatatypeFacts& facts_of(Datatype datatype) {
  for (const DatatypeFacts& facts : datatype_facts)
    if (facts.datatype == datatype) return facts;
  check_failed(__FILE__, __LINE__, "datatype is listed", "");
}

}  // namespace

std::int64_t Collective::elements() const {
  const std::int64_t size = element_bytes(datatype);
  COLLSIM_CHECK(bytes.count() >= 0 && bytes.count() % size == 0);
  return bytes.count() / size;
}

const std::vector<CollectiveKind>& collective_kinds() {
  static const std::vector<CollectiveKind> kinds = [] {
    std::vector<CollectiveKind> all;
    for (const auto& [kind, name] : collective_names) all.push_back(kind);
    return all;
  }();
  return kinds;
}

bool reduces(CollectiveKind kind) {
  return kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter ||
         kind == CollectiveKind::reduce;
}

bool has_root(CollectiveKind kind) {
  return kind == CollectiveKind::broadcast || kind == CollectiveKind::reduce ||
         kind == CollectiveKind::scatter || kind == CollectiveKind::gather;
}

bool in_parts(CollectiveKind kind) {
  return kind == CollectiveKind::reduce_scatter || kind == CollectiveKind::all_gather ||
         kind == CollectiveKind::scatter || kind == CollectiveKind::gather ||
         kind == CollectiveKind::all_to_all;
}

Bytes rounded_to_parts(CollectiveKind kind, Bytes bytes, Datatype datatype, std::int32_t ranks) {
  COLLSIM_CHECK(ranks > 0);
  if (!in_parts(kind)) return bytes;
  return Bytes(bytes.count() - bytes.count() % (std::int64_t{element_bytes(datatype)} * ranks));
}

int element_bytes(Datatype datatype) { return facts_of(datatype).bytes; }
std::string_view name_of(Datatype datatype) { return facts_of(datatype).name; }
std::string_view name_of(CollectiveKind kind) { return name_in(collective_names, kind); }
std::string_view name_of(ReductionOp reduction) { return name_in(reduction_names, reduction); }

std::optional<CollectiveKind> collective_from_name(std::string_view name) {
  return value_in(collective_names, name);
}
std::optional<ReductionOp> reduction_from_name(std::string_view name) {
  return value_in(reduction_names, name);
}
std::optional<Datatype> datatype_from_name(std::string_view name) {
  for (const DatatypeFacts& facts : datatype_facts)
    if (facts.name == name) return facts.datatype;
  return std::nullopt;
}

Fraction bus_factor(CollectiveKind kind, std::int64_t ranks) {
  COLLSIM_CHECK(ranks > 0);
  switch (kind) {
    case CollectiveKind::all_reduce:
      return {2 * (ranks - 1), ranks};
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_gather:
    case CollectiveKind::scatter:
    case CollectiveKind::gather:
    case CollectiveKind::all_to_all:
      return {ranks - 1, ranks};
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce:
    case CollectiveKind::send_recv:
      return {1, 1};
    case CollectiveKind::barrier:
      return {0, 1};
  }
  return {};
}

}  // namespace collsim
