#include "experiments/outcome.hpp"

#include <algorithm>

namespace collsim::program {

ExitCode outcome_of(const std::vector<Point>& points, std::size_t impossible_max) {
  const auto count = [&points](PointStatus status) {
    return static_cast<std::size_t>(std::count_if(
        points.begin(), points.end(), [status](const Point& point) { return point.status == status; }));
  };
  if (count(PointStatus::limit) > 0) return ExitCode::limit;
  for (const PointStatus bad : {PointStatus::deadlock, PointStatus::unproven, PointStatus::failed})
    if (count(bad) > 0) return ExitCode::negative;
  return count(PointStatus::impossible) > impossible_max ? ExitCode::negative : ExitCode::done;
}

bool is_undecided(const Proof& proof) { return proof.undecided; }

}  // namespace collsim::program
