// One cell through all ranks (proof_orbits.hpp). The pairing of sends and receives has been shown, so the
// n-th traced send of a connection is received by the n-th traced receive.
#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "sim/model/dataflow.hpp"
#include "sim/model/proof_numbers.hpp"
#include "sim/model/proof_orbits.hpp"
#include "sim/model/proof_tokens.hpp"

namespace collsim {
namespace {

// x with a * x = 1 modulo m. REQUIRES: gcd(a, m) = 1, m >= 1
std::int64_t inverse(std::int64_t a, std::int64_t m) {
  std::int64_t before = 0;
  std::int64_t x = 1;
  for (std::int64_t low = a, high = m; low > 1;) {  // extended Euclid; invariant: a * x = low modulo m
    const std::int64_t quotient = high / low;
    std::tie(high, low) = std::pair(low, high % low);
    std::tie(before, x) = std::pair(x, before - quotient * x);
  }
  x %= m;
  return x < 0 ? x + m : x;
}

std::int64_t greatest_divisor(std::int64_t a, std::int64_t b) {
  while (b != 0) std::tie(a, b) = std::pair(b, a % b);
  return a;
}

// a / b rounded down. REQUIRES: b >= 1
std::int64_t floor_ratio(std::int64_t a, std::int64_t b) {
  if (b == 1) return a;
  return a >= 0 ? a / b : -((b - 1 - a) / b);
}

// Appends the trips below `trips` in which the position (start + k * stride) mod modulus is `wanted`.
void solve_position(std::int64_t start, std::int64_t stride, std::int64_t modulus, std::int64_t wanted,
                    std::int64_t trips, std::vector<std::int64_t>& solutions) {
  stride = modulo(stride, modulus);
  const std::int64_t distance = modulo(wanted - start, modulus);
  std::int64_t first = 0;
  std::int64_t period = 1;
  if (stride == 0) {
    if (distance != 0) return;
  } else if (stride == modulus - 1) {
    first = distance == 0 ? 0 : modulus - distance;
    period = modulus;
  } else {
    const std::int64_t divisor = greatest_divisor(stride, modulus);
    if (distance % divisor != 0) return;
    period = modulus / divisor;
    first = period == 1 ? 0 : (distance / divisor) * inverse(stride / divisor, period) % period;
  }
  for (std::int64_t trip = first; trip < trips; trip += period) solutions.push_back(trip);
}

// Appends the trips below `trips` in which the chunk holds the block of the region.
void solve(const ChunkExpression& chunk, const std::int64_t* bases, std::int64_t trips, std::int32_t region,
           std::int32_t block, std::vector<std::int64_t>& solutions) {
  const auto base = [bases](std::int8_t slot) { return slot < 0 ? std::int64_t{0} : bases[slot]; };
  const std::int64_t first = base(chunk.region_base) + chunk.region_offset;
  if (chunk.region_stride == 0 ? first != region : (region - first) % chunk.region_stride != 0) return;
  const std::int64_t from_origin = block - base(chunk.origin_base);
  const std::int64_t modulus = chunk.block_modulus;
  const std::int64_t unit = chunk.block_unit;
  const std::int64_t least = std::max<std::int64_t>(floor_ratio(from_origin - chunk.span, unit) + 1, 0);
  const std::int64_t most = std::min(floor_ratio(from_origin, unit), modulus - 1);
  if (least > most) return;
  const std::int64_t start = base(chunk.block_base) + chunk.block_offset;
  if (chunk.region_stride != 0) {
    const std::int64_t trip = (region - first) / chunk.region_stride;
    if (trip < 0 || trip >= trips) return;
    const Chunk there = resolve(chunk, bases, trip);
    if (there.block <= block && block - there.block < there.span) solutions.push_back(trip);
    return;
  }
  for (std::int64_t position = least; position <= most; ++position)
    solve_position(start, chunk.block_stride, modulus, position, trips, solutions);
}

struct Access {
  const OperationTemplate* operation = nullptr;
  std::int64_t trip = 0;
  std::uint32_t index = 0;  // in the stream
  std::int32_t end = -1;    // first Ends, then the connection's number; -1: an operation of one rank
};

struct Traced {
  std::int32_t number = -1;
  Rank rank = 0;
  const Program* program = nullptr;
  std::uint32_t next = 0;  // in accesses
  std::uint32_t last = 0;
  std::uint32_t first_target = 0;
  std::int32_t first_waiter = -1;
  std::int32_t next_waiter = -1;
  std::int64_t wanted = 0;  // what it waits for, as a waiter
  std::int64_t least_wanted = 0;
};

struct End {
  Rank source = 0;
  Rank target = 0;
  std::int32_t channel = 0;
  std::int32_t stream = -1;  // in the list of traced streams
  std::int32_t number = -1;
  bool receives = false;
  auto key() const { return std::tuple(source, target, channel, receives); }
};

// For order by way of other streams, which need not touch the cell; bound when it is asked for.
class BoundStreams {
 public:
  explicit BoundStreams(const OrbitPlan& plan) : plan_(plan) {}
  StreamWaits waits_of(std::int32_t number);

 private:
  const OrbitPlan& plan_;
  std::unordered_map<std::int32_t, std::pair<const Program*, std::vector<std::int32_t>>> bound_;
};

template <class Memory>
class CellTrace {
 public:
  CellTrace(const OrbitPlan& plan, std::int32_t region, std::int32_t block, Memory& memory,
            OrbitProof& result)
      : plan_(plan),
        schedule_(plan.schedule),
        region_(region),
        block_(block),
        result_(result),
        memory_(memory) {}

  // False: `result` says why the cell cannot be followed to the end.
  bool run() {
    collect();
    if (!connect()) return false;
    for (std::size_t stream = 0; stream < traced_.size(); ++stream) {
      ready_.push_back(static_cast<std::int32_t>(stream));
      while (!ready_.empty()) {
        const std::int32_t next = ready_.back();
        ready_.pop_back();
        run_stream(next);
      }
    }
    return all_reached();
  }

 private:
  struct Pipe {
    std::int32_t receiver = -1;
    std::int32_t head = -1;
    std::int32_t tail = -1;
    bool receiver_waits = false;
  };
  struct Message {
    typename Memory::Payload payload{};
    std::int32_t next = -1;
  };

  void collect();
  void add_stream(Rank rank, std::int32_t local, const Binding& binding);
  void find_accesses(const Program& program, const Binding& binding);
  bool connect();
  void run_stream(std::int32_t stream);
  bool step(std::int32_t stream, const Access& access);
  bool waits(std::int32_t stream, const Access& access);
  void wake_waiters(Traced& stream);
  std::int32_t traced_of(std::int32_t number) const;
  bool all_reached();

  const OrbitPlan& plan_;
  const Schedule& schedule_;
  const std::int32_t region_;
  const std::int32_t block_;
  OrbitProof& result_;
  Memory& memory_;
  std::vector<Traced> traced_;  // by rising number
  std::vector<Access> accesses_;
  std::vector<std::int32_t> targets_;
  std::vector<End> ends_;
  std::vector<Pipe> pipes_;
  std::vector<Message> messages_;
  std::int32_t free_message_ = -1;
  std::vector<std::int32_t> ready_;
  std::vector<std::int64_t> trips_;        // scratch of find_accesses
  std::vector<std::int32_t> end_of_slot_;  // scratch of add_stream: 2 * slot + receives
};

// The accesses of all streams of the cell's part.
template <class Memory>
void CellTrace<Memory>::collect() {
  const std::size_t part = plan_.part_of_region(region_);
  const bool rest = part == plan_.parts.size();
  // A cell that goes round and back is touched four times by a rank, in two streams.
  const auto ranks = static_cast<std::size_t>(schedule_.ranks);
  accesses_.reserve(4 * ranks);
  traced_.reserve(2 * ranks);
  ends_.reserve(4 * ranks);
  Binding binding;
  for (Rank rank = 0; rank < schedule_.ranks; ++rank) {
    const std::int32_t start = plan_.start[static_cast<std::size_t>(rank)];
    const std::int32_t first = rest ? 0 : plan_.parts[part].first_stream;
    const std::int32_t end = rest ? plan_.start[static_cast<std::size_t>(rank) + 1] - start
                                  : first + plan_.parts[part].stream_count;
    for (std::int32_t local = first; local < end; ++local) {
      if (rest && plan_.part_of_stream(local) != part) continue;
      binding.clear();
      schedule_.bind(rank, local, binding);
      add_stream(rank, local, binding);
    }
  }
}

template <class Memory>
void CellTrace<Memory>::add_stream(Rank rank, std::int32_t local, const Binding& binding) {
  const auto first = static_cast<std::uint32_t>(accesses_.size());
  const Program& program = schedule_.programs[static_cast<std::size_t>(binding.program)];
  find_accesses(program, binding);
  if (accesses_.size() == first) return;
  const ProgramFacts& facts = plan_.facts[static_cast<std::size_t>(binding.program)];
  const std::int32_t start = plan_.start[static_cast<std::size_t>(rank)];
  Traced stream;
  stream.number = start + local;
  stream.rank = rank;
  stream.program = &program;
  stream.next = first;
  stream.last = static_cast<std::uint32_t>(accesses_.size());
  stream.first_target = static_cast<std::uint32_t>(targets_.size());
  for (std::size_t slot = 0; slot < facts.streams; ++slot) targets_.push_back(start + binding.streams[slot]);
  end_of_slot_.assign(2 * facts.peers.size(), -1);
  for (std::uint32_t i = first; i < stream.last; ++i) {
    Access& access = accesses_[i];
    if (!is_message(access.operation->kind)) continue;
    const bool receives = is_receive(access.operation->kind);
    std::int32_t& end = end_of_slot_[2 * static_cast<std::size_t>(access.operation->peer) + receives];
    if (end < 0) {
      end = static_cast<std::int32_t>(ends_.size());
      const Peer& peer = binding.peers[static_cast<std::size_t>(access.operation->peer)];
      ends_.push_back({receives ? peer.rank : rank, receives ? rank : peer.rank, peer.channel,
                       static_cast<std::int32_t>(traced_.size()), end, receives});
    }
    access.end = end;
  }
  traced_.push_back(stream);
}

template <class Memory>
void CellTrace<Memory>::find_accesses(const Program& program, const Binding& binding) {
  std::int64_t before = 0;
  for (const Loop& loop : program.loops) {
    const auto length = static_cast<std::int64_t>(loop.body.size());
    const auto first = static_cast<std::ptrdiff_t>(accesses_.size());
    for (std::int64_t i = 0; i < length && loop.trips > 0; ++i) {
      const OperationTemplate& operation = loop.body[static_cast<std::size_t>(i)];
      if (operation.kind == OperationKind::wait) continue;
      trips_.clear();
      solve(operation.chunk, binding.bases.data(), loop.trips, region_, block_, trips_);
      for (const std::int64_t trip : trips_)
        accesses_.push_back({&operation, trip, static_cast<std::uint32_t>(before + trip * length + i), -1});
    }
    std::sort(accesses_.begin() + first, accesses_.end(),
              [](const Access& a, const Access& b) { return a.index < b.index; });
    before += loop.trips * length;
  }
}

template <class Memory>
bool CellTrace<Memory>::connect() {
  std::sort(ends_.begin(), ends_.end(), [](const End& a, const End& b) { return a.key() < b.key(); });
  std::vector<std::int32_t> pipe_of(ends_.size());
  for (std::size_t i = 0; i < ends_.size(); i += 2) {
    const bool pair = i + 1 < ends_.size() && !ends_[i].receives && ends_[i + 1].receives &&
                      ends_[i].source == ends_[i + 1].source && ends_[i].target == ends_[i + 1].target &&
                      ends_[i].channel == ends_[i + 1].channel;
    if (!pair) {
      result_.refuse("the messages of a cell do not pair up");
      return false;
    }
    const auto pipe = static_cast<std::int32_t>(pipes_.size());
    pipes_.push_back(Pipe{ends_[i + 1].stream, -1, -1, false});
    pipe_of[static_cast<std::size_t>(ends_[i].number)] = pipe;
    pipe_of[static_cast<std::size_t>(ends_[i + 1].number)] = pipe;
  }
  for (Access& access : accesses_)
    if (access.end >= 0) access.end = pipe_of[static_cast<std::size_t>(access.end)];
  return true;
}

template <class Memory>
std::int32_t CellTrace<Memory>::traced_of(std::int32_t number) const {
  const auto at = std::lower_bound(traced_.begin(), traced_.end(), number,
                                   [](const Traced& a, std::int32_t b) { return a.number < b; });
  return at != traced_.end() && at->number == number ? static_cast<std::int32_t>(at - traced_.begin()) : -1;
}

template <class Memory>
void CellTrace<Memory>::run_stream(std::int32_t stream) {
  Traced& at = traced_[static_cast<std::size_t>(stream)];
  while (at.next < at.last) {
    const Access& access = accesses_[at.next];
    if (waits(stream, access) || !step(stream, access)) return;
    ++at.next;
    if (at.first_waiter >= 0 && (at.next == at.last || at.least_wanted < accesses_[at.next].index))
      wake_waiters(at);
  }
}

// Whether a stream that it depends on has accesses to come up to the operation that it waits for.
template <class Memory>
bool CellTrace<Memory>::waits(std::int32_t stream, const Access& access) {
  Traced& own = traced_[static_cast<std::size_t>(stream)];
  for (const Dependency& dependency : access.operation->dependencies) {
    const auto slot = own.first_target + static_cast<std::uint32_t>(dependency.stream_slot);
    const std::int32_t target = traced_of(targets_[slot]);
    if (target < 0) continue;
    Traced& other = traced_[static_cast<std::size_t>(target)];
    const std::int64_t wanted = dependency.offset + access.trip * dependency.stride;
    if (other.next == other.last || accesses_[other.next].index > wanted) continue;
    own.wanted = wanted;
    other.least_wanted = other.first_waiter < 0 ? wanted : std::min(other.least_wanted, wanted);
    own.next_waiter = other.first_waiter;
    other.first_waiter = stream;
    return true;
  }
  return false;
}

template <class Memory>
void CellTrace<Memory>::wake_waiters(Traced& stream) {
  std::int32_t waiter = std::exchange(stream.first_waiter, -1);
  while (waiter >= 0) {
    ready_.push_back(waiter);
    waiter = std::exchange(traced_[static_cast<std::size_t>(waiter)].next_waiter, -1);
  }
}

template <class Memory>
bool CellTrace<Memory>::step(std::int32_t stream, const Access& access) {
  const Traced& at = traced_[static_cast<std::size_t>(stream)];
  Step step;
  step.stream = at.number;
  step.rank = at.rank;
  step.index = access.index;
  step.operation = access.operation;
  step.trip = access.trip;
  step.waits = targets_.data() + at.first_target;
  step.chunk = Chunk{access.operation->chunk.buffer, region_, block_, 1};
  const Chunk source{access.operation->source.buffer, region_, block_, 1};
  if (access.end < 0) {
    memory_.local(step, source);
    return true;
  }
  Pipe& pipe = pipes_[static_cast<std::size_t>(access.end)];
  if (access.operation->kind == OperationKind::send) {
    std::int32_t number = free_message_;
    if (number < 0) {
      number = static_cast<std::int32_t>(messages_.size());
      messages_.emplace_back();
    } else {
      free_message_ = messages_[static_cast<std::size_t>(number)].next;
    }
    messages_[static_cast<std::size_t>(number)] = Message{memory_.read(step, step.chunk), -1};
    (pipe.head < 0 ? pipe.head : messages_[static_cast<std::size_t>(pipe.tail)].next) = number;
    pipe.tail = number;
    if (std::exchange(pipe.receiver_waits, false)) ready_.push_back(pipe.receiver);
    return true;
  }
  if (pipe.head < 0) {
    pipe.receiver_waits = true;
    return false;
  }
  const std::int32_t number = pipe.head;
  Message& message = messages_[static_cast<std::size_t>(number)];
  if (access.operation->from_source && access.operation->kind == OperationKind::receive_reduce)
    memory_.write_sum(step, step.chunk, message.payload, source);
  else
    memory_.write(step, step.chunk, message.payload, access.operation->kind == OperationKind::receive_reduce);
  pipe.head = std::exchange(message.next, free_message_);
  free_message_ = number;
  return true;
}

template <class Memory>
bool CellTrace<Memory>::all_reached() {
  for (const Traced& stream : traced_)
    if (stream.next < stream.last) {
      const std::int32_t local = stream.number - plan_.start[static_cast<std::size_t>(stream.rank)];
      result_.fail(stream.rank, local, accesses_[stream.next].index, "it is never reached");
      return false;
    }
  return true;
}

bool judge(const OrbitPlan& plan, const TokenMemory& memory, const std::string& text, OrbitProof& result) {
  std::vector<WrongCell> wrong;
  memory.find_wrong(wrong);
  for (const WrongCell& cell : wrong)
    result.fail(cell.rank, -1, -1,
                text + (Contract(plan.schedule).sums() ? " does not hold every contribution exactly once"
                                                       : " does not hold what the collective wants there"));
  for (const Conflict& conflict : memory.conflicts()) {
    if (wrong.empty()) result.decided = false;
    const std::int32_t start = plan.start[static_cast<std::size_t>(conflict.rank)];
    result.fail(conflict.rank, conflict.later.stream - start, conflict.later.index,
                "the access to " + text + " cannot be shown to be ordered after step " +
                    std::to_string(conflict.earlier.index) + " of stream " +
                    std::to_string(conflict.earlier.stream - start));
  }
  return wrong.empty() && memory.conflicts().empty();
}

StreamWaits BoundStreams::waits_of(std::int32_t number) {
  const auto [at, added] = bound_.try_emplace(number);
  if (added) {
    const Rank rank = plan_.rank_of(number);
    const std::int32_t start = plan_.start[static_cast<std::size_t>(rank)];
    Binding binding;
    plan_.schedule.bind(rank, number - start, binding);
    at->second.first = &plan_.schedule.programs[static_cast<std::size_t>(binding.program)];
    for (const std::int32_t stream : binding.streams) at->second.second.push_back(start + stream);
  }
  return StreamWaits{at->second.first, at->second.second.data()};
}

}  // namespace

bool trace_cell(const OrbitPlan& plan, std::int32_t region, std::int32_t block, OrbitProof& result,
                Numerics* numerics) {
  const Schedule& schedule = plan.schedule;
  const std::int64_t cell = std::int64_t{region} * schedule.layout.blocks() + block;
  BoundStreams bound(plan);
  TokenMemory tokens(
      schedule, [&bound](std::int32_t stream) { return bound.waits_of(stream); }, true, cell, 1);
  const std::string text = text_of(Chunk{Buffer::output, region, block, 1});
  if (numerics == nullptr)
    return CellTrace<TokenMemory>(plan, region, block, tokens, result).run() &&
           judge(plan, tokens, text, result);
  NumberMemory numbers(
      schedule, [](std::int32_t, const OperationTemplate&) { return AggregationScope::node; }, cell, 1);
  TokensAndNumbers both(tokens, numbers);
  if (!CellTrace<TokensAndNumbers>(plan, region, block, both, result).run() ||
      !judge(plan, tokens, text, result))
    return false;
  numbers.report(*numerics);
  return true;
}

}  // namespace collsim
