// Order that follows from dependencies, over many streams.
#include "sim/model/proof_order.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace collsim;

namespace {

// Stream t has `steps` operations; operation i waits for operation i of stream t + 1. The last stream waits
// for nobody. Every query may come over all operations of all streams.
class Ladder {
 public:
  Ladder(std::int32_t streams, std::int64_t steps) : targets_(static_cast<std::size_t>(streams)) {
    Loop loop;
    for (std::int64_t i = 0; i < steps; ++i) {
      OperationTemplate operation;
      operation.dependencies.push_back({0, i, 0});
      loop.body.push_back(operation);
    }
    waiting_.loops = {loop};
    for (OperationTemplate& operation : loop.body) operation.dependencies.clear();
    free_.loops = {loop};
    for (std::int32_t stream = 0; stream < streams; ++stream)
      targets_[static_cast<std::size_t>(stream)] = stream + 1;
  }
  WaitsOf waits() const {
    return [this](std::int32_t stream) {
      const bool last = static_cast<std::size_t>(stream) + 1 == targets_.size();
      return StreamWaits{last ? &free_ : &waiting_, &targets_[static_cast<std::size_t>(stream)]};
    };
  }

 private:
  Program waiting_;
  Program free_;
  std::vector<std::int32_t> targets_;
};

// One loop of many trips: operation of trip k waits for operation 2 k + 1 of the other stream.
Program strided(std::int64_t trips) {
  OperationTemplate operation;
  operation.dependencies.push_back({0, 1, 2});
  return Program{{Loop{trips, {operation}}}};
}

}  // namespace

TEST_CASE("Order is followed over hundreds of streams, operation by operation") {
  const Ladder ladder(300, 300);
  const WaitsOf waits = ladder.waits();
  for (const std::uint32_t index : {0U, 1U, 150U, 299U})
    for (const std::int32_t stream : {1, 2, 150, 299}) {
      CAPTURE(index);
      CAPTURE(stream);
      CHECK(ordered_by_dependencies(waits, Post{stream, index}, Post{0, index}));
      if (index < 299U) CHECK_FALSE(ordered_by_dependencies(waits, Post{stream, index + 1}, Post{0, index}));
      CHECK_FALSE(ordered_by_dependencies(waits, Post{0, index}, Post{stream, index}));
    }
}

TEST_CASE("Order that depends on the trip reaches as far as the last trip before") {
  const Program own = strided(10);
  const Program other{{Loop{20, {OperationTemplate{}}}}};
  const std::int32_t target = 1;
  const WaitsOf waits = [&](std::int32_t stream) {
    return StreamWaits{stream == 0 ? &own : &other, &target};
  };
  for (std::uint32_t trip = 0; trip < 10; ++trip) {
    CAPTURE(trip);
    CHECK(ordered_by_dependencies(waits, Post{1, 2 * trip + 1}, Post{0, trip}));
    CHECK_FALSE(ordered_by_dependencies(waits, Post{1, 2 * trip + 2}, Post{0, trip}));
  }
}
