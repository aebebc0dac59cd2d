// fold(): an Instance with one element for each class of streams, connections, groups and resources that
// always behave alike.
//
// Classes are the cells of the coarsest equitable partition of the instance: streams of a class run the same
// program on equal sizes and have, slot by slot, peers, dependencies and groups of the same classes;
// connections of a class have equal latencies and, resource class by resource class, equally many resources;
// resources of a class have equal capacities and carry equally many flows of each class. By induction over
// time all members of a class are in the same state at every instant: max-min rates are unique, hence
// constant on classes, and all else follows from the program. So the folded run gives exactly the times,
// bytes and counts of the whole one (README.md).
//
// Nothing is said about which elements of data a rank holds: classes of equal times need not have equal
// contents, so a schedule is never proven from classes.
//
// Complexity  O(E log V) for E = uses of resources, peers and dependencies.
#pragma once

#include <cstddef>
#include <optional>

#include "sim/execution/instance.hpp"
#include "sim/execution/outcome.hpp"

namespace collsim {

struct Folded {
  Instance instance;
  Classes classes;                           // of the streams and resources of the whole instance
  std::vector<std::uint32_t> first_streams;  // [stream of the folded instance]: the first of its class
};

// Takes over sizes, trips and bases after rebind() of the whole instance. REQUIRES: sizes are uniform before
// and after
void rebind(Folded& folded, const Instance& whole);

// Nothing if there are more than `classes_max` classes.
std::optional<Folded> fold(const Instance& instance, std::size_t classes_max);

}  // namespace collsim
