#include "experiments/simulators.hpp"

#include <utility>

#include "sim/core/check.hpp"

namespace collsim::program {

Simulators::Simulators(const Topology& topology, std::size_t algorithms, std::size_t points)
    : topology_(topology), shelves_(algorithms) {
  for (Shelf& shelf : shelves_) shelf.points_left = points;
}

std::unique_ptr<Simulator> Simulators::take(std::size_t algorithm) {
  const std::lock_guard lock(mutex_);
  Shelf& shelf = shelves_[algorithm];
  COLLSIM_CHECK(shelf.points_left > 0);
  --shelf.points_left;
  if (shelf.idle.empty()) return std::make_unique<Simulator>(topology_);
  std::unique_ptr<Simulator> simulator = std::move(shelf.idle.back());
  shelf.idle.pop_back();
  return simulator;
}

void Simulators::give_back(std::size_t algorithm, std::unique_ptr<Simulator> simulator) {
  std::vector<std::unique_ptr<Simulator>> unused;  // destroyed after the lock is gone
  const std::lock_guard lock(mutex_);
  Shelf& shelf = shelves_[algorithm];
  if (simulator) shelf.idle.push_back(std::move(simulator));
  if (shelf.points_left == 0) unused.swap(shelf.idle);
}

Simulators::Lease::Lease(Simulators& simulators, std::size_t algorithm)
    : simulators_(simulators), algorithm_(algorithm), simulator_(simulators.take(algorithm)) {}

Simulators::Lease::~Lease() { simulators_.give_back(algorithm_, std::move(simulator_)); }

}  // namespace collsim::program
