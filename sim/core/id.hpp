// Id<Tag>: a dense index with a type, so that a link cannot be used where a vertex is meant.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace collsim {

template <class Tag>
struct Id {
  static constexpr std::uint32_t none_value = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t value = none_value;

  constexpr Id() = default;
  constexpr explicit Id(std::uint32_t index) : value(index) {}
  constexpr explicit Id(std::size_t index) : value(static_cast<std::uint32_t>(index)) {}
  constexpr explicit Id(int index) : value(static_cast<std::uint32_t>(index)) {}
  constexpr bool exists() const { return value != none_value; }
  friend constexpr bool operator==(Id, Id) = default;
  friend constexpr auto operator<=>(Id, Id) = default;
};

using VertexId = Id<struct VertexTag>;
using LinkId = Id<struct LinkTag>;

// A rank is what the field calls a rank: 0 .. N-1, signed because schedules do modular arithmetic on it.
using Rank = std::int32_t;

}  // namespace collsim
