#include "algorithms/msccl_trace.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "sim/model/contract.hpp"

namespace collsim::algorithms {
namespace {

constexpr std::int64_t sum_words_max = std::int64_t{1} << 24;
constexpr std::size_t suspects_max = 8;
constexpr std::size_t names_max = 5;

// Numbers the chunks of a gpu: the vector, the input where it is another buffer, the scratch.
class Cells {
 public:
  explicit Cells(const Schedule& schedule)
      : vector_(schedule.layout.blocks()),
        count_(2 * schedule.layout.cells() + schedule.layout.scratch_cells()) {}
  std::int64_t count() const { return count_; }
  std::int64_t place(Rank gpu, const Chunk& chunk) const {
    const std::int64_t base = chunk.buffer == Buffer::output ? 0 : chunk.buffer == Buffer::input ? 1 : 2;
    return gpu * count_ + base * vector_ + chunk.block;
  }

 private:
  std::int64_t vector_;
  std::int64_t count_;
};

// Values are numbers: 0 undefined, then what each gpu contributes to each chunk, then sums.
class Values {
 public:
  Values(std::int32_t ranks, std::int32_t chunks)
      : ranks_(ranks), chunks_(chunks), words_((static_cast<std::size_t>(ranks) + 63) / 64) {}

  static constexpr std::int32_t undefined = 0;
  std::int32_t contribution(Rank gpu, std::int64_t chunk) const {
    return static_cast<std::int32_t>(1 + std::int64_t{gpu} * chunks_ + chunk);
  }
  bool is_sum(std::int32_t value) const { return value > ranks_ * chunks_; }
  // Of the chunk that it is about; -1: undefined, or of several.
  std::int64_t chunk_of(std::int32_t value) const {
    if (value == undefined) return -1;
    return is_sum(value) ? sum_of(value).chunk : (value - 1) % chunks_;
  }
  Rank gpu_of(std::int32_t value) const { return (value - 1) / chunks_; }
  bool has(std::int32_t value, Rank gpu) const {
    if (value == undefined) return false;
    if (!is_sum(value)) return gpu_of(value) == gpu;
    return (bits_[sum_of(value).first + static_cast<std::size_t>(gpu) / 64] >> (gpu % 64) & 1) != 0;
  }
  bool twice(std::int32_t value) const { return is_sum(value) && sum_of(value).twice; }
  bool full() const { return full_; }

  // The first gpu that both have, or -1.
  Rank common(std::int32_t a, std::int32_t b) const {
    if (!is_sum(a)) return has(b, gpu_of(a)) ? gpu_of(a) : -1;
    if (!is_sum(b)) return has(a, gpu_of(b)) ? gpu_of(b) : -1;
    for (std::size_t word = 0; word < words_; ++word) {
      const std::uint64_t both = bits_[sum_of(a).first + word] & bits_[sum_of(b).first + word];
      if (both != 0) return static_cast<Rank>(64 * word) + static_cast<Rank>(__builtin_ctzll(both));
    }
    return -1;
  }

  std::int32_t add(std::int32_t a, std::int32_t b) {
    if (a == undefined || b == undefined) return undefined;
    if (full_ || static_cast<std::int64_t>(bits_.size() + words_) > sum_words_max) {
      full_ = true;
      return undefined;
    }
    Sum sum{bits_.size(), chunk_of(a) == chunk_of(b) ? chunk_of(a) : -1,
            twice(a) || twice(b) || common(a, b) >= 0};
    bits_.resize(bits_.size() + words_);
    for (const std::int32_t part : {a, b}) {
      if (!is_sum(part)) {
        const auto gpu = static_cast<std::size_t>(gpu_of(part));
        bits_[sum.first + gpu / 64] |= std::uint64_t{1} << (gpu % 64);
        continue;
      }
      for (std::size_t word = 0; word < words_; ++word)
        bits_[sum.first + word] |= bits_[sum_of(part).first + word];
    }
    sums_.push_back(sum);
    return static_cast<std::int32_t>(std::int64_t{ranks_} * chunks_ +
                                     static_cast<std::int64_t>(sums_.size()));
  }

 private:
  struct Sum {
    std::size_t first;  // word in bits_
    std::int64_t chunk;
    bool twice;
  };
  const Sum& sum_of(std::int32_t value) const {
    return sums_[static_cast<std::size_t>(value - 1 - ranks_ * chunks_)];
  }

  std::int32_t ranks_;
  std::int32_t chunks_;
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
  std::vector<Sum> sums_;
  bool full_ = false;
};

std::string list_of_gpus(const std::vector<Rank>& gpus) {
  std::string text;
  for (std::size_t i = 0; i < gpus.size() && i < names_max; ++i)
    text += (i == 0 ? "gpu " : ", gpu ") + std::to_string(gpus[i]);
  if (gpus.size() > names_max) text += " and " + std::to_string(gpus.size() - names_max) + " more";
  return text;
}

class Tracer {
 public:
  Tracer(const MscclIndex& index, const MscclPlaces& places, const Schedule& schedule,
         MscclFindings& findings)
      : index_(index),
        places_(places),
        contract_(schedule),
        findings_(findings),
        ranks_(schedule.ranks),
        chunks_(schedule.layout.blocks()),
        cells_(schedule),
        values_(ranks_, chunks_),
        memory_(static_cast<std::size_t>(cells_.count() * ranks_)),
        flight_(index.links().size()) {
    const Buffer given = places.in_place() ? Buffer::output : Buffer::input;
    for (Rank gpu = 0; gpu < ranks_; ++gpu)
      for (std::int32_t chunk = 0; chunk < chunks_; ++chunk)
        if (contract_.gives(gpu, chunk))
          at(gpu, Chunk{given, 0, chunk, 1}).value = values_.contribution(gpu, chunk);
  }

  void run(const MscclRun& run) {
    for (const std::int32_t step : run.order) {
      execute(step);
      if (values_.full()) return;
    }
    for (Rank gpu = 0; gpu < ranks_; ++gpu)
      for (std::int32_t chunk = 0; chunk < chunks_; ++chunk) {
        check_result(gpu, chunk);
        if (findings_.errors() >= static_cast<std::int64_t>(MscclFindings::kept_max)) return;
      }
  }

 private:
  struct Cell {
    std::int32_t value = Values::undefined;
    std::int32_t writer = -1;  // step
    std::int32_t sender = -1;  // of the message that the writer stored
    bool read = false;         // since it was written
  };
  struct Message {
    std::vector<std::int32_t> values;
    std::int32_t sender = -1;
    std::vector<Chunk> chunk;  // one: what was sent
  };
  struct Queue {
    std::vector<Message> messages;
    std::size_t taken = 0;
  };

  Cell& at(Rank gpu, const Chunk& chunk) {
    return memory_[static_cast<std::size_t>(cells_.place(gpu, chunk))];
  }
  std::string name(Rank gpu, const Chunk& chunk) const {
    return places_.name(chunk.buffer, chunk.block, chunk.span, gpu);
  }
  static Chunk cell_of(Chunk chunk, std::int32_t i) {
    chunk.block += i;
    chunk.span = 1;
    return chunk;
  }

  void suspect(std::int32_t step, std::string text, std::int32_t other) {
    if (suspects_ >= suspects_max) return;
    ++suspects_;
    MscclFinding::Place second = other >= 0 ? index_.place(other) : MscclFinding::Place{};
    findings_.error(index_.place(step), std::string(name_of(index_.step(step).type)) + " " + std::move(text),
                    "", second);
  }
  std::string sent_by(std::int32_t step) const {
    return step < 0 ? "" : ", sent by " + text_with_line(index_.place(step));
  }

  std::int32_t load(std::int32_t step, Rank gpu, const Chunk& chunk) {
    Cell& cell = at(gpu, chunk);
    cell.read = true;
    if (cell.value == Values::undefined && cell.writer < 0)
      suspect(step, "uses " + name(gpu, chunk) + ", which nobody has written", -1);
    return cell.value;
  }

  std::int32_t sum(std::int32_t step, Rank gpu, const Chunk& chunk, std::int32_t own, std::int32_t more,
                   std::int32_t sender) {
    if (own != Values::undefined && more != Values::undefined) {
      const std::int64_t a = values_.chunk_of(own);
      const std::int64_t b = values_.chunk_of(more);
      const Rank both = a == b ? values_.common(own, more) : -1;
      if (a != b && a >= 0 && b >= 0)
        suspect(step,
                "adds " + vector_chunk(b) + " of the vector to " + vector_chunk(a) + " of it in " +
                    name(gpu, chunk) + sent_by(sender),
                sender);
      else if (both >= 0)
        suspect(step,
                "adds what gpu " + std::to_string(both) + " contributes to " + name(gpu, chunk) +
                    " a second time" + sent_by(sender),
                sender);
    }
    return values_.add(own, more);
  }
  static std::string vector_chunk(std::int64_t chunk) { return "chunk " + std::to_string(chunk); }

  // overwrites: the old value is no part of the new one.
  void store(std::int32_t step, Rank gpu, const Chunk& chunk, std::int32_t value, std::int32_t sender,
             bool overwrites) {
    Cell& cell = at(gpu, chunk);
    if (overwrites && cell.value != Values::undefined && !cell.read)
      suspect(
          step,
          "overwrites " + name(gpu, chunk) + " before anyone has read it" +
              (cell.writer < 0 ? std::string() : "; written by " + text_with_line(index_.place(cell.writer))),
          cell.writer);
    const std::int64_t about = values_.chunk_of(value);
    const bool moves = contract_.kind() == CollectiveKind::all_to_all;
    if (chunk.buffer == Buffer::output && about >= 0 && about != chunk.block && !moves)
      suspect(step,
              "stores " + vector_chunk(about) + " of the vector in " + name(gpu, chunk) + sent_by(sender),
              sender);
    cell = {value, step, sender, false};
  }

  // A complete sum that is sent on and not stored where it is wanted.
  void check_kept(std::int32_t step, Rank gpu, std::int32_t value) {
    const std::int64_t about = values_.chunk_of(value);
    if (about < 0 || contract_.wants(gpu, about) != Contract::Wants::sum) return;
    if (found(gpu, static_cast<std::int32_t>(about), value).empty())
      suspect(step, "has the complete sum of " + vector_chunk(about) + " and does not store it", -1);
  }

  void execute(std::int32_t number);
  Message receive(std::int32_t number);
  void check_result(Rank gpu, std::int32_t chunk);
  std::string found(Rank gpu, std::int32_t chunk, std::int32_t value) const;

  const MscclIndex& index_;
  const MscclPlaces& places_;
  const Contract contract_;
  MscclFindings& findings_;
  const std::int32_t ranks_;
  const std::int32_t chunks_;
  const Cells cells_;
  Values values_;
  std::vector<Cell> memory_;
  std::vector<Queue> flight_;  // [link]
  std::size_t suspects_ = 0;
};

Tracer::Message Tracer::receive(std::int32_t number) {
  Queue& queue = flight_[static_cast<std::size_t>(index_.tb(index_.tb_of(number)).receive_link)];
  Message message = std::move(queue.messages[queue.taken]);
  if (++queue.taken == queue.messages.size()) queue = {};
  return message;
}

void Tracer::execute(std::int32_t number) {
  const MscclStep& step = index_.step(number);
  if (step.type == MscclStepType::nop) return;
  const Rank gpu = index_.gpu_of(number);
  Message message;
  if (receives(step.type)) message = receive(number);
  const std::int32_t sender = message.sender;
  message.values.resize(static_cast<std::size_t>(step.count));
  const Chunk source = loads(step.type) ? places_.source(gpu, step) : Chunk{};
  const Chunk target = stores(step.type) ? places_.target(gpu, step) : Chunk{};
  for (std::int32_t i = 0; i < step.count; ++i) {
    std::int32_t& value = message.values[static_cast<std::size_t>(i)];
    const Chunk from = cell_of(source, i);
    const Chunk into = cell_of(target, i);
    const std::int32_t incoming = value;
    if (loads(step.type)) value = load(number, gpu, from);
    if (receives(step.type) && loads(step.type)) value = sum(number, gpu, from, value, incoming, sender);
    if (step.type == MscclStepType::re)
      value = sum(number, gpu, into, load(number, gpu, into), value, at(gpu, from).sender);
    if (step.type == MscclStepType::rrs) check_kept(number, gpu, value);
    const bool overwrites =
        step.type != MscclStepType::re && !(receives(step.type) && loads(step.type) && from == into);
    if (stores(step.type)) store(number, gpu, into, value, sender, overwrites);
  }
  if (!sends(step.type)) return;
  message.sender = number;
  Queue& queue = flight_[static_cast<std::size_t>(index_.tb(index_.tb_of(number)).send_link)];
  queue.messages.push_back(std::move(message));
}

std::string Tracer::found(Rank gpu, std::int32_t chunk, std::int32_t value) const {
  if (value == Values::undefined) return "is not defined";
  const std::int64_t about = values_.chunk_of(value);
  if (contract_.wants(gpu, chunk) == Contract::Wants::copy) {
    const Contract::Origin origin = contract_.origin(gpu, chunk);
    const std::string wanted =
        " instead of " + vector_chunk(origin.cell) + " of gpu " + std::to_string(origin.rank);
    if (values_.is_sum(value)) return "holds a sum" + wanted;
    return "holds " + vector_chunk(about) + " of gpu " + std::to_string(values_.gpu_of(value)) + wanted;
  }
  if (about >= 0 && about != chunk) return "holds " + vector_chunk(about) + " of the vector";
  if (about < 0) return "holds a sum of different chunks";
  std::vector<Rank> missing;
  for (Rank rank = 0; rank < ranks_; ++rank)
    if (!values_.has(value, rank)) missing.push_back(rank);
  std::string text = values_.twice(value) ? "holds a contribution twice" : "";
  if (!missing.empty()) text += (text.empty() ? "lacks " : " and lacks ") + list_of_gpus(missing);
  return text;
}

void Tracer::check_result(Rank gpu, std::int32_t chunk) {
  const Contract::Wants wants = contract_.wants(gpu, chunk);
  if (wants == Contract::Wants::nothing) return;
  const Chunk where{Buffer::output, 0, chunk, 1};
  const Cell& cell = at(gpu, where);
  if (wants == Contract::Wants::copy) {
    const Contract::Origin origin = contract_.origin(gpu, chunk);
    if (cell.value == values_.contribution(origin.rank, origin.cell)) return;
  } else if (found(gpu, chunk, cell.value).empty()) {
    return;
  }
  std::string text = "in the end " + name(gpu, where) + " of gpu " + std::to_string(gpu) + " " +
                     found(gpu, chunk, cell.value);
  if (cell.writer < 0)
    return findings_.error({gpu, -1, -1, index_.file().gpus[static_cast<std::size_t>(gpu)].line},
                           text + "; nobody has written it");
  findings_.error(index_.place(cell.writer), text + sent_by(cell.sender), "",
                  cell.sender >= 0 ? index_.place(cell.sender) : MscclFinding::Place{});
}

// Goes backwards through a run: a chunk is wanted if it is part of the result or goes into what is wanted.
class Uses {
 public:
  Uses(const MscclIndex& index, const MscclPlaces& places, const Schedule& schedule)
      : index_(index),
        places_(places),
        cells_(schedule),
        wanted_(static_cast<std::size_t>(cells_.count() * schedule.ranks)),
        messages_(index.links().size()) {
    const Contract contract(schedule);
    for (Rank gpu = 0; gpu < schedule.ranks; ++gpu)
      for (std::int32_t chunk = 0; chunk < schedule.layout.blocks(); ++chunk)
        if (contract.wants(gpu, chunk) != Contract::Wants::nothing)
          mark(gpu, Chunk{Buffer::output, 0, chunk, 1});
  }

  // Whether anything that the step does is wanted.
  bool visit(std::int32_t number) {
    const MscclStep& step = index_.step(number);
    if (step.type == MscclStepType::nop) return true;
    const MscclIndex::Tb& tb = index_.tb(index_.tb_of(number));
    std::vector<bool> wanted(static_cast<std::size_t>(step.count));
    if (sends(step.type)) wanted = pop(tb.send_link);
    if (stores(step.type)) take(tb.gpu, places_.target(tb.gpu, step), step.type == MscclStepType::re, wanted);
    if (loads(step.type)) {
      const Chunk source = places_.source(tb.gpu, step);
      for (std::int32_t i = 0; i < step.count; ++i)
        if (wanted[static_cast<std::size_t>(i)]) mark(tb.gpu, Chunk{source.buffer, 0, source.block + i, 1});
    }
    const bool any = std::find(wanted.begin(), wanted.end(), true) != wanted.end();
    if (receives(step.type))
      messages_[static_cast<std::size_t>(tb.receive_link)].push_back(std::move(wanted));
    return any;
  }

 private:
  void mark(Rank gpu, const Chunk& chunk) {
    wanted_[static_cast<std::size_t>(cells_.place(gpu, chunk))] = true;
  }

  // What is stored is wanted where its place is; before, the place is wanted only if it is added to.
  void take(Rank gpu, const Chunk& target, bool adds, std::vector<bool>& wanted) {
    for (std::int32_t i = 0; i < target.span; ++i) {
      const std::int64_t place = cells_.place(gpu, Chunk{target.buffer, 0, target.block + i, 1});
      const bool here = wanted_[static_cast<std::size_t>(place)];
      if (here) wanted[static_cast<std::size_t>(i)] = true;
      if (!adds) wanted_[static_cast<std::size_t>(place)] = false;
    }
  }
  // Receives of a connection come in order, and so do its sends: backwards, the first send that is met is the
  // last, and so is the first receive.
  std::vector<bool> pop(std::int32_t link) {
    auto& queue = messages_[static_cast<std::size_t>(link)];
    std::size_t& next = next_[link];
    std::vector<bool> wanted = std::move(queue[next]);
    if (++next == queue.size()) {
      queue.clear();
      next = 0;
    }
    return wanted;
  }

  const MscclIndex& index_;
  const MscclPlaces& places_;
  const Cells cells_;
  std::vector<bool> wanted_;
  std::vector<std::vector<std::vector<bool>>> messages_;  // [link]
  std::unordered_map<std::int32_t, std::size_t> next_;    // [link]: first of messages_ that was not taken
};

}  // namespace

void explain_result(const MscclIndex& index, const MscclPlaces& places, const MscclRun& run,
                    const Schedule& schedule, MscclFindings& findings) {
  Tracer(index, places, schedule, findings).run(run);
}

void find_unused(const MscclIndex& index, const MscclPlaces& places, const MscclRun& run,
                 const Schedule& schedule, MscclFindings& findings) {
  Uses uses(index, places, schedule);
  std::vector<std::int32_t> unused;
  for (std::size_t i = run.order.size(); i-- > 0;)
    if (!uses.visit(run.order[i])) unused.push_back(run.order[i]);
  std::sort(unused.begin(), unused.end());
  for (const std::int32_t step : unused)
    findings.warning(index.place(step), std::string(name_of(index.step(step).type)) +
                                            " is for nothing: what it does reaches no output");
}

}  // namespace collsim::algorithms
