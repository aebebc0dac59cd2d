// WorkPlan: which point a thread does next, and the Simulator that it does it with.
//
// A Simulator keeps what it found of routes and classes, so that the next size of the same algorithm starts
// at once. So a thread stays with its algorithm while that has sizes left, then begins the next one, and
// helps with another only when all have begun. Sizes are taken in order. There are never more Simulators than
// threads.
// Threads     Everything may be called by any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "sim/execution/simulation.hpp"
#include "sim/model/topology.hpp"

namespace collsim::program {

class WorkPlan {
 public:
  WorkPlan(const Topology& topology, std::size_t algorithms, std::size_t sizes);

  // The next point, taken when this is made and done when it is gone.
  // REQUIRES: no more than algorithms * sizes are made
  class Task {
   public:
    explicit Task(WorkPlan& plan);
    ~Task();
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;
    std::size_t algorithm() const { return algorithm_; }
    std::size_t size() const { return size_; }  // an index
    Simulator& simulator() { return *simulator_; }
    void discard() { simulator_.reset(); }  // nobody gets this Simulator any more

   private:
    WorkPlan& plan_;
    std::size_t algorithm_ = 0;
    std::size_t size_ = 0;
    std::unique_ptr<Simulator> simulator_;
  };

 private:
  struct Row {
    std::size_t taken = 0;  // sizes
    std::vector<std::unique_ptr<Simulator>> idle;
  };
  std::size_t next_algorithm() const;

  const Topology& topology_;
  std::size_t sizes_;
  std::mutex mutex_;
  std::vector<Row> rows_;  // [algorithm]
};

}  // namespace collsim::program
