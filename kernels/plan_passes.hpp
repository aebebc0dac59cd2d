// What makes a drafted plan cheaper: sends that write straight into their target, and receives that send on.
// Internal to kernels.
//
// Order       Tasks are ordered by (level, number), where the level of a task is one more than the largest of
//             its predecessors. Every predecessor that is added, and every task that moves, goes by positions
//             in this order, so that it stays an order of the new plan.
// Proven      In a proven schedule any two accesses to a cell of which one writes are ordered by the tasks'
//             predecessors. (The proof uses dependencies, streams, messages and aggregations, all of which
//             are predecessors here, and no slots.)
//
// direct      Send s, receive r of chunk C. The users of C before r by position are before it by predecessors
//             too, and those after it likewise. s may write C if all users before r have positions below that
//             of s; they become its predecessors, and r, now without work, stays behind s. Then users before
//             r come before s, users after r come after r and so after s: C is seen as before. Of the users
//             before r the last write and the reads since are enough: what came before that write is before
//             it, or before the send that does it, by the same argument.
// fused       Receive r of chunk C, and a send s of C of which r is the last predecessor by position. Done as
//             one at r's position, all other predecessors of s come first, and what comes after s still does.
//             Nobody writes C between the two: it would have to be after r and before s by predecessors.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kernels/plan_draft.hpp"
#include "sim/model/layout.hpp"

namespace collsim::kernels {

// REQUIRES: the schedule is proven
class PlanPasses {
 public:
  PlanPasses(Draft& draft, const Layout& layout);

  void direct();
  void fuse();
  // Puts the draft's tasks in order, with what has changed. Nothing may follow it.
  void rebuild();

 private:
  // Who used a cell last: the task that wrote it, and those that have read it since (a list in reads_).
  struct Users {
    std::int32_t write = -1;
    std::int32_t first_read = -1;
  };
  struct Read {
    std::int32_t task;
    std::int32_t next;
  };

  std::int32_t position(std::int32_t task) const { return position_[static_cast<std::size_t>(task)]; }
  std::int32_t now(std::int32_t task) const {
    const std::int32_t into = merged_[static_cast<std::size_t>(task)];
    return into < 0 ? task : into;
  }
  std::span<Users> users_of(const Place& place, std::int64_t bytes);
  bool write_directly(std::int32_t receive);
  void use(std::int32_t number);
  void forget_reads(Users& users);
  void index_added();
  // Adds the predecessors that the task has by now, as they are numbered by now.
  void predecessors_of(std::int32_t task, std::vector<std::int32_t>& found) const;
  void fuse_send(std::int32_t send);

  Draft& draft_;
  std::vector<std::int32_t> order_;     // tasks by position
  std::vector<std::int32_t> position_;  // [task]
  std::vector<std::int32_t> merged_;    // [task]: the receive that does this send as well, or -1
  std::vector<std::int32_t> second_;    // [task]: the send that it does as well, or -1
  std::vector<std::pair<std::int32_t, std::int32_t>> added_;  // (task, predecessor), sorted by index_added()
  std::vector<std::size_t> first_added_;                      // [task]
  std::vector<std::int64_t> output_start_;                    // [cell]: its first byte
  std::vector<std::int64_t> scratch_start_;
  std::vector<std::vector<Users>> users_;  // [area][cell]
  std::vector<Read> reads_;
  std::int32_t free_read_ = -1;
  std::vector<std::int32_t> earlier_;  // users before a receive
};

}  // namespace collsim::kernels
