// EventQueue: pending events in the order (time, order of pushing).
//
// A simulation pushes most of its events with one of a few delays: messages of one size take one time, links
// of one kind have one latency. Events pushed with equal delays come due in the order in which they were
// pushed, so they need no heap: each delay gets a lane, a FIFO of which only the head lies in the heap. The
// heap stays as small as the number of lanes, and a push into a lane is an append. Delays that find no lane
// go into the heap directly.
//
// Order       push O(1) into a busy lane, else O(log heap); pop O(log heap).
// No cancel   An event that has become stale is dropped by its receiver when it fires.
// Threads     One owner.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/core/check.hpp"
#include "sim/core/units.hpp"

namespace collsim {

// What is to happen: a kind and a subject, both numbered by the owner of the queue.
struct Event {
  std::uint32_t subject = 0;
  std::uint8_t kind = 0;
};

class EventQueue {
 public:
  bool empty() const { return heap_.empty(); }
  // REQUIRES: !empty()
  Instant next_time() const { return Instant::picoseconds(heap_.front().time); }
  // Events that are pending now.
  std::size_t size() const { return heap_.size() + in_lanes_; }

  // REQUIRES: delay >= 0, and `now` never decreases from call to call
  void push(Instant now, Duration delay, Event event) {
    COLLSIM_DCHECK(delay.picoseconds() >= 0);
    const Entry entry{now.picoseconds() + delay.picoseconds(), sequence_++, event, lane_for(delay)};
    if (entry.lane == no_lane) return push_heap(entry);
    Lane& lane = lanes_[entry.lane];
    if (lane.head_in_heap) {
      lane.append(entry);
      ++in_lanes_;
      return;
    }
    lane.head_in_heap = true;
    push_heap(entry);
  }

  // The earliest event, oldest first among equals. REQUIRES: !empty()
  Event pop() {
    const Entry top = heap_.front();
    if (top.lane != no_lane) {
      Lane& lane = lanes_[top.lane];
      if (!lane.empty()) {
        --in_lanes_;
        replace_top(lane.take());
        return top.event;
      }
      lane.head_in_heap = false;
    }
    const Entry last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) replace_top(last);
    return top.event;
  }

 private:
  static constexpr std::uint8_t no_lane = 255;
  static constexpr std::size_t lane_count = 64;

  struct Entry {
    std::int64_t time;
    std::uint64_t sequence;
    Event event;
    std::uint8_t lane;
    bool before(const Entry& other) const {
      return time != other.time ? time < other.time : sequence < other.sequence;
    }
  };

  // A FIFO in a power-of-two ring.
  struct Lane {
    std::int64_t delay = -1;
    bool head_in_heap = false;
    std::size_t first = 0;
    std::size_t count = 0;
    std::vector<Entry> ring;

    bool empty() const { return count == 0; }
    void append(const Entry& entry) {
      if (count == ring.size()) grow();
      ring[(first + count) & (ring.size() - 1)] = entry;
      ++count;
    }
    Entry take() {
      const Entry entry = ring[first];
      first = (first + 1) & (ring.size() - 1);
      --count;
      return entry;
    }
    void grow() {
      std::vector<Entry> larger(ring.empty() ? 16 : 2 * ring.size());
      for (std::size_t index = 0; index < count; ++index)
        larger[index] = ring[(first + index) & (ring.size() - 1)];
      ring = std::move(larger);
      first = 0;
    }
  };

  std::uint8_t lane_for(Duration delay) {
    const auto key = static_cast<std::uint64_t>(delay.picoseconds()) * 0x9e3779b97f4a7c15ULL;
    const auto index = static_cast<std::uint8_t>(key >> 58);
    Lane& lane = lanes_[index];
    if (lane.delay == delay.picoseconds()) return index;
    if (lane.head_in_heap) return no_lane;
    lane.delay = delay.picoseconds();
    return index;
  }

  void push_heap(const Entry& entry) {
    heap_.push_back(entry);
    std::size_t hole = heap_.size() - 1;
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / 2;
      if (!entry.before(heap_[parent])) break;
      heap_[hole] = heap_[parent];
      hole = parent;
    }
    heap_[hole] = entry;
  }

  void replace_top(const Entry& entry) {
    const std::size_t count = heap_.size();
    std::size_t hole = 0;
    for (std::size_t child = 1; child < count; child = 2 * hole + 1) {
      if (child + 1 < count && heap_[child + 1].before(heap_[child])) ++child;
      if (!heap_[child].before(entry)) break;
      heap_[hole] = heap_[child];
      hole = child;
    }
    heap_[hole] = entry;
  }

  std::vector<Entry>
      heap_;  // binary heap by before(); the head of every busy lane and the events without a lane
  std::array<Lane, lane_count> lanes_;
  std::size_t in_lanes_ = 0;  // events behind the heads of the lanes
  std::uint64_t sequence_ = 0;
};

}  // namespace collsim
