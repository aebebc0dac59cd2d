#include "sim/model/proof_translation.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "sim/model/contract.hpp"
#include "sim/model/dataflow.hpp"
#include "sim/model/program_facts.hpp"
#include "sim/model/proof_cells.hpp"

namespace collsim {
namespace {

constexpr std::int64_t operations_max = 50'000'000;  // of rank 0, and touches of a traced cell
constexpr std::int32_t slots_unbounded = 1 << 30;

// One operation of rank 0.
struct Touch {
  std::int32_t stream = 0;
  std::int64_t index = 0;  // in the stream
  const OperationTemplate* operation = nullptr;
  std::int64_t trip = 0;
  Chunk chunk;
  Chunk source;  // of a copy
  Peer peer;
};

struct Waits {
  std::vector<std::int32_t> streams;  // Binding::streams
};

// What rank 0 does.
struct Rank0 {
  std::vector<Touch> touches;      // by stream, then index
  std::vector<std::size_t> first;  // [stream]: into touches; one more entry for the end
  std::vector<Waits> waits;        // [stream]
  std::int64_t sends = 0;
};

// Whether the chunk moves with the rank as the header says.
bool moves(const Schedule& schedule, const ChunkExpression& chunk) {
  const TranslatedStreams& streams = *schedule.translated;
  const auto moving = [&](std::int8_t base) {
    return base >= 0 && static_cast<std::size_t>(base) < streams.moving_bases;
  };
  if (chunk.buffer == Buffer::scratch || moving(chunk.region_base) || moving(chunk.origin_base)) return false;
  if (chunk.span == schedule.layout.blocks() && !moving(chunk.block_base)) return chunk.block_modulus == 1;
  const bool affine = streams.translation.kind == TranslationKind::rotation ||
                      (chunk.block_offset == 0 && chunk.block_stride == 0);
  return chunk.span == 1 && chunk.block_unit == 1 && chunk.origin_base < 0 && moving(chunk.block_base) &&
         chunk.block_modulus == schedule.ranks && affine;
}

// A step of an all-to-all in which nothing is passed on: from input to output, one block at a time.
bool is_direct(const Schedule& schedule, const OperationTemplate& operation) {
  const bool single = operation.chunk.span == 1 && moves(schedule, operation.chunk);
  if (operation.kind == OperationKind::send) return single && operation.chunk.buffer == Buffer::input;
  if (operation.kind == OperationKind::receive) return single && operation.chunk.buffer == Buffer::output;
  return operation.kind == OperationKind::copy && single && operation.chunk.buffer == Buffer::output &&
         operation.source.span == 1 && moves(schedule, operation.source) &&
         operation.source.buffer == Buffer::input;
}

bool has_form(const Schedule& schedule) {
  const CollectiveKind kind = Contract(schedule).kind();
  if (has_root(kind) || kind == CollectiveKind::send_recv) return false;
  if (kind == CollectiveKind::all_to_all && schedule.in_place) return false;
  if (schedule.owner || schedule.group_count != 0 || schedule.ranks < 2) return false;
  if (schedule.translated->moving_bases > 0 && schedule.layout.blocks() != schedule.ranks) return false;
  if (in_parts(kind) && schedule.layout.blocks() != schedule.ranks) return false;
  for (const Program& program : schedule.programs)
    for (const Loop& loop : program.loops)
      for (const OperationTemplate& operation : loop.body) {
        if (operation.kind == OperationKind::wait) continue;
        if (kind == CollectiveKind::all_to_all) {
          if (!is_direct(schedule, operation)) return false;
          continue;
        }
        if (!is_message(operation.kind) || operation.from_source || !moves(schedule, operation.chunk))
          return false;
        if (operation.kind != OperationKind::send && operation.chunk.buffer != Buffer::output) return false;
      }
  return true;
}

class TranslatedProof {
 public:
  explicit TranslatedProof(const Schedule& schedule)
      : schedule_(schedule),
        kind_(Contract(schedule).kind()),
        translation_(schedule.translated->translation) {}

  std::optional<Proof> run(Numerics* numerics) {
    if (!has_form(schedule_) || !expand()) return std::nullopt;
    proof_.method = ProofMethod::one_cell_an_orbit;
    proof_.messages = rank_0_.sends * schedule_.ranks;
    proof_.symmetries = 1;
    if (!pair() || !run_on_counters()) return proof_;
    proof_.deadlock_freedom = DeadlockFreedom::quotient;
    if (kind_ == CollectiveKind::all_to_all) {
      proof_.cells_traced = schedule_.layout.cells();
      proof_.proven = is_filled_once();
      return proof_;
    }
    for (std::int32_t region = 0; region < schedule_.layout.regions(); ++region) {
      std::optional<Schedule> cell = cell_of(region);
      if (!cell) return std::nullopt;
      const Proof traced = prove_cells(*cell, numerics);
      if (!traced.proven) return std::nullopt;
      ++proof_.cells_traced;
    }
    proof_.proven = true;
    return proof_;
  }

 private:
  // One end of a connection, as seen when the sender is rank 0.
  struct End {
    Rank target = 0;
    std::int32_t channel = 0;
    bool receives = false;
    std::size_t touch = 0;
    auto key() const { return std::tuple(target, channel, receives, touch); }
    bool same_connection(const End& other) const {
      return target == other.target && channel == other.channel;
    }
  };

  bool expand();
  bool expand_stream(std::int32_t number, const Binding& binding);
  bool pair();
  bool pair_connection(std::size_t first, std::size_t last);
  bool is_filled_once();
  bool run_on_counters();
  bool can_step(const Touch& touch, const std::vector<std::size_t>& next) const;
  std::optional<Schedule> cell_of(std::int32_t region) const;
  bool is_inside(const Chunk& chunk) const {
    return chunk.region >= 0 && chunk.region < schedule_.layout.regions() && chunk.block >= 0 &&
           chunk.block <= schedule_.layout.blocks() - chunk.span;
  }
  bool fail(const Touch& touch, const std::string& text) {
    proof_.failures.push_back(ProofFailure{0, touch.stream, touch.index,
                                           "rank 0, stream " + std::to_string(touch.stream) + ", step " +
                                               std::to_string(touch.index) + ": " + text});
    return false;
  }

  const Schedule& schedule_;
  const CollectiveKind kind_;  // of the contract
  const Translation translation_;
  Rank0 rank_0_;
  std::vector<End> ends_;
  std::vector<std::int32_t> connection_of_;  // [touch], -1 for waits
  std::vector<std::int32_t> in_flight_;      // [connection]
  std::int32_t connections_ = 0;
  Proof proof_;
};

bool TranslatedProof::expand() {
  const std::vector<ProgramFacts> facts = facts_of_programs(schedule_);
  for (const ProgramFacts& program : facts)
    if (!program.well_formed) return false;
  Binding binding;
  for (std::int32_t number = 0; number < schedule_.translated->streams; ++number) {
    binding.clear();
    schedule_.bind(0, number, binding);
    const auto program = static_cast<std::size_t>(binding.program);
    if (program >= facts.size() || !facts[program].fits(binding)) return false;
    rank_0_.first.push_back(rank_0_.touches.size());
    if (!expand_stream(number, binding)) return false;
    rank_0_.waits.push_back({binding.streams});
  }
  rank_0_.first.push_back(rank_0_.touches.size());
  return true;
}

bool TranslatedProof::expand_stream(std::int32_t number, const Binding& binding) {
  std::int64_t index = 0;
  for (const Loop& loop : schedule_.programs[static_cast<std::size_t>(binding.program)].loops)
    for (std::int64_t trip = 0; trip < loop.trips; ++trip)
      for (const OperationTemplate& operation : loop.body) {
        Touch touch{number, index++, &operation, trip, {}, {}, {}};
        if (static_cast<std::int64_t>(rank_0_.touches.size()) >= operations_max) return false;
        for (const Dependency& wait : operation.dependencies) {
          const std::int32_t target = binding.streams[static_cast<std::size_t>(wait.stream_slot)];
          if (target < 0 || target >= schedule_.translated->streams) return false;
          if (wait.offset + trip * wait.stride < 0) return false;
        }
        if (operation.kind != OperationKind::wait) {
          touch.chunk = resolve(operation.chunk, binding.bases.data(), trip);
          if (!is_inside(touch.chunk)) return false;
        }
        if (operation.kind == OperationKind::copy) {
          touch.source = resolve(operation.source, binding.bases.data(), trip);
          if (!is_inside(touch.source)) return false;
        }
        if (is_message(operation.kind)) {
          touch.peer = binding.peers[static_cast<std::size_t>(operation.peer)];
          if (touch.peer.rank <= 0 || touch.peer.rank >= schedule_.ranks) return false;
          rank_0_.sends += operation.kind == OperationKind::send ? 1 : 0;
        }
        rank_0_.touches.push_back(touch);
      }
  return true;
}

bool TranslatedProof::pair() {
  for (std::size_t i = 0; i < rank_0_.touches.size(); ++i) {
    const Touch& touch = rank_0_.touches[i];
    if (!is_message(touch.operation->kind)) continue;
    const bool receives = is_receive(touch.operation->kind);
    ends_.push_back(
        {receives ? translation_.home(touch.peer.rank) : touch.peer.rank, touch.peer.channel, receives, i});
  }
  std::sort(ends_.begin(), ends_.end(), [](const End& a, const End& b) { return a.key() < b.key(); });
  connection_of_.assign(rank_0_.touches.size(), -1);
  for (std::size_t first = 0; first < ends_.size();) {
    std::size_t last = first;
    while (last < ends_.size() && ends_[last].same_connection(ends_[first]))
      connection_of_[ends_[last++].touch] = connections_;
    if (!pair_connection(first, last)) return false;
    ++connections_;
    first = last;
  }
  return true;
}

// Sends come first, in the order of their streams.
bool TranslatedProof::pair_connection(std::size_t first, std::size_t last) {
  const auto touch_of = [this](std::size_t i) -> const Touch& { return rank_0_.touches[ends_[i].touch]; };
  std::size_t middle = first;
  while (middle < last && !ends_[middle].receives) ++middle;
  for (std::size_t i = first + 1; i < last; ++i)
    if (i != middle && touch_of(i).stream != touch_of(i - 1).stream)
      return fail(touch_of(i), "two streams use one end of the connection to rank " +
                                   std::to_string(ends_[first].target) + " on channel " +
                                   std::to_string(ends_[first].channel));
  if (middle - first != last - middle)
    return fail(touch_of(first), "the connection to rank " + std::to_string(ends_[first].target) +
                                     " on channel " + std::to_string(ends_[first].channel) + " has " +
                                     std::to_string(middle - first) + " sends and " +
                                     std::to_string(last - middle) + " receives");
  for (std::size_t i = first; i < middle; ++i) {
    const Chunk& sent = touch_of(i).chunk;
    const Chunk& received = touch_of(i + middle - first).chunk;
    // The receive of rank 0 is moved to the rank that receives from rank 0.
    const Rank block = received.span == 1 && schedule_.layout.blocks() > 1
                           ? translation_.move(received.block, ends_[first].target)
                           : received.block;
    // An all-to-all brings the part of the target to the part of the sender, rank 0.
    const bool right = kind_ == CollectiveKind::all_to_all ? sent.block == ends_[first].target && block == 0
                                                           : sent.block == block;
    if (sent.region != received.region || sent.span != received.span || !right)
      return fail(touch_of(i), kind_ == CollectiveKind::all_to_all
                                   ? "what it sends is not the target's part, or not received as its own"
                                   : "what it sends is not received as the same blocks");
  }
  return true;
}

bool TranslatedProof::can_step(const Touch& touch, const std::vector<std::size_t>& next) const {
  for (const Dependency& wait : touch.operation->dependencies) {
    const std::vector<std::int32_t>& streams = rank_0_.waits[static_cast<std::size_t>(touch.stream)].streams;
    const auto target = static_cast<std::size_t>(streams[static_cast<std::size_t>(wait.stream_slot)]);
    const std::int64_t done = static_cast<std::int64_t>(next[target] - rank_0_.first[target]);
    if (done <= wait.offset + touch.trip * wait.stride) return false;
  }
  if (!is_message(touch.operation->kind)) return true;
  const auto connection =
      static_cast<std::size_t>(connection_of_[static_cast<std::size_t>(&touch - rank_0_.touches.data())]);
  const std::int32_t held = in_flight_[connection];
  return touch.operation->kind == OperationKind::send ? held < schedule_.slots : held > 0;
}

// All-to-all: what arrives is right (pair_connection) and nothing is read after it was written, so it remains
// that every block of output is written once.
bool TranslatedProof::is_filled_once() {
  std::vector<std::int32_t> written(static_cast<std::size_t>(schedule_.layout.cells()));
  for (const Touch& touch : rank_0_.touches) {
    const OperationKind kind = touch.operation->kind;
    if (kind != OperationKind::receive && kind != OperationKind::copy) continue;
    const bool own =
        touch.chunk.region == touch.source.region && touch.chunk.block == 0 && touch.source.block == 0;
    if (kind == OperationKind::copy && !own) return fail(touch, "it copies another part than the rank's own");
    const std::size_t cell =
        static_cast<std::size_t>(touch.chunk.region) * static_cast<std::size_t>(schedule_.layout.blocks()) +
        static_cast<std::size_t>(touch.chunk.block);
    if (++written[cell] > 1) return fail(touch, text_of(touch.chunk) + " is written twice");
  }
  const auto missing = std::find(written.begin(), written.end(), 0);
  if (missing == written.end()) return true;
  const auto cell = static_cast<std::int32_t>(missing - written.begin());
  proof_.failures.push_back(
      ProofFailure{0, -1, -1,
                   "rank 0: block " + std::to_string(cell % schedule_.layout.blocks()) + " of region " +
                       std::to_string(cell / schedule_.layout.blocks()) + " is never written"});
  return false;
}

// Rounds over the streams that have not ended, until none can step.
bool TranslatedProof::run_on_counters() {
  in_flight_.assign(static_cast<std::size_t>(connections_), 0);
  std::vector<std::size_t> next(rank_0_.first.begin(), rank_0_.first.end() - 1);
  std::vector<std::size_t> waiting(next.size());
  for (std::size_t stream = 0; stream < waiting.size(); ++stream) waiting[stream] = stream;
  bool stepped = true;
  while (stepped && !waiting.empty()) {
    stepped = false;
    std::size_t kept = 0;
    for (const std::size_t stream : waiting) {
      while (next[stream] < rank_0_.first[stream + 1] && can_step(rank_0_.touches[next[stream]], next)) {
        const Touch& touch = rank_0_.touches[next[stream]];
        if (is_message(touch.operation->kind))
          in_flight_[static_cast<std::size_t>(connection_of_[next[stream]])] +=
              touch.operation->kind == OperationKind::send ? 1 : -1;
        ++next[stream];
        stepped = true;
      }
      if (next[stream] < rank_0_.first[stream + 1]) waiting[kept++] = stream;
    }
    waiting.resize(kept);
  }
  proof_.deadlock = !waiting.empty();
  if (proof_.deadlock)
    fail(rank_0_.touches[next[waiting.front()]], "it is never reached, and so at every other rank");
  return !proof_.deadlock;
}

// The accesses of all ranks to block 0 of a region, as a schedule.
class CellSchedule {
 public:
  CellSchedule(const Schedule& whole, const Rank0& rank_0, std::int32_t region)
      : whole_(whole), rank_0_(rank_0) {
    for (std::size_t i = 0; i < rank_0.touches.size(); ++i) {
      const Touch& touch = rank_0.touches[i];
      if (!is_message(touch.operation->kind) || touch.chunk.region != region) continue;
      if (touch.chunk.span == whole.layout.blocks())
        for (Rank rank = 0; rank < whole.ranks && fits(); ++rank) accesses_.push_back({rank, i});
      else
        accesses_.push_back({whole.translated->translation.home(touch.chunk.block), i});
    }
    // Touches of rank 0 lie by stream and index.
    std::sort(accesses_.begin(), accesses_.end(),
              [](const Access& a, const Access& b) { return a.key() < b.key(); });
  }

  bool fits() const { return static_cast<std::int64_t>(accesses_.size()) <= operations_max; }

  Schedule build() {
    number_streams();
    Schedule cell = empty_schedule(whole_.algorithm, whole_.collective, whole_.ranks);
    cell.collective.bytes = Bytes(element_bytes(whole_.collective.datatype));
    cell.layout = Layout(1, element_bytes(whole_.collective.datatype), {}, 1);
    cell.in_place = whole_.in_place;
    cell.barrier_as = whole_.barrier_as;
    if (in_parts(Contract(whole_).kind())) cell.owner = [](std::int32_t, std::int32_t) { return 0; };
    cell.slots = slots_unbounded;
    for (std::size_t stream = 0; stream + 1 < first_.size(); ++stream) add_stream(cell, stream);
    const auto streams = std::make_shared<const Streams>(std::move(streams_));
    cell.stream_count = [streams](Rank rank) {
      return streams->start[static_cast<std::size_t>(rank) + 1] -
             streams->start[static_cast<std::size_t>(rank)];
    };
    cell.bind = [streams](Rank rank, std::int32_t stream, Binding& binding) {
      binding =
          streams
              ->bindings[static_cast<std::size_t>(streams->start[static_cast<std::size_t>(rank)] + stream)];
    };
    return cell;
  }

 private:
  struct Access {
    Rank rank = 0;
    std::size_t touch = 0;
    std::pair<Rank, std::size_t> key() const { return {rank, touch}; }
  };
  struct Streams {
    std::vector<std::int32_t> start;  // [rank], and the end
    std::vector<Binding> bindings;
  };

  const Touch& touch_of(const Access& access) const { return rank_0_.touches[access.touch]; }

  void number_streams() {
    streams_.start.assign(static_cast<std::size_t>(whole_.ranks) + 1, 0);
    number_of_.resize(accesses_.size());
    for (std::size_t i = 0; i < accesses_.size(); ++i) {
      const bool fresh = i == 0 || accesses_[i].rank != accesses_[i - 1].rank ||
                         touch_of(accesses_[i]).stream != touch_of(accesses_[i - 1]).stream;
      if (fresh) {
        first_.push_back(i);
        ++streams_.start[static_cast<std::size_t>(accesses_[i].rank) + 1];
      }
      number_of_[i] = static_cast<std::int32_t>(first_.size()) - 1;
    }
    first_.push_back(accesses_.size());
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(whole_.ranks); ++rank)
      streams_.start[rank + 1] += streams_.start[rank];
  }

  void add_stream(Schedule& cell, std::size_t number) {
    Binding binding;
    Loop loop;
    std::vector<std::int64_t> words;  // the program in numbers, to find equal ones
    std::map<std::pair<Rank, std::int32_t>, std::int32_t> slots;
    for (std::size_t i = first_[number]; i < first_[number + 1]; ++i) {
      const Access& access = accesses_[i];
      const Touch& touch = touch_of(access);
      const Rank far = whole_.translated->translation.move(touch.peer.rank, access.rank);
      const auto [slot, fresh] = slots.try_emplace({far, touch.peer.channel}, binding.peers.size());
      if (fresh) binding.peers.push_back(Peer{far, touch.peer.channel});
      OperationTemplate operation;
      operation.kind = touch.operation->kind;
      operation.peer = slot->second;
      operation.chunk.buffer = touch.operation->chunk.buffer;
      add_waits(access, operation, binding);
      words.insert(words.end(), {static_cast<std::int64_t>(operation.kind), operation.peer,
                                 static_cast<std::int64_t>(operation.chunk.buffer),
                                 static_cast<std::int64_t>(operation.dependencies.size())});
      for (const Dependency& wait : operation.dependencies)
        words.insert(words.end(), {wait.stream_slot, wait.offset});
      loop.body.push_back(std::move(operation));
    }
    const auto [known, added] =
        programs_.try_emplace(std::move(words), static_cast<std::int32_t>(cell.programs.size()));
    if (added) cell.programs.push_back(Program{{std::move(loop)}});
    binding.program = known->second;
    streams_.bindings.push_back(std::move(binding));
  }

  void add_waits(const Access& access, OperationTemplate& operation, Binding& binding) const {
    const Touch& touch = touch_of(access);
    const std::vector<std::int32_t>& targets = rank_0_.waits[static_cast<std::size_t>(touch.stream)].streams;
    for (const Dependency& wait : touch.operation->dependencies) {
      const auto target = static_cast<std::size_t>(targets[static_cast<std::size_t>(wait.stream_slot)]);
      const std::int64_t wanted = wait.offset + touch.trip * wait.stride;
      const std::size_t end = rank_0_.first[target] + static_cast<std::size_t>(wanted) + 1;
      // The last access of the target stream before `end`.
      auto last = std::lower_bound(accesses_.begin(), accesses_.end(), Access{access.rank, end},
                                   [](const Access& a, const Access& b) { return a.key() < b.key(); });
      if (last == accesses_.begin()) continue;
      --last;
      if (last->rank != access.rank || static_cast<std::size_t>(touch_of(*last).stream) != target) continue;
      const auto place = static_cast<std::size_t>(last - accesses_.begin());
      const std::int32_t number = number_of_[place];
      operation.dependencies.push_back(
          {static_cast<std::int32_t>(binding.streams.size()),
           static_cast<std::int64_t>(place - first_[static_cast<std::size_t>(number)]), 0});
      binding.streams.push_back(number - streams_.start[static_cast<std::size_t>(access.rank)]);
    }
  }

  const Schedule& whole_;
  const Rank0& rank_0_;
  std::vector<Access> accesses_;         // by rank, stream, index
  std::vector<std::int32_t> number_of_;  // [access]: its stream
  std::vector<std::size_t> first_;       // [stream]: its first access, and the end
  std::map<std::vector<std::int64_t>, std::int32_t> programs_;
  Streams streams_;
};

std::optional<Schedule> TranslatedProof::cell_of(std::int32_t region) const {
  CellSchedule cell(schedule_, rank_0_, region);
  if (!cell.fits()) return std::nullopt;
  return cell.build();
}

}  // namespace

std::optional<Proof> prove_translated(const Schedule& schedule, Numerics* numerics) {
  if (!schedule.translated) return std::nullopt;
  return TranslatedProof(schedule).run(numerics);
}

}  // namespace collsim
