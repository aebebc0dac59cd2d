#include "sim/model/proof_pairing.hpp"

#include <algorithm>
#include <vector>

#include "sim/model/dataflow.hpp"
#include "sim/model/program_facts.hpp"

namespace collsim {
namespace {

// The messages of one end, in order: (trip, item of the loop's body).
class Sequence {
 public:
  Sequence(const PeerEnd& end, bool receives) : bases_(end.bases) {
    for (const Loop& loop : end.program->loops) {
      Segment segment;
      segment.trips = loop.trips;
      for (const OperationTemplate& operation : loop.body)
        if (operation.peer == end.slot && is_message(operation.kind) &&
            is_receive(operation.kind) == receives)
          segment.items.push_back(&operation.chunk);
      if (!segment.items.empty() && segment.trips > 0) segments_.push_back(std::move(segment));
    }
  }

  bool ended() const { return at_ == segments_.size(); }
  bool at_trip_start() const { return item_ == 0; }
  std::size_t items() const { return segments_[at_].items.size(); }
  std::int64_t trips_left() const { return segments_[at_].trips - trip_; }
  std::int64_t trip() const { return trip_; }
  const std::int64_t* bases() const { return bases_; }
  const ChunkExpression& item(std::size_t ahead) const { return *segments_[at_].items[item_ + ahead]; }
  Chunk chunk() const { return resolve(item(0), bases_, trip_); }

  void next_trips(std::int64_t trips) {
    trip_ += trips;
    if (trip_ < segments_[at_].trips) return;
    trip_ = 0;
    ++at_;
  }
  void next_message() {
    if (++item_ < items()) return;
    item_ = 0;
    next_trips(1);
  }

 private:
  struct Segment {
    std::vector<const ChunkExpression*> items;
    std::int64_t trips = 0;
  };
  const std::int64_t* bases_;
  std::vector<Segment> segments_;
  std::size_t at_ = 0;
  std::size_t item_ = 0;
  std::int64_t trip_ = 0;
};

std::int64_t origin_of(const Sequence& side, const ChunkExpression& chunk) {
  return chunk.origin_base < 0 ? 0 : side.bases()[chunk.origin_base];
}

// Whether the two items are the same chunk in the next `trips` trips, shown without going through them.
bool alike(const Sequence& a, const Sequence& b, std::size_t item, std::int64_t trips) {
  const ChunkExpression& left = a.item(item);
  const ChunkExpression& right = b.item(item);
  if (!same_cells(resolve(left, a.bases(), a.trip()), resolve(right, b.bases(), b.trip()))) return false;
  if (trips == 1) return true;
  if (left.region_stride != right.region_stride) return false;
  const std::int64_t modulus = left.block_modulus;
  if (left.block_stride % left.block_modulus == 0 && right.block_stride % right.block_modulus == 0)
    return true;
  return right.block_modulus == modulus && left.block_unit == right.block_unit &&
         (std::int64_t{left.block_stride} - right.block_stride) % modulus == 0 &&
         origin_of(a, left) == origin_of(b, right);
}

}  // namespace

std::optional<Unpaired> first_unpaired(const PeerEnd& sender, const PeerEnd& receiver, std::int64_t& budget) {
  Sequence sent(sender, false);
  Sequence received(receiver, true);
  std::int64_t message = 0;
  while (!sent.ended() && !received.ended()) {
    if (sent.at_trip_start() && received.at_trip_start() && sent.items() == received.items()) {
      const std::int64_t trips = std::min(sent.trips_left(), received.trips_left());
      bool all = true;
      for (std::size_t item = 0; item < sent.items() && all; ++item) all = alike(sent, received, item, trips);
      if (all) {
        message += trips * static_cast<std::int64_t>(sent.items());
        sent.next_trips(trips);
        received.next_trips(trips);
        continue;
      }
    }
    if (--budget < 0) return Unpaired{message, false, {}, {}};
    if (!same_cells(sent.chunk(), received.chunk()))
      return Unpaired{message, true, sent.chunk(), received.chunk()};
    sent.next_message();
    received.next_message();
    ++message;
  }
  return std::nullopt;
}

}  // namespace collsim
