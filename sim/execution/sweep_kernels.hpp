// The inner loops of the sweep: one operation of all streams of a lane. Compiled also for AVX2, chosen at
// load time.
//
// All arrays are indexed by stream of the lane, times are picoseconds. Inputs with runs are read through
// segments [begin, end) with an offset, so that every loop runs over contiguous memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace collsim::rows {

// done[i] = max(before[i], and optionally after[i], slot[i] + credit) + duration[i]
struct SendRow {
  const std::int64_t* before;
  const std::int64_t* after;  // or null: a dependency
  const std::int64_t* slot;   // or null: when the slot's last message was received
  std::int64_t credit;
  const std::int64_t* duration;
  std::int64_t* done;
};
void send(const SendRow& row, std::size_t begin, std::size_t end);

struct Sums {
  std::uint64_t times = 0;
  std::uint64_t products = 0;
};

// arrived = sent[i] + latency[i];  done[i] = max(before[i], and optionally after[i], arrived) + duration[i]
// Returns the fingerprint terms of the arrivals.
struct ReceiveRow {
  const std::int64_t* before;
  const std::int64_t* after;
  const std::int64_t* sent;
  const std::int64_t* latency;
  const std::int64_t* duration;
  const std::int64_t* weight;  // or null: all sums are for weight 1
  std::int64_t* done;
};
Sums receive(const ReceiveRow& row, std::size_t begin, std::size_t end);

// value[i] = max(value[i], other[i])
void raise(std::int64_t* value, const std::int64_t* other, std::size_t begin, std::size_t end);

// Blocks that move by a stride modulo the number of blocks, of which the first `rest` are larger:
// position[i] = (position[i] + stride) mod modulus; duration[i] = position[i] < rest ? larger[i] : smaller[i]
// REQUIRES: 0 <= stride < modulus
struct BlockRow {
  std::int64_t* position;
  std::int64_t stride;
  std::int64_t modulus;
  std::int64_t rest;
  const std::int64_t* larger;
  const std::int64_t* smaller;
  std::int64_t* duration;
  std::int64_t* bytes;  // or null: summed up
  std::int64_t larger_bytes;
  std::int64_t smaller_bytes;
};
void blocks(const BlockRow& row, std::size_t count);

}  // namespace collsim::rows
