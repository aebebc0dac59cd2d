#include "sim/model/placement.hpp"

#include <algorithm>

namespace collsim {

std::int32_t Placement::node_of(Rank rank) const {
  if (is_even()) return rank / gpus_per_node;
  return static_cast<std::int32_t>(std::upper_bound(first_rank.begin(), first_rank.end(), rank) -
                                   first_rank.begin()) -
         1;
}

}  // namespace collsim
