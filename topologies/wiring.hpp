// Wiring: the vertices and cables of a cluster while it is being built.
//
// Links are laid cable by cable, those that lead one way only after all cables.
// Cable c is the two links 2c (from `a` to `b`) and 2c + 1 (back), so route rules compute link ids from the
// order in which cables were laid and store no table.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/model/topology.hpp"

namespace collsim::topologies {

// 64 bits, since products of coordinates are formed from it; a built cluster has fewer than 2^31.
using Cable = std::int64_t;

constexpr LinkId forward(Cable cable) { return LinkId(static_cast<std::uint32_t>(2 * cable)); }
constexpr LinkId backward(Cable cable) { return LinkId(static_cast<std::uint32_t>(2 * cable + 1)); }

// What one cable carries each way.
struct CableSpec {
  Bandwidth bandwidth;
  Duration latency;
};

struct Wiring {
  std::vector<Vertex> vertices;
  std::vector<Link> links;

  Cable next_cable() const { return static_cast<Cable>(links.size() / 2); }
  VertexId next_vertex() const { return VertexId(vertices.size()); }

  void add_vertex(VertexKind kind, int level, std::int32_t node, std::int32_t index) {
    vertices.push_back({kind, static_cast<std::int8_t>(level), node, index});
  }
  void add_cable(VertexId a, VertexId b, const CableSpec& cable) {
    links.push_back({a, b, cable.bandwidth, cable.latency});
    links.push_back({b, a, cable.bandwidth, cable.latency});
  }
  // The two links of a GPU through two switches, which count as a cable: from a to b, and from c to a.
  void add_loop(VertexId a, VertexId b, VertexId c, const CableSpec& cable) {
    links.push_back({a, b, cable.bandwidth, cable.latency});
    links.push_back({c, a, cable.bandwidth, cable.latency});
  }
  // Leads one way only. REQUIRES: no cable is laid any more
  LinkId add_link(VertexId from, VertexId to, const CableSpec& cable) {
    links.push_back({from, to, cable.bandwidth, cable.latency});
    return LinkId(static_cast<std::uint32_t>(links.size() - 1));
  }
};

// The vertex `offset` places after `first`.
constexpr VertexId after(VertexId first, std::int64_t offset) {
  return VertexId(static_cast<std::uint32_t>(first.value + offset));
}

}  // namespace collsim::topologies
