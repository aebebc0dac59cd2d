// A rank's streams written down one after the other, for algorithms in which ranks have unlike ones.
//
// A Plan says what the streams of a rank are by visiting them in order; set_streams() makes programs,
// stream_count and bind of it. A stream has a key, which says what distinguishes its program from others, and
// a filler for its binding, which is called only for the stream that is asked for. So a bind costs a step a
// stream of the rank, and memory is that of the programs.
//
//   class Plan {
//     void visit(Rank rank, RankStreams& streams) const;  // streams.add(key, filler), stream by stream
//     Program program(const ProgramKey& key) const;
//   };
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "sim/core/check.hpp"
#include "sim/model/schedule.hpp"

namespace collsim::algorithms {

// A role, and what else a program depends on.
using ProgramKey = std::array<std::int64_t, 6>;
using ProgramNumbers = std::map<ProgramKey, std::int32_t>;

class RankStreams {
 public:
  // Counts; notes the keys in `keys`, in order of appearance, if that is not null.
  explicit RankStreams(std::vector<ProgramKey>* keys) : keys_(keys) {}
  // Fills the binding of stream `wanted`.
  RankStreams(const ProgramNumbers& numbers, std::int32_t wanted, Binding& binding)
      : numbers_(&numbers), wanted_(wanted), binding_(&binding) {}

  // The next stream; its number.
  template <class Filler>
  std::int32_t add(const ProgramKey& key, const Filler& fill) {
    if (keys_ != nullptr) keys_->push_back(key);
    if (count_ == wanted_) {
      const auto found = numbers_->find(key);
      COLLSIM_CHECK(found != numbers_->end());
      binding_->program = found->second;
      fill(*binding_);
    }
    return count_++;
  }
  std::int32_t count() const { return count_; }

 private:
  std::vector<ProgramKey>* keys_ = nullptr;
  const ProgramNumbers* numbers_ = nullptr;
  std::int32_t wanted_ = -1;
  Binding* binding_ = nullptr;
  std::int32_t count_ = 0;
};

// REQUIRES: `samples` have streams of every key that any rank has
template <class Plan>
void set_streams(Schedule& schedule, Plan plan, const std::vector<Rank>& samples) {
  ProgramNumbers numbers;
  for (const Rank rank : samples) {
    std::vector<ProgramKey> keys;
    RankStreams streams(&keys);
    plan.visit(rank, streams);
    for (const ProgramKey& key : keys) {
      const bool is_new = numbers.emplace(key, static_cast<std::int32_t>(schedule.programs.size())).second;
      if (is_new) schedule.programs.push_back(plan.program(key));
    }
  }
  struct Shared {
    Plan plan;
    ProgramNumbers numbers;
  };
  const auto shared = std::make_shared<const Shared>(Shared{std::move(plan), std::move(numbers)});
  schedule.stream_count = [shared](Rank rank) {
    RankStreams streams(nullptr);
    shared->plan.visit(rank, streams);
    return streams.count();
  };
  schedule.bind = [shared](Rank rank, std::int32_t stream, Binding& binding) {
    RankStreams streams(shared->numbers, stream, binding);
    shared->plan.visit(rank, streams);
  };
}

}  // namespace collsim::algorithms
