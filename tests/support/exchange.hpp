// A direct reduce-scatter and all-gather as a translated schedule, for tests of what such schedules allow.
#pragma once

#include <cstdint>

#include "sim/model/schedule.hpp"
#include "sim/model/translation.hpp"

namespace collsim::testing {

// Stream 0 adds what comes to the own block; stream p sends to peer p (as seen from rank 0) that one's block
// and, after the sums, the own, and receives the peer's.
struct Exchange {
  TranslationKind kind = TranslationKind::rotation;
  std::int32_t ranks = 2;
  bool waits = true;      // the second send waits for the sums
  bool sends_own = true;  // false: it sends the peer's block once more
  std::int64_t block_elements = 1;

  Schedule make() const {
    Collective collective;
    collective.bytes = Bytes(4 * block_elements * ranks);
    Schedule schedule = empty_schedule("exchange", collective, ranks);
    schedule.layout = Layout(block_elements * ranks, 4, {}, ranks);
    Loop sums;
    for (std::int32_t peer = 0; peer + 1 < ranks; ++peer)
      sums.body.push_back(operation_of(OperationKind::receive_reduce, peer, block_of(0)));
    Loop pair;
    pair.body.push_back(operation_of(OperationKind::send, 0, block_of(1)));
    pair.body.push_back(operation_of(OperationKind::send, 1, block_of(sends_own ? 0 : 1)));
    if (waits) pair.body.back().dependencies.push_back({0, ranks - 2, 0});
    pair.body.push_back(operation_of(OperationKind::receive, 1, block_of(1)));
    schedule.programs = {Program{{sums}}, Program{{pair}}};
    TranslatedStreams streams;
    streams.translation = {kind, ranks};
    streams.streams = ranks;
    streams.moving_bases = 2;
    streams.bind = [count = ranks](std::int32_t stream, Binding& binding) {
      binding.bases = {0, stream};
      if (stream == 0) {
        for (Rank peer = 1; peer < count; ++peer) binding.peers.push_back({peer, 0});
        return;
      }
      binding.program = 1;
      binding.peers = {{stream, 0}, {stream, 1}};
      binding.streams = {0};
    };
    set_translated_streams(schedule, std::move(streams));
    return schedule;
  }

 private:
  ChunkExpression block_of(std::int8_t base) const {
    ChunkExpression chunk;
    chunk.block_base = base;
    chunk.block_modulus = ranks;
    return chunk;
  }
  static OperationTemplate operation_of(OperationKind kind, std::int32_t peer, const ChunkExpression& chunk) {
    OperationTemplate operation;
    operation.kind = kind;
    operation.peer = peer;
    operation.chunk = chunk;
    return operation;
  }
};

// A direct all-to-all: stream 0 copies the own part, stream p sends peer p's part and receives from peer p.
struct Swap {
  TranslationKind kind = TranslationKind::rotation;
  std::int32_t ranks = 2;
  std::int32_t sends_base = 0;  // 0: the peer's part, 1: the own
  bool keeps_own = true;

  Schedule make() const {
    Collective collective;
    collective.kind = CollectiveKind::all_to_all;
    collective.bytes = Bytes(4 * ranks);
    Schedule schedule = empty_schedule("swap", collective, ranks);
    schedule.layout = Layout::in_parts(ranks, 4, {}, ranks);
    schedule.in_place = false;
    OperationTemplate copy = operation_of(OperationKind::copy, -1, 1, Buffer::output);
    copy.source = operation_of(OperationKind::copy, -1, 1, Buffer::input).chunk;
    Loop keep{keeps_own ? 1 : 0, {copy}};
    Loop pair;
    pair.body = {operation_of(OperationKind::send, 0, sends_base, Buffer::input),
                 operation_of(OperationKind::receive, 1, 2, Buffer::output)};
    schedule.programs = {Program{{keep}}, Program{{pair}}};
    TranslatedStreams streams;
    streams.translation = {kind, ranks};
    streams.streams = ranks;
    streams.moving_bases = 3;
    streams.bind = [translation = streams.translation](std::int32_t stream, Binding& binding) {
      const Rank from = translation.home(stream);
      binding.program = stream == 0 ? 0 : 1;
      binding.peers = {{stream, 0}, {from, 0}};
      binding.bases = {stream, 0, from};
    };
    set_translated_streams(schedule, std::move(streams));
    return schedule;
  }

 private:
  OperationTemplate operation_of(OperationKind operation_kind, std::int32_t peer, std::int32_t base,
                                 Buffer buffer) const {
    OperationTemplate operation;
    operation.kind = operation_kind;
    operation.peer = peer;
    operation.chunk.buffer = buffer;
    operation.chunk.block_base = static_cast<std::int8_t>(base);
    operation.chunk.block_modulus = ranks;
    return operation;
  }
};

}  // namespace collsim::testing
