#include "algorithms/msccl_run.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace collsim::algorithms {
namespace {

// What keeps a thread block from its next step.
struct Obstacle {
  enum class Kind { none, dependency, message, slot };
  Kind kind = Kind::none;
  std::int32_t tb = -1;    // that can remove it
  std::int32_t step = -1;  // dependency: by doing this
};

Obstacle obstacle(const MscclIndex& index, const MscclRun& run, std::int64_t slots, std::int32_t number) {
  const MscclIndex::Tb& tb = index.tb(number);
  const std::int32_t next = tb.first + run.done[static_cast<std::size_t>(number)];
  const MscclStep& step = index.step(next);
  const std::int32_t target = index.waits_for(next);
  if (target >= 0) {
    const std::int32_t other = index.tb_of(target);
    if (index.tb(other).first + run.done[static_cast<std::size_t>(other)] <= target)
      return {Obstacle::Kind::dependency, other, target};
  }
  const auto in_flight = [&run](std::int32_t link) {
    return run.sent[static_cast<std::size_t>(link)] - run.taken[static_cast<std::size_t>(link)];
  };
  if (receives(step.type) && in_flight(tb.receive_link) == 0)
    return {Obstacle::Kind::message, index.link(tb.receive_link).sender, -1};
  if (sends(step.type) && in_flight(tb.send_link) >= slots)
    return {Obstacle::Kind::slot, index.link(tb.send_link).receiver, -1};
  return {};
}

bool finished(const MscclIndex& index, const MscclRun& run, std::int32_t number) {
  return run.done[static_cast<std::size_t>(number)] == index.tb(number).count;
}

// Runs thread blocks as far as they get, and again when what stopped them may be over.
class Runner {
 public:
  Runner(const MscclIndex& index, std::int64_t slots)
      : index_(index), slots_(slots), waiters_(index.tbs().size()) {
    run_.done.resize(index.tbs().size());
    run_.sent.resize(index.links().size());
    run_.taken.resize(index.links().size());
    run_.order.reserve(static_cast<std::size_t>(index.steps()));
  }

  MscclRun run() {
    for (auto number = static_cast<std::int32_t>(index_.tbs().size()) - 1; number >= 0; --number)
      ready_.push_back(number);
    while (!ready_.empty()) {
      const std::int32_t number = ready_.back();
      ready_.pop_back();
      if (advance(number)) wake(number);
    }
    run_.ended = static_cast<std::int32_t>(run_.order.size()) == index_.steps();
    return std::move(run_);
  }

 private:
  // Those that a thread block stops: by a step of it, and by messages or slots of its two connections.
  struct Waiters {
    using ByStep = std::pair<std::int32_t, std::int32_t>;  // (step, who waits)
    std::priority_queue<ByStep, std::vector<ByStep>, std::greater<>> by_step;
    std::vector<std::int32_t> others;
  };

  bool advance(std::int32_t number) {
    const MscclIndex::Tb& tb = index_.tb(number);
    bool progress = false;
    while (!finished(index_, run_, number)) {
      const Obstacle stop = obstacle(index_, run_, slots_, number);
      if (stop.kind != Obstacle::Kind::none) {
        Waiters& waiters = waiters_[static_cast<std::size_t>(stop.tb)];
        if (stop.kind == Obstacle::Kind::dependency)
          waiters.by_step.emplace(stop.step, number);
        else
          waiters.others.push_back(number);
        break;
      }
      const std::int32_t step = tb.first + run_.done[static_cast<std::size_t>(number)]++;
      run_.order.push_back(step);
      if (receives(index_.step(step).type)) ++run_.taken[static_cast<std::size_t>(tb.receive_link)];
      if (sends(index_.step(step).type)) ++run_.sent[static_cast<std::size_t>(tb.send_link)];
      progress = true;
    }
    return progress;
  }

  void wake(std::int32_t number) {
    Waiters& waiters = waiters_[static_cast<std::size_t>(number)];
    const std::int32_t done = index_.tb(number).first + run_.done[static_cast<std::size_t>(number)];
    while (!waiters.by_step.empty() && waiters.by_step.top().first < done) {
      ready_.push_back(waiters.by_step.top().second);
      waiters.by_step.pop();
    }
    for (const std::int32_t other : std::exchange(waiters.others, {})) ready_.push_back(other);
  }

  const MscclIndex& index_;
  const std::int64_t slots_;
  MscclRun run_;
  std::vector<Waiters> waiters_;  // [tb]
  std::vector<std::int32_t> ready_;
};

}  // namespace

MscclRun run_msccl(const MscclIndex& index, std::int64_t slots) { return Runner(index, slots).run(); }

std::optional<std::int64_t> smallest_slots(const MscclIndex& index) {
  std::int64_t enough = 1;
  for (const MscclIndex::Link& link : index.links())
    enough = std::max(enough, static_cast<std::int64_t>(link.sends.size()));
  if (!run_msccl(index, enough).ended) return std::nullopt;
  std::int64_t least = 1;
  while (least < enough) {
    const std::int64_t middle = least + (enough - least) / 2;
    if (run_msccl(index, middle).ended)
      enough = middle;
    else
      least = middle + 1;
  }
  return least;
}

void explain_deadlock(const MscclIndex& index, const MscclRun& run, std::int64_t slots,
                      MscclFindings& findings) {
  std::int32_t at = 0;
  while (finished(index, run, at)) ++at;
  // Following the obstacles comes back to a thread block that was seen: the cycle begins there.
  std::vector<bool> seen(index.tbs().size());
  while (!seen[static_cast<std::size_t>(at)]) {
    seen[static_cast<std::size_t>(at)] = true;
    at = obstacle(index, run, slots, at).tb;
  }
  const std::int32_t first = at;
  do {
    const Obstacle stop = obstacle(index, run, slots, at);
    const MscclIndex::Tb& tb = index.tb(at);
    const std::int32_t step = tb.first + run.done[static_cast<std::size_t>(at)];
    const std::string type(name_of(index.step(step).type));
    const MscclIndex::Tb& next = index.tb(stop.tb);
    const MscclFinding::Place other = index.place(next.first + run.done[static_cast<std::size_t>(stop.tb)]);
    std::string text = "deadlock: " + type + " waits for ";
    if (stop.kind == Obstacle::Kind::dependency)
      text += "step " + std::to_string(index.step(step).dependency_step) + " of tb " +
              std::to_string(index.step(step).dependency_tb);
    else if (stop.kind == Obstacle::Kind::message)
      text += "a message from gpu " + std::to_string(next.gpu);
    else
      text += "one of " + std::to_string(slots) + (slots == 1 ? " slot" : " slots") + " to gpu " +
              std::to_string(next.gpu);
    text += "; " + text_with_line(other) + " comes first";
    findings.error(index.place(step), std::move(text), "hangs", other);
    at = stop.tb;
  } while (at != first);
}

}  // namespace collsim::algorithms
