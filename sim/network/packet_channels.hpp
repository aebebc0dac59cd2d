// ChannelOrder: which virtual channel a packet takes on each link, so that packets cannot wait in a circle.
//
// Links are vertices, consecutive links of a route arcs. A depth-first search numbers the links against the
// order in which it leaves them: then only arcs that close a circle go back in the order. A route starts in
// channel 0, and takes the next channel with every arc that goes back. So (channel, number) grows along every
// route, and a packet holds room only where what it waits for is greater: no circle (Dally and Seitz 1987).
// Routes up and down a tree need one channel, a ring two, a torus at most one more than it has dimensions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace collsim::packet {

class ChannelOrder {
 public:
  void add_route(std::span<const std::uint32_t> route);
  // Numbers the links 0 .. links - 1. O(links + arcs * log arcs)
  void number(std::size_t links);
  bool goes_back(std::uint32_t from, std::uint32_t to) const { return number_[to] <= number_[from]; }
  // How many channels a route takes, once the links are numbered.
  std::int32_t channels(std::span<const std::uint32_t> route) const;

 private:
  void remove_repeated();
  void visit(std::uint32_t root, std::vector<std::uint32_t>& left);

  std::vector<std::uint64_t> arcs_;  // from << 32 | to
  std::size_t distinct_ = 0;         // of the first ones
  std::vector<std::size_t> first_;   // [link]: of its arcs
  std::vector<std::uint32_t> number_;
};

}  // namespace collsim::packet
