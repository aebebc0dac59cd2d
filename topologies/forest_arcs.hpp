// ForestArcs: the ways between ranks that a tree can use, with the links that each loads; and how full the
// links are.
//
// An arc is a route from one rank straight to another, past no third one. Routes of several channels count
// once where they are the same. An arc of a tree that runs both ways loads the routes of both directions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/core/id.hpp"
#include "sim/core/units.hpp"
#include "sim/model/topology.hpp"
#include "topologies/flow.hpp"

namespace collsim::topologies {

enum class TreeUse { down, up, both };  // which way data goes along a tree's arcs

class ForestArcs {
 public:
  struct Arc {
    Rank parent = 0;
    Rank child = 0;
    std::int32_t channel = 0;
    std::uint32_t links_begin = 0;
    std::uint32_t links_end = 0;
  };
  ForestArcs(const Topology& topology, TreeUse use);

  std::size_t size() const { return arcs_.size(); }
  // Whether a link lies on arcs between different ranks, as behind a switch.
  bool share_links() const;
  const Arc& arc(std::size_t index) const { return arcs_[index]; }
  // Arcs from a parent are consecutive.
  std::size_t begin_of(Rank parent) const { return begin_[static_cast<std::size_t>(parent)]; }
  std::size_t end_of(Rank parent) const { return begin_[static_cast<std::size_t>(parent) + 1]; }
  std::span<const LinkId> links(std::size_t index) const {
    const Arc& arc = arcs_[index];
    return std::span(links_).subspan(arc.links_begin, arc.links_end - arc.links_begin);
  }

 private:
  void add_arcs(const Topology& topology, TreeUse use, Rank parent, Rank child);

  std::vector<Arc> arcs_;
  std::vector<std::size_t> begin_;  // [parent]; one more entry holds the end
  std::vector<LinkId> links_;
};

// How often trees cross every link, against how often they may when the tightest cut is the only limit.
class LinkFill {
 public:
  static constexpr int full_bits = 20;
  static constexpr std::int64_t full = 1 << full_bits;  // of a link that is as busy as the tightest cut

  // Trees that each carry 1 / pieces of the bytes. REQUIRES: limit.share > 0
  LinkFill(const Topology& topology, const FlowLimit& limit, std::int64_t pieces);

  // Narrow links are much slower than the fastest one: a tree can cross them a few times at most.
  enum class Which { none, narrow, all };
  void add(std::span<const LinkId> links, Which which) { change(links, which, 1); }
  void take(std::span<const LinkId> links, Which which) { change(links, which, -1); }
  // What it costs to cross the links once more: the slope of a sum of exponentials of all fills, so that
  // what is fullest is dearest (Plotkin, Shmoys and Tardos, Math. Oper. Res. 20(2), 1995), in whole numbers.
  Int128 cost(std::span<const LinkId> links) const {
    Int128 sum = 0;
    for (const LinkId link : links) sum += price(fill_[link.value] + step_[link.value]) * step_[link.value];
    return sum;
  }
  std::int64_t at(LinkId link) const { return fill_[link.value]; }
  std::int64_t fullest() const;

 private:
  void change(std::span<const LinkId> links, Which which, std::int64_t times) {
    if (which == Which::none) return;
    for (const LinkId link : links) {
      const std::int64_t step = step_[link.value];
      if (which == Which::all || step >= narrow_step_) fill_[link.value] += step * times;
    }
  }
  static Int128 price(std::int64_t fill) {
    // 2^(28 fill), straight between whole powers.
    const std::int64_t exponent = 28 * fill;
    const std::int64_t whole = exponent >> full_bits;
    if (whole > whole_max) return (Int128{2} << whole_max) + exponent;
    return (Int128{1} << whole) + ((((Int128{exponent} & (full - 1)) << whole)) >> full_bits);
  }
  static constexpr std::int64_t whole_max = 80;

  std::vector<std::int64_t> step_;  // [link]: what crossing it once adds
  std::vector<std::int64_t> fill_;  // [link]
  std::int64_t narrow_step_ = 0;
};

}  // namespace collsim::topologies
