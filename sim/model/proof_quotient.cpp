// Pairing and deadlock freedom on one stream an orbit (proof_orbits.hpp).
#include <algorithm>
#include <map>
#include <tuple>

#include "sim/model/dataflow.hpp"
#include "sim/model/proof_orbits.hpp"
#include "sim/model/proof_pairing.hpp"

namespace collsim {
namespace {

constexpr std::size_t representatives_max = std::size_t{1} << 20;
constexpr std::int64_t operations_max = std::int64_t{1} << 30;
constexpr std::int64_t binds_max = std::int64_t{1} << 31;
constexpr std::int64_t messages_max = std::int64_t{1} << 28;  // compared one by one

struct Representative {
  std::int32_t number = 0;
  Rank rank = 0;
  std::int32_t local = 0;
  std::size_t part = 0;
  Binding binding;
  std::vector<std::int32_t> out;      // [peer slot]: link of its sends, or -1
  std::vector<std::int32_t> in;       // [peer slot]: link of its receives
  std::vector<std::int32_t> targets;  // [stream slot]: representative of the stream that it waits for
};

// The end of a connection at rank `scan`, which exactly one stream there must have.
struct Need {
  Rank scan = 0;
  Rank other = 0;
  std::int32_t channel = 0;
  bool receives = false;
  bool own = false;  // it is the representative's own end; else the other end of its connection
  std::int32_t representative = 0;
  std::int32_t slot = 0;  // of the representative
  std::int32_t found = 0;

  auto key() const { return std::tuple(scan, other, channel, receives); }
};

class Quotient {
 public:
  Quotient(OrbitPlan& plan, OrbitProof& result) : plan_(plan), schedule_(plan.schedule), result_(result) {}

  bool run() {
    return collect() && check_streams() && check_channels() && match() && check_links() && execute();
  }

 private:
  struct Link {
    std::int32_t sender = -1;
    std::int32_t receiver = -1;
    std::int32_t count = 0;
    bool sender_waits = false;
    bool receiver_waits = false;
  };
  struct Position {
    std::size_t loop = 0;
    std::size_t body = 0;
    std::int64_t trip = 0;
    std::int64_t done = 0;
    std::vector<std::int32_t> waiters;
    std::int64_t least_wanted = 0;  // of the waiters
  };

  const Program& program_of(const Representative& stream) const {
    return schedule_.programs[static_cast<std::size_t>(stream.binding.program)];
  }
  const ProgramFacts& facts_of(const Representative& stream) const {
    return plan_.facts[static_cast<std::size_t>(stream.binding.program)];
  }
  bool refuse(const std::string& text) {
    result_.refuse(text);
    return false;
  }
  bool fail(const Representative& stream, std::int64_t step, const std::string& text) {
    result_.fail(stream.rank, stream.local, step, text);
    return false;
  }

  bool collect();
  bool check_streams();
  bool check_waits(Representative& stream);
  bool check_chunks(const Representative& stream);
  bool inside(const Representative& stream, const ChunkExpression& chunk, std::int64_t trips) const;
  bool check_channels();
  bool match();
  void add_needs(std::int32_t number);
  bool scan(Rank rank, std::vector<Need>::iterator first, std::vector<Need>::iterator last);
  bool found(Need& need, std::int32_t local, std::int32_t slot, const Binding& binding);
  bool compare(const Need& need, std::int32_t slot, const Binding& binding);
  bool check_links();
  bool execute();
  void run_stream(std::int32_t number);
  bool step(std::int32_t number, const OperationTemplate& operation);
  void advance(std::int32_t number);
  bool report_deadlock();
  std::int32_t representative_of(std::int32_t stream);

  OrbitPlan& plan_;
  const Schedule& schedule_;
  OrbitProof& result_;
  std::vector<Representative> representatives_;  // by rising number
  std::vector<Need> needs_;
  std::vector<Link> links_;
  std::vector<Position> positions_;
  std::vector<std::int32_t> ready_;
  std::int64_t budget_ = messages_max;
};

bool Quotient::collect() {
  std::int64_t operations = 0;
  for (Rank rank = 0; rank < schedule_.ranks; ++rank) {
    const std::int32_t start = plan_.start[static_cast<std::size_t>(rank)];
    const std::int32_t end = plan_.start[static_cast<std::size_t>(rank) + 1];
    for (std::int32_t number = start; number < end; ++number) {
      if (!plan_.streams.is_root(number)) continue;
      Representative& stream = representatives_.emplace_back();
      stream.number = number;
      stream.rank = rank;
      stream.local = number - start;
      stream.part = plan_.part_of_stream(stream.local);
      schedule_.bind(rank, stream.local, stream.binding);
      const std::int32_t program = stream.binding.program;
      if (program < 0 || static_cast<std::size_t>(program) >= plan_.facts.size() ||
          !plan_.facts[static_cast<std::size_t>(program)].fits(stream.binding))
        return fail(stream, -1, "its binding does not fit a program");
      operations += facts_of(stream).operations;
      if (representatives_.size() > representatives_max || operations > operations_max)
        return refuse("too few symmetries hold to decide whether it can deadlock");
    }
  }
  return true;
}

std::int32_t Quotient::representative_of(std::int32_t stream) {
  const std::int32_t root = plan_.streams.root_of(stream);
  const auto at = std::lower_bound(representatives_.begin(), representatives_.end(), root,
                                   [](const Representative& a, std::int32_t b) { return a.number < b; });
  return static_cast<std::int32_t>(at - representatives_.begin());
}

bool Quotient::check_streams() {
  for (Representative& stream : representatives_) {
    const ProgramFacts& facts = facts_of(stream);
    for (std::size_t slot = 0; slot < facts.peers.size(); ++slot) {
      const Peer& peer = stream.binding.peers[slot];
      if (facts.peers[slot].sends + facts.peers[slot].receives == 0) continue;
      if (peer.rank < 0 || peer.rank >= schedule_.ranks || peer.rank == stream.rank)
        return fail(stream, -1,
                    "its peer is rank " + std::to_string(peer.rank) +
                        (peer.rank == stream.rank ? ", which is itself" : ", which does not exist"));
    }
    if (!check_waits(stream) || !check_chunks(stream)) return false;
  }
  return true;
}

bool Quotient::check_waits(Representative& stream) {
  const std::int32_t start = plan_.start[static_cast<std::size_t>(stream.rank)];
  const std::int32_t count = plan_.start[static_cast<std::size_t>(stream.rank) + 1] - start;
  stream.targets.assign(facts_of(stream).streams, -1);
  std::int64_t first = 0;
  for (const Loop& loop : program_of(stream).loops) {
    const auto length = static_cast<std::int64_t>(loop.body.size());
    for (std::int64_t i = 0; i < length && loop.trips > 0; ++i)
      for (const Dependency& wait : loop.body[static_cast<std::size_t>(i)].dependencies) {
        const auto slot = static_cast<std::size_t>(wait.stream_slot);
        const std::int32_t target = stream.binding.streams[slot];
        if (target < 0 || target >= count)
          return fail(stream, first + i,
                      "it waits for stream " + std::to_string(target) + ", which does not exist");
        if (plan_.part_of_stream(target) != stream.part)
          return refuse("a stream of one part of the schedule waits for one of another");
        stream.targets[slot] = representative_of(start + target);
        const std::int64_t operations =
            facts_of(representatives_[static_cast<std::size_t>(stream.targets[slot])]).operations;
        for (const std::int64_t trip : {std::int64_t{0}, loop.trips - 1}) {
          const std::int64_t wanted = wait.offset + trip * wait.stride;
          if (wanted < 0 || wanted >= operations)
            return fail(stream, first + i + trip * length,
                        "it waits for step " + std::to_string(wanted) + " of stream " +
                            std::to_string(target) + ", which has no such step");
        }
      }
    first += loop.trips * length;
  }
  return true;
}

bool Quotient::check_chunks(const Representative& stream) {
  for (const Loop& loop : program_of(stream).loops)
    for (const OperationTemplate& operation : loop.body)
      if (loop.trips > 0 && operation.kind != OperationKind::wait &&
          !inside(stream, operation.chunk, loop.trips))
        return refuse("rank " + std::to_string(stream.rank) + ", stream " + std::to_string(stream.local) +
                      ": a chunk cannot be shown to lie inside the layout and its part of the schedule");
  return true;
}

bool Quotient::inside(const Representative& stream, const ChunkExpression& chunk, std::int64_t trips) const {
  const auto base = [&](std::int8_t slot) {
    return slot < 0 ? std::int64_t{0} : stream.binding.bases[static_cast<std::size_t>(slot)];
  };
  const std::int64_t first = base(chunk.region_base) + chunk.region_offset;
  const std::int64_t last = first + (trips - 1) * chunk.region_stride;
  if (std::min(first, last) < 0 || std::max(first, last) >= schedule_.layout.regions()) return false;
  const std::size_t part = stream.part;
  for (std::int64_t region = std::min(first, last); region <= std::max(first, last); ++region)
    if (plan_.part_of_region(static_cast<std::int32_t>(region)) != part) return false;
  const std::int64_t blocks = schedule_.layout.blocks();
  const bool still = trips == 1 || chunk.block_stride % chunk.block_modulus == 0;
  if (still) {
    const Chunk only = resolve(chunk, stream.binding.bases.data(), 0);
    return only.block >= 0 && only.block <= blocks - only.span;
  }
  const std::int64_t origin = base(chunk.origin_base);
  const std::int64_t farthest = (std::int64_t{chunk.block_modulus} - 1) * chunk.block_unit;
  return origin >= 0 && origin + farthest <= blocks - chunk.span;
}

// Parts share no connection, because they use different channel numbers. (Of one part's orbits, only the
// representatives are looked at, so a shared connection elsewhere would not be seen.)
bool Quotient::check_channels() {
  std::map<std::int32_t, std::size_t> part_of_channel;
  for (const Representative& stream : representatives_)
    for (std::size_t slot = 0; slot < facts_of(stream).peers.size(); ++slot) {
      std::vector<std::int32_t> channels = {stream.binding.peers[slot].channel};
      for (std::size_t next = 0; next < channels.size(); ++next) {
        const auto [at, added] = part_of_channel.try_emplace(channels[next], stream.part);
        if (at->second != stream.part)
          return refuse("two parts of the schedule use channel " + std::to_string(channels[next]));
        if (!added || stream.part == plan_.parts.size()) continue;
        for (const Symmetry* symmetry : plan_.parts[stream.part].symmetries)
          channels.push_back(static_cast<std::int32_t>(symmetry->channel(channels[next])));
      }
    }
  return true;
}

void Quotient::add_needs(std::int32_t number) {
  Representative& stream = representatives_[static_cast<std::size_t>(number)];
  const ProgramFacts& facts = facts_of(stream);
  stream.out.assign(facts.peers.size(), -1);
  stream.in.assign(facts.peers.size(), -1);
  for (std::size_t slot = 0; slot < facts.peers.size(); ++slot)
    for (const bool receives : {false, true}) {
      const ProgramFacts::PeerUse& use = facts.peers[slot];
      if ((receives ? use.receives : use.sends) == 0) continue;
      const Peer& peer = stream.binding.peers[slot];
      const auto at = static_cast<std::int32_t>(slot);
      needs_.push_back({stream.rank, peer.rank, peer.channel, receives, true, number, at, 0});
      needs_.push_back({peer.rank, stream.rank, peer.channel, !receives, false, number, at, 0});
      if (receives) continue;
      stream.out[slot] = static_cast<std::int32_t>(links_.size());
      links_.push_back(Link{number, -1, 0, false, false});
    }
}

// Finds the streams that have the ends, among all streams of their ranks.
bool Quotient::match() {
  for (std::size_t number = 0; number < representatives_.size(); ++number)
    add_needs(static_cast<std::int32_t>(number));
  std::sort(needs_.begin(), needs_.end(), [](const Need& a, const Need& b) { return a.key() < b.key(); });
  std::int64_t binds = 0;
  for (auto first = needs_.begin(); first != needs_.end();) {
    const Rank rank = first->scan;
    const auto last = std::find_if(first, needs_.end(), [&](const Need& need) { return need.scan != rank; });
    const auto at = static_cast<std::size_t>(rank);
    binds += plan_.start[at + 1] - plan_.start[at];
    if (binds > binds_max) return refuse("too few symmetries hold to show that sends and receives pair up");
    if (!scan(rank, first, last)) return false;
    first = last;
  }
  return true;
}

bool Quotient::scan(Rank rank, std::vector<Need>::iterator first, std::vector<Need>::iterator last) {
  const std::int32_t start = plan_.start[static_cast<std::size_t>(rank)];
  const std::int32_t count = plan_.start[static_cast<std::size_t>(rank) + 1] - start;
  Binding binding;
  for (std::int32_t local = 0; local < count; ++local) {
    binding.clear();
    schedule_.bind(rank, local, binding);
    if (binding.program < 0 || static_cast<std::size_t>(binding.program) >= plan_.facts.size())
      return refuse("a program does not exist");
    const ProgramFacts& facts = plan_.facts[static_cast<std::size_t>(binding.program)];
    if (!facts.fits(binding)) return refuse("a binding does not fit its program");
    for (std::size_t slot = 0; slot < facts.peers.size(); ++slot)
      for (const bool receives : {false, true}) {
        if ((receives ? facts.peers[slot].receives : facts.peers[slot].sends) == 0) continue;
        const Rank other = binding.peers[slot].rank;
        if (other < first->other || other > std::prev(last)->other) continue;  // as most, in most ranks
        const auto key = std::tuple(rank, other, binding.peers[slot].channel, receives);
        auto need = std::lower_bound(first, last, key,
                                     [](const Need& a, const auto& wanted) { return a.key() < wanted; });
        for (; need != last && need->key() == key; ++need)
          if (!found(*need, local, static_cast<std::int32_t>(slot), binding)) return false;
      }
  }
  return true;
}

bool Quotient::found(Need& need, std::int32_t local, std::int32_t slot, const Binding& binding) {
  const Representative& stream = representatives_[static_cast<std::size_t>(need.representative)];
  const auto own_slot = static_cast<std::size_t>(need.slot);
  if (++need.found > 1)
    return fail(stream, -1,
                "two streams of rank " + std::to_string(need.scan) + " " +
                    (need.receives ? "receive" : "send") + " on one connection with rank " +
                    std::to_string(need.other) + " on channel " + std::to_string(need.channel));
  if (need.own) return true;
  if (plan_.part_of_stream(local) != stream.part)
    return refuse("two parts of the schedule share a connection");
  const ProgramFacts& theirs = plan_.facts[static_cast<std::size_t>(binding.program)];
  const ProgramFacts::PeerUse& use = theirs.peers[static_cast<std::size_t>(slot)];
  const ProgramFacts::PeerUse& own = facts_of(stream).peers[own_slot];
  if ((need.receives ? own.sends : use.sends) != (need.receives ? use.receives : own.receives))
    return fail(stream, -1,
                "it does not exchange as many messages with rank " + std::to_string(need.scan) +
                    " on channel " + std::to_string(need.channel) + " as that rank with it");
  if (!need.receives) return true;  // the sender's representative makes the link
  const std::int32_t partner = representative_of(plan_.start[static_cast<std::size_t>(need.scan)] + local);
  std::int32_t& in = representatives_[static_cast<std::size_t>(partner)].in[static_cast<std::size_t>(slot)];
  if (in >= 0) return refuse("two orbits of connections end in one");
  in = stream.out[own_slot];
  links_[static_cast<std::size_t>(in)].receiver = partner;
  return compare(need, slot, binding);
}

bool Quotient::compare(const Need& need, std::int32_t slot, const Binding& binding) {
  const Representative& stream = representatives_[static_cast<std::size_t>(need.representative)];
  const PeerEnd sender{&program_of(stream), stream.binding.bases.data(), need.slot};
  const PeerEnd receiver{&schedule_.programs[static_cast<std::size_t>(binding.program)], binding.bases.data(),
                         slot};
  const auto unpaired = first_unpaired(sender, receiver, budget_);
  if (!unpaired) return true;
  if (!unpaired->known) return refuse("sends and receives cannot be shown to be of the same blocks");
  return refuse("message " + std::to_string(unpaired->message) + " from rank " + std::to_string(need.other) +
                " to rank " + std::to_string(need.scan) + " leaves as " + text_of(unpaired->sent) +
                " and arrives as " + text_of(unpaired->received) + "; contents that move between cells are " +
                "followed only in all cells at once");
}

bool Quotient::check_links() {
  for (const Need& need : needs_) {
    if (need.found > 0) continue;
    const Representative& stream = representatives_[static_cast<std::size_t>(need.representative)];
    return fail(stream, -1,
                "rank " + std::to_string(need.scan) + (need.receives ? " receives" : " sends") +
                    " nothing on its connection with it on channel " + std::to_string(need.channel));
  }
  for (const Representative& stream : representatives_)
    for (std::size_t slot = 0; slot < stream.in.size(); ++slot)
      if (facts_of(stream).peers[slot].receives > 0 && stream.in[slot] < 0)
        return refuse("the orbits of connections do not pair up");
  return true;
}

bool Quotient::execute() {
  positions_.resize(representatives_.size());
  for (std::size_t number = 0; number < positions_.size(); ++number)
    ready_.push_back(static_cast<std::int32_t>(number));
  while (!ready_.empty()) {
    const std::int32_t number = ready_.back();
    ready_.pop_back();
    run_stream(number);
  }
  return report_deadlock();
}

void Quotient::run_stream(std::int32_t number) {
  const std::vector<Loop>& loops = program_of(representatives_[static_cast<std::size_t>(number)]).loops;
  Position& at = positions_[static_cast<std::size_t>(number)];
  while (true) {
    while (at.loop < loops.size() && (loops[at.loop].trips == 0 || loops[at.loop].body.empty())) ++at.loop;
    if (at.loop == loops.size() || !step(number, loops[at.loop].body[at.body])) return;
    if (++at.body == loops[at.loop].body.size()) {
      at.body = 0;
      if (++at.trip == loops[at.loop].trips) {
        at.trip = 0;
        ++at.loop;
      }
    }
    advance(number);
  }
}

// Whether the operation is done; if not, something will wake the stream.
bool Quotient::step(std::int32_t number, const OperationTemplate& operation) {
  const Representative& stream = representatives_[static_cast<std::size_t>(number)];
  const std::int64_t trip = positions_[static_cast<std::size_t>(number)].trip;
  for (const Dependency& wait : operation.dependencies) {
    const std::int32_t target = stream.targets[static_cast<std::size_t>(wait.stream_slot)];
    const std::int64_t wanted = wait.offset + trip * wait.stride;
    Position& other = positions_[static_cast<std::size_t>(target)];
    if (other.done > wanted) continue;
    other.least_wanted = other.waiters.empty() ? wanted : std::min(other.least_wanted, wanted);
    other.waiters.push_back(number);
    return false;
  }
  if (!is_message(operation.kind)) return true;
  const auto slot = static_cast<std::size_t>(operation.peer);
  const bool sends = operation.kind == OperationKind::send;
  Link& link = links_[static_cast<std::size_t>(sends ? stream.out[slot] : stream.in[slot])];
  if (sends ? link.count >= schedule_.slots : link.count == 0) {
    (sends ? link.sender_waits : link.receiver_waits) = true;
    return false;
  }
  link.count += sends ? 1 : -1;
  bool& partner_waits = sends ? link.receiver_waits : link.sender_waits;
  if (partner_waits) ready_.push_back(sends ? link.receiver : link.sender);
  partner_waits = false;
  return true;
}

void Quotient::advance(std::int32_t number) {
  Position& at = positions_[static_cast<std::size_t>(number)];
  ++at.done;
  if (at.waiters.empty() || at.least_wanted >= at.done) return;
  ready_.insert(ready_.end(), at.waiters.begin(), at.waiters.end());
  at.waiters.clear();
}

bool Quotient::report_deadlock() {
  for (std::size_t number = 0; number < positions_.size(); ++number) {
    const Representative& stream = representatives_[number];
    const Position& at = positions_[number];
    if (at.done == facts_of(stream).operations) continue;
    result_.proof.deadlock = true;
    const OperationTemplate& operation = program_of(stream).loops[at.loop].body[at.body];
    fail(stream, at.done, std::string(name_of(operation.kind)) + " waits forever");
  }
  if (!result_.proof.deadlock) result_.proof.deadlock_freedom = DeadlockFreedom::quotient;
  return !result_.proof.deadlock;
}

}  // namespace

bool run_quotient(OrbitPlan& plan, OrbitProof& result) { return Quotient(plan, result).run(); }

}  // namespace collsim
