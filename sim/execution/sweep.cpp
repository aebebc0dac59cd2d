#include "sim/execution/sweep.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "sim/core/check.hpp"
#include "sim/engine/fingerprint.hpp"
#include "sim/execution/flows.hpp"
#include "sim/execution/sweep_kernels.hpp"

namespace collsim {
namespace {

constexpr std::uint32_t none = Instance::none;
constexpr std::size_t lanes_max = 64;
constexpr std::size_t row_bytes_max = std::size_t{1} << 30;  // all kept rows together

// [begin, end) of a lane reads its source at index + offset.
struct Segment {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::ptrdiff_t offset = 0;
};
using Segments = std::vector<Segment>;

Segments segments_of(const std::vector<std::uint32_t>& source) {
  Segments result;
  for (std::size_t index = 0; index < source.size(); ++index) {
    const std::ptrdiff_t offset =
        static_cast<std::ptrdiff_t>(source[index]) - static_cast<std::ptrdiff_t>(index);
    if (result.empty() || result.back().offset != offset) result.push_back({index, index, offset});
    result.back().end = index + 1;
  }
  return result;
}

// What an operation of a lane has to do with another lane.
struct Partner {
  std::uint32_t lane = 0;
  std::uint32_t slot = 0;  // of the other lane's peers
  Segments segments;       // which stream of the other lane
};

// Streams of one program whose peers and dependencies lie in common lanes, with what their rows need.
struct Lane {
  std::uint32_t program = 0;
  std::vector<std::uint32_t> streams;
  std::vector<Partner> receiver_of;                 // [peer slot]: who receives what is sent there
  std::vector<Partner> sender_of;                   // [peer slot]: who sends what is received there
  std::vector<Partner> dependency;                  // [stream slot]
  std::vector<std::vector<std::int64_t>> latency;   // [peer slot] of what is received
  std::vector<std::vector<std::int64_t>> weight;    // [peer slot] of what is received; empty if all are equal
  std::vector<std::int64_t> common_weight;          // [peer slot]
  std::vector<std::vector<std::int64_t>> duration;  // [operation of the program], or the present row's
  std::vector<std::vector<std::int64_t>> position;  // [operation]: blocks that move, if sizes differ
  std::vector<std::vector<std::int64_t>> larger;    // [operation]
  std::vector<std::vector<std::int64_t>> smaller;
  std::vector<std::vector<std::int64_t>> sent_bytes;  // [peer slot], if sizes differ
  // Progress
  std::uint32_t loop = 0;
  std::uint32_t operation = 0;
  std::int64_t trip = 0;
  std::int64_t rows = 0;           // operations done
  std::vector<std::int64_t> sent;  // [peer slot] messages
  std::vector<std::int64_t> received;
  std::vector<std::vector<std::int64_t>>
      sent_row;  // [peer slot][message mod window]: the row in which it was sent
  std::vector<std::vector<std::int64_t>> received_row;
  std::vector<std::int64_t> times;  // [row mod window][stream]
};

class Sweep {
 public:
  Sweep(const Instance& instance, const RunOptions& options)
      : instance_(instance), options_(options), programs_(instance.programs) {}

  bool applies() {
    if (!suitable()) return false;
    local_ = add_flows(network_, instance_);
    network_.freeze();
    return network_.static_rates() && add_lanes();
  }

  std::optional<Outcome> run() {
    if (!applies()) return std::nullopt;
    for (Lane& lane : lanes_) prepare(lane);
    if (!choose_window()) return std::nullopt;
    for (Lane& lane : lanes_) prepare_rows(lane);
    if (!advance()) return std::nullopt;
    return outcome();
  }

 private:
  bool suitable() const {
    if (instance_.jobs.size() != 1 || !instance_.groups.empty() || options_.explain ||
        instance_.streams.empty())
      return false;
    if (!instance_.is_steady() || options_.credit_by_route) return false;
    for (const CompiledOperation& operation : programs_.operations)
      if (operation.kind != OperationKind::send && operation.kind != OperationKind::receive &&
          operation.kind != OperationKind::receive_reduce && operation.kind != OperationKind::wait)
        return false;
    return true;
  }

  // ---- lanes

  // Splits streams by program, then by the lanes of their peers and dependencies, until nothing splits any
  // more.
  bool add_lanes() {
    using Key = std::vector<std::uint32_t>;
    std::vector<std::uint32_t> lane(instance_.streams.size(), 0);
    std::size_t count = 0;
    for (;;) {
      std::map<Key, std::uint32_t> numbers;
      std::vector<std::uint32_t> next(lane.size());
      Key key;
      for (std::uint32_t id = 0; id < lane.size(); ++id) {
        key_of(id, lane, key);
        next[id] = numbers.try_emplace(key, static_cast<std::uint32_t>(numbers.size())).first->second;
      }
      if (numbers.size() > lanes_max) return false;
      lane = std::move(next);
      if (numbers.size() == count) break;
      count = numbers.size();
    }
    lane_of_ = std::move(lane);
    lanes_.resize(count);
    place_of_.resize(lane_of_.size());
    for (std::uint32_t id = 0; id < lane_of_.size(); ++id) {
      Lane& mine = lanes_[lane_of_[id]];
      place_of_[id] = static_cast<std::uint32_t>(mine.streams.size());
      mine.program = instance_.streams[id].program;
      mine.streams.push_back(id);
    }
    return true;
  }

  void key_of(std::uint32_t id, const std::vector<std::uint32_t>& lane,
              std::vector<std::uint32_t>& key) const {
    const Instance::Stream& stream = instance_.streams[id];
    key.assign({stream.program, lane[id]});
    for (std::uint32_t slot = stream.peers; slot < stream.peers + stream.peer_count; ++slot) {
      const std::uint32_t to = instance_.send_to[slot];
      const std::uint32_t from = instance_.receive_from[slot];
      if (to != none) {
        const std::uint32_t peer = instance_.connections[to].receiver;
        key.insert(key.end(), {1, lane[peer], slot_in(instance_.receive_from, peer, to)});
      }
      if (from != none) {
        const std::uint32_t peer = instance_.connections[from].sender;
        key.insert(key.end(), {2, lane[peer], slot_in(instance_.send_to, peer, from)});
      }
    }
    for (std::uint32_t slot = 0; slot < stream.stream_slot_count; ++slot)
      key.push_back(lane[instance_.stream_slots[stream.streams + slot]]);
  }

  // The peer slot of `stream` that is bound to `connection`.
  std::uint32_t slot_in(const std::vector<std::uint32_t>& table, std::uint32_t stream,
                        std::uint32_t connection) const {
    const Instance::Stream& peer = instance_.streams[stream];
    for (std::uint32_t slot = 0; slot < peer.peer_count; ++slot)
      if (table[peer.peers + slot] == connection) return slot;
    return none;
  }

  void prepare(Lane& lane) {
    const Instance::Stream& first = instance_.streams[lane.streams.front()];
    const CompiledProgram& program = programs_.programs[lane.program];
    lane.loop = program.first_loop;
    if (lane.loop < program.loop_end) lane.operation = programs_.loops[lane.loop].first_operation;
    lane.receiver_of.resize(first.peer_count);
    lane.sender_of.resize(first.peer_count);
    lane.latency.resize(first.peer_count);
    lane.weight.resize(first.peer_count);
    lane.common_weight.resize(first.peer_count);
    lane.sent_bytes.resize(first.peer_count);
    for (std::uint32_t slot = 0; slot < first.peer_count; ++slot) prepare_peer(lane, slot);
    for (std::uint32_t slot = 0; slot < first.stream_slot_count; ++slot) {
      std::vector<std::uint32_t> places;
      Partner partner;
      for (const std::uint32_t id : lane.streams) {
        const std::uint32_t other = instance_.stream_slots[instance_.streams[id].streams + slot];
        partner.lane = lane_of_[other];
        places.push_back(place_of_[other]);
      }
      partner.segments = segments_of(places);
      lane.dependency.push_back(std::move(partner));
    }
    prepare_durations(lane);
  }

  void prepare_peer(Lane& lane, std::uint32_t slot) {
    std::vector<std::uint32_t> to;
    std::vector<std::uint32_t> from;
    for (const std::uint32_t id : lane.streams) {
      const std::uint32_t place = instance_.streams[id].peers + slot;
      if (const std::uint32_t connection = instance_.send_to[place]; connection != none) {
        const std::uint32_t peer = instance_.connections[connection].receiver;
        lane.receiver_of[slot].lane = lane_of_[peer];
        lane.receiver_of[slot].slot = slot_in(instance_.receive_from, peer, connection);
        to.push_back(place_of_[peer]);
      }
      if (const std::uint32_t connection = instance_.receive_from[place]; connection != none) {
        const std::uint32_t peer = instance_.connections[connection].sender;
        lane.sender_of[slot].lane = lane_of_[peer];
        lane.sender_of[slot].slot = slot_in(instance_.send_to, peer, connection);
        from.push_back(place_of_[peer]);
        lane.latency[slot].push_back(instance_.connections[connection].latency.picoseconds());
        lane.weight[slot].push_back(instance_.connections[connection].weight);
      }
    }
    lane.receiver_of[slot].segments = segments_of(to);
    lane.sender_of[slot].segments = segments_of(from);
    auto& weight = lane.weight[slot];
    if (weight.empty()) return;
    lane.common_weight[slot] = weight.front();
    if (std::all_of(weight.begin(), weight.end(),
                    [&](std::int64_t value) { return value == weight.front(); }))
      weight.clear();
  }

  // ---- durations

  std::int64_t duration_of(std::uint32_t id, const CompiledOperation& operation, Bytes size) const {
    const Instance::Stream& stream = instance_.streams[id];
    const GpuSpec& gpu = instance_.gpus[stream.gpu].spec;
    if (operation.kind == OperationKind::send) {
      const std::uint32_t connection =
          instance_.send_to[stream.peers + static_cast<std::uint32_t>(operation.peer)];
      const Bytes part = Instance::part_of(instance_.connections[connection], size);
      const Duration drain = size > Bytes(0) ? network_.alone(connection, part) : Duration();
      return (gpu.send_overhead + drain).picoseconds();
    }
    if (operation.kind == OperationKind::wait) return 0;
    Duration time = gpu.receive_overhead;
    if (operation.kind == OperationKind::receive_reduce && local_.reduce[id] != none && size > Bytes(0))
      time += network_.alone(local_.reduce[id], instance_.local_size(stream, false, size));
    return time.picoseconds();
  }

  std::uint32_t first_operation(const Lane& lane) const {
    const CompiledProgram& program = programs_.programs[lane.program];
    return program.first_loop < program.loop_end ? programs_.loops[program.first_loop].first_operation : 0;
  }
  std::uint32_t operation_end(const Lane& lane) const {
    const CompiledProgram& program = programs_.programs[lane.program];
    return program.first_loop < program.loop_end ? programs_.loops[program.loop_end - 1].operation_end : 0;
  }

  void prepare_durations(Lane& lane) {
    const std::uint32_t begin = first_operation(lane);
    const std::uint32_t count = operation_end(lane) - begin;
    lane.duration.resize(count);
    lane.position.resize(count);
    lane.larger.resize(count);
    lane.smaller.resize(count);
    for (std::uint32_t index = 0; index < count; ++index) {
      const CompiledOperation& operation = programs_.operations[begin + index];
      lane.duration[index].resize(lane.streams.size());
      if (operation.bytes >= 0) {
        for (std::size_t place = 0; place < lane.streams.size(); ++place)
          lane.duration[index][place] = duration_of(lane.streams[place], operation, Bytes(operation.bytes));
      } else {
        if (operation.kind == OperationKind::send)
          lane.sent_bytes[static_cast<std::size_t>(operation.peer)].resize(lane.streams.size());
        if (moves_by_blocks(lane, operation)) prepare_blocks(lane, index, operation);
      }
    }
  }

  // Single blocks of one region, at the same place of the vector for all streams but for the position: two
  // sizes.
  bool moves_by_blocks(const Lane& lane, const CompiledOperation& operation) const {
    const ChunkExpression& chunk = operation.chunk;
    const Layout& layout = instance_.jobs[0].schedule->layout;
    if (chunk.span != 1 || chunk.block_unit != 1 || chunk.origin_base >= 0 || chunk.region_stride != 0)
      return false;
    if (chunk.block_modulus != layout.blocks() || chunk.buffer == Buffer::scratch) return false;
    const std::int32_t region = region_of(lane.streams.front(), chunk);
    return std::all_of(lane.streams.begin(), lane.streams.end(),
                       [&](std::uint32_t id) { return region_of(id, chunk) == region; });
  }
  std::int32_t region_of(std::uint32_t id, const ChunkExpression& chunk) const {
    return resolve(chunk, instance_.bases.data() + instance_.streams[id].bases, 0).region;
  }

  void prepare_blocks(Lane& lane, std::uint32_t index, const CompiledOperation& operation) {
    const Layout& layout = instance_.jobs[0].schedule->layout;
    const std::int32_t region = region_of(lane.streams.front(), operation.chunk);
    const Bytes larger = layout.size(region, 0, 1);
    const Bytes smaller = layout.size(region, layout.blocks() - 1, 1);
    for (const std::uint32_t id : lane.streams) {
      // One stride before the first trip: a row first moves, then looks.
      const Chunk before = resolve(operation.chunk, instance_.bases.data() + instance_.streams[id].bases, -1);
      lane.position[index].push_back(before.block);
      lane.larger[index].push_back(duration_of(id, operation, larger));
      lane.smaller[index].push_back(duration_of(id, operation, smaller));
    }
  }

  // Durations of the present row where sizes differ from block to block.
  void renew_durations(Lane& lane, std::uint32_t index, const CompiledOperation& operation) {
    if (operation.bytes >= 0) return;
    const Layout& layout = instance_.jobs[0].schedule->layout;
    const bool sends = operation.kind == OperationKind::send;
    auto* bytes = sends ? lane.sent_bytes[static_cast<std::size_t>(operation.peer)].data() : nullptr;
    if (!lane.position[index].empty()) {
      const ChunkExpression& chunk = operation.chunk;
      const std::int32_t region = region_of(lane.streams.front(), chunk);
      const Bytes larger = layout.size(region, 0, 1);
      const Bytes smaller = layout.size(region, layout.blocks() - 1, 1);
      const std::int64_t all = layout.size(region, 0, layout.blocks()).count() / layout.element_bytes();
      const std::int64_t stride =
          ((chunk.block_stride % chunk.block_modulus) + chunk.block_modulus) % chunk.block_modulus;
      rows::blocks({lane.position[index].data(), stride, chunk.block_modulus, all % layout.blocks(),
                    lane.larger[index].data(), lane.smaller[index].data(), lane.duration[index].data(), bytes,
                    larger.count(), smaller.count()},
                   lane.streams.size());
      return;
    }
    for (std::size_t place = 0; place < lane.streams.size(); ++place) {
      const std::uint32_t id = lane.streams[place];
      const Bytes size = instance_.size(instance_.streams[id], operation, lane.trip);
      lane.duration[index][place] = duration_of(id, operation, size);
      if (bytes != nullptr) bytes[place] += size.count();
    }
  }

  // ---- rows

  // Rows to keep: slots look back over as many messages, each among the operations of one body.
  bool choose_window() {
    std::size_t body_max = 1;
    for (const CompiledLoop& loop : programs_.loops)
      body_max = std::max<std::size_t>(body_max, loop.operation_end - loop.first_operation);
    const auto slots = static_cast<std::size_t>(instance_.jobs[0].schedule->slots);
    const std::size_t wanted =
        std::min<std::size_t>(2 * body_max * (std::min<std::size_t>(slots, 64) + 2), 4096);
    window_ = 16;
    while (window_ < wanted) window_ *= 2;
    return window_ * instance_.streams.size() * sizeof(std::int64_t) <= row_bytes_max;
  }

  void prepare_rows(Lane& lane) {
    const std::size_t slots = lane.receiver_of.size();
    lane.sent.assign(slots, 0);
    lane.received.assign(slots, 0);
    lane.sent_row.assign(slots, std::vector<std::int64_t>(window_));
    lane.received_row.assign(slots, std::vector<std::int64_t>(window_));
    lane.times.resize(window_ * lane.streams.size());
    const Instant start = instance_.jobs[0].start + options_.launch_overhead;
    for (std::size_t place = 0; place < lane.streams.size(); ++place)
      row_at(lane, -1)[place] = (start + instance_.streams[lane.streams[place]].skew).picoseconds();
  }

  std::int64_t* row_at(Lane& lane, std::int64_t row) const {
    const auto index = static_cast<std::size_t>(row + static_cast<std::int64_t>(window_)) & (window_ - 1);
    return lane.times.data() + index * lane.streams.size();
  }

  // A row of another lane, if it is there; sets lost_ if it was there and is gone.
  const std::int64_t* row_of(Lane& lane, std::int64_t row) {
    if (row >= lane.rows) return nullptr;
    if (row < lane.rows - static_cast<std::int64_t>(window_)) lost_ = true;
    return row_at(lane, row);
  }

  // Lets every lane do its next row in turn until all are done; false if they cannot go on, or a row was
  // lost.
  bool advance() {
    std::size_t idle = 0;
    for (std::size_t turn = 0; idle < lanes_.size(); turn = (turn + 1) % lanes_.size()) {
      idle = next_row(lanes_[turn]) ? 0 : idle + 1;
      if (lost_ || events_ >= options_.events_max) return false;
    }
    return std::all_of(lanes_.begin(), lanes_.end(), [this](const Lane& lane) {
      return lane.loop == programs_.programs[lane.program].loop_end;
    });
  }

  bool next_row(Lane& lane) {
    if (lane.loop == programs_.programs[lane.program].loop_end) return false;
    const CompiledOperation& operation = programs_.operations[lane.operation];
    if (!find_dependencies(lane, operation)) return false;
    const bool done = operation.kind == OperationKind::send   ? send_row(lane, operation)
                      : operation.kind == OperationKind::wait ? wait_row(lane)
                                                              : receive_row(lane, operation);
    if (!done) return false;
    events_ += static_cast<std::int64_t>(lane.streams.size());
    ++lane.rows;
    const CompiledLoop& loop = programs_.loops[lane.loop];
    if (++lane.operation < loop.operation_end) return true;
    if (++lane.trip < loop.trips) {
      lane.operation = loop.first_operation;
      return true;
    }
    lane.trip = 0;
    if (++lane.loop < programs_.programs[lane.program].loop_end)
      lane.operation = programs_.loops[lane.loop].first_operation;
    return true;
  }

  // One input of a row: a row of some lane, read through segments.
  struct Input {
    const std::int64_t* row = nullptr;
    const Segments* segments = nullptr;
  };

  bool find_dependencies(Lane& lane, const CompiledOperation& operation) {
    after_.clear();
    for (std::uint32_t index = 0; index < operation.wait_count; ++index) {
      const Dependency& wait = programs_.waits[operation.first_wait + index];
      Partner& partner = lane.dependency[static_cast<std::size_t>(wait.stream_slot)];
      const std::int64_t* row = row_of(lanes_[partner.lane], wait.offset + lane.trip * wait.stride);
      if (row == nullptr) return false;
      after_.push_back({row, &partner.segments});
    }
    return true;
  }

  // The row before, raised to all dependencies but the first, which the kernels take themselves.
  const std::int64_t* raised(Lane& lane) {
    const std::int64_t* before = row_at(lane, lane.rows - 1);
    if (after_.size() < 2) return before;
    scratch_.assign(before, before + lane.streams.size());
    for (std::size_t index = 1; index < after_.size(); ++index)
      for (const Segment& part : *after_[index].segments)
        rows::raise(scratch_.data(), after_[index].row + part.offset, part.begin, part.end);
    return scratch_.data();
  }

  // Calls visit(begin, end, offset of a, offset of b) for the common segments of two inputs; either may be
  // missing.
  template <class Visit>
  void each_segment(const Input& a, const Input& b, std::size_t count, Visit visit) const {
    std::size_t begin = 0;
    std::size_t in_a = 0;
    std::size_t in_b = 0;
    while (begin < count) {
      std::size_t end = count;
      if (a.row != nullptr) end = std::min(end, (*a.segments)[in_a].end);
      if (b.row != nullptr) end = std::min(end, (*b.segments)[in_b].end);
      visit(begin, end, a.row != nullptr ? a.row + (*a.segments)[in_a].offset : nullptr,
            b.row != nullptr ? b.row + (*b.segments)[in_b].offset : nullptr);
      if (a.row != nullptr && (*a.segments)[in_a].end == end) ++in_a;
      if (b.row != nullptr && (*b.segments)[in_b].end == end) ++in_b;
      begin = end;
    }
  }

  bool send_row(Lane& lane, const CompiledOperation& operation) {
    const auto slot = static_cast<std::size_t>(operation.peer);
    const std::int64_t message = lane.sent[slot];
    const std::int64_t needed = message - instance_.jobs[0].schedule->slots;
    Partner& partner = lane.receiver_of[slot];
    Input free;
    if (needed >= 0) {
      Lane& receiver = lanes_[partner.lane];
      if (receiver.received[partner.slot] <= needed) return false;
      free = {row_of(receiver, receiver.received_row[partner.slot][mod(needed)]), &partner.segments};
    }
    const std::uint32_t index = lane.operation - first_operation(lane);
    renew_durations(lane, index, operation);
    const std::int64_t* before = raised(lane);
    std::int64_t* done = row_at(lane, lane.rows);
    each_segment(
        after_.empty() ? Input{} : after_[0], free, lane.streams.size(),
        [&](std::size_t begin, std::size_t end, const std::int64_t* after, const std::int64_t* slot_row) {
          rows::send({before, after, slot_row, options_.credit_latency.picoseconds(),
                      lane.duration[index].data(), done},
                     begin, end);
        });
    lane.sent_row[slot][mod(message)] = lane.rows;
    ++lane.sent[slot];
    return true;
  }

  bool receive_row(Lane& lane, const CompiledOperation& operation) {
    const auto slot = static_cast<std::size_t>(operation.peer);
    const std::int64_t message = lane.received[slot];
    Partner& partner = lane.sender_of[slot];
    Lane& sender = lanes_[partner.lane];
    if (sender.sent[partner.slot] <= message) return false;
    const Input sent = {row_of(sender, sender.sent_row[partner.slot][mod(message)]), &partner.segments};
    const std::uint32_t index = lane.operation - first_operation(lane);
    renew_durations(lane, index, operation);
    const std::int64_t* before = raised(lane);
    std::int64_t* done = row_at(lane, lane.rows);
    const std::int64_t* weight = lane.weight[slot].empty() ? nullptr : lane.weight[slot].data();
    rows::Sums sums;
    each_segment(
        after_.empty() ? Input{} : after_[0], sent, lane.streams.size(),
        [&](std::size_t begin, std::size_t end, const std::int64_t* after, const std::int64_t* sent_row) {
          const rows::Sums part = rows::receive(
              {before, after, sent_row, lane.latency[slot].data(), lane.duration[index].data(), weight, done},
              begin, end);
          sums.times += part.times;
          sums.products += part.products;
        });
    fingerprint_.add(Fingerprint::Terms{sums.times, sums.products},
                     weight == nullptr ? lane.common_weight[slot] : 1);
    lane.received_row[slot][mod(message)] = lane.rows;
    ++lane.received[slot];
    return true;
  }

  bool wait_row(Lane& lane) {
    std::int64_t* done = row_at(lane, lane.rows);
    const std::int64_t* before = raised(lane);
    std::copy(before, before + lane.streams.size(), done);
    if (!after_.empty())
      for (const Segment& part : *after_[0].segments)
        rows::raise(done, after_[0].row + part.offset, part.begin, part.end);
    return true;
  }

  std::size_t mod(std::int64_t message) const { return static_cast<std::size_t>(message) & (window_ - 1); }

  // ---- the end

  Outcome outcome() {
    Outcome outcome;
    outcome.events = events_;
    outcome.stream_finish.resize(instance_.streams.size());
    outcome.connection_bytes.resize(instance_.connections.size());
    for (Lane& lane : lanes_) {
      const std::int64_t* last = row_at(lane, lane.rows - 1);
      for (std::size_t place = 0; place < lane.streams.size(); ++place) {
        const std::uint32_t id = lane.streams[place];
        outcome.stream_finish[id] = Instant::picoseconds(last[place]);
        fingerprint_.add(outcome.stream_finish[id], instance_.streams[id].weight);
      }
      count_messages(lane, outcome);
    }
    Instant end;
    for (std::uint32_t id = 0; id < outcome.stream_finish.size(); ++id) {
      if (outcome.last_stream != none &&
          outcome.stream_finish[id] <= outcome.stream_finish[outcome.last_stream])
        continue;
      outcome.last_stream = id;
      end = outcome.stream_finish[id];
    }
    outcome.job_start = {instance_.jobs[0].start};
    outcome.job_finish = {end};
    outcome.time = end - Instant();
    outcome.fingerprint = fingerprint_.value();
    return outcome;
  }

  void count_messages(const Lane& lane, Outcome& outcome) const {
    for (std::uint32_t slot = 0; slot < lane.sent.size(); ++slot) {
      if (lane.sent[slot] == 0) continue;
      for (std::size_t place = 0; place < lane.streams.size(); ++place) {
        const Instance::Stream& stream = instance_.streams[lane.streams[place]];
        const std::uint32_t connection = instance_.send_to[stream.peers + slot];
        outcome.messages += lane.sent[slot] * instance_.connections[connection].weight;
        outcome.connection_bytes[connection] =
            lane.sent_bytes[slot].empty() ? uniform_bytes(lane, slot) : lane.sent_bytes[slot][place];
      }
    }
  }

  // Bytes that one stream of the lane sends on a slot, where all its operations have constant sizes.
  std::int64_t uniform_bytes(const Lane& lane, std::uint32_t slot) const {
    const CompiledProgram& program = programs_.programs[lane.program];
    std::int64_t bytes = 0;
    for (std::uint32_t loop = program.first_loop; loop < program.loop_end; ++loop)
      for (auto index = programs_.loops[loop].first_operation; index < programs_.loops[loop].operation_end;
           ++index) {
        const CompiledOperation& operation = programs_.operations[index];
        if (operation.kind == OperationKind::send && operation.peer == static_cast<std::int32_t>(slot))
          bytes += operation.bytes * programs_.loops[loop].trips;
      }
    return bytes;
  }

  const Instance& instance_;
  const RunOptions& options_;
  const CompiledPrograms& programs_;
  FluidNetwork network_;
  LocalFlows local_;
  std::vector<Lane> lanes_;
  std::vector<std::uint32_t> lane_of_;   // [stream]
  std::vector<std::uint32_t> place_of_;  // [stream] in its lane
  std::size_t window_ = 16;              // rows kept, a power of two
  std::vector<Input> after_;
  std::vector<std::int64_t> scratch_;
  Fingerprint fingerprint_;
  std::int64_t events_ = 0;
  bool lost_ = false;
};

}  // namespace

bool sweeps(const Instance& instance, const RunOptions& options) {
  return Sweep(instance, options).applies();
}

std::optional<Outcome> sweep(const Instance& instance, const RunOptions& options) {
  return Sweep(instance, options).run();
}

}  // namespace collsim
