// Simulators: one for each algorithm and thread, handed from size to size.
//
// A Simulator keeps what it found of routes and classes, so the next size of the same algorithm starts at
// once. It is gone when no point of its algorithm is left.
// Threads     Leases may be taken and given back by any thread; a Simulator belongs to one lease at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "sim/execution/simulation.hpp"
#include "sim/model/topology.hpp"

namespace collsim::program {

class Simulators {
 public:
  // `points`: so many leases of each algorithm will be taken.
  Simulators(const Topology& topology, std::size_t algorithms, std::size_t points);

  // The use of a Simulator for one point.
  class Lease {
   public:
    Lease(Simulators& simulators, std::size_t algorithm);
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Simulator& simulator() { return *simulator_; }
    void discard() { simulator_.reset(); }  // nobody gets it any more

   private:
    Simulators& simulators_;
    std::size_t algorithm_;
    std::unique_ptr<Simulator> simulator_;
  };

 private:
  struct Shelf {
    std::size_t points_left = 0;
    std::vector<std::unique_ptr<Simulator>> idle;
  };
  std::unique_ptr<Simulator> take(std::size_t algorithm);
  void give_back(std::size_t algorithm, std::unique_ptr<Simulator> simulator);

  const Topology& topology_;
  std::mutex mutex_;
  std::vector<Shelf> shelves_;  // [algorithm]
};

}  // namespace collsim::program
