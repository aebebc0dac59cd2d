#include "algorithms/msccl_schedule.hpp"

#include <algorithm>
#include <utility>

#include "algorithms/msccl_reader.hpp"
#include "algorithms/msccl_run.hpp"
#include "algorithms/msccl_static.hpp"

namespace collsim::algorithms {
namespace {

std::int64_t operations_of(MscclStepType type) {
  if (type == MscclStepType::nop) return 0;
  return sends(type) && receives(type) ? 2 : 1;
}

// The last operation of each step of a thread block; of a nop the last of the next step.
std::vector<std::int64_t> last_operations(const MscclThreadBlock& tb) {
  std::vector<std::int64_t> last(tb.steps.size());
  std::int64_t operations = 0;
  std::size_t nops = 0;
  for (std::size_t i = 0; i < tb.steps.size(); ++i) {
    operations += operations_of(tb.steps[i].type);
    last[i] = operations - 1;
    if (tb.steps[i].type == MscclStepType::nop) {
      ++nops;
      continue;
    }
    for (; nops > 0; --nops) last[i - nops] = last[i];
  }
  for (; nops > 0; --nops) last[last.size() - nops] = operations;  // one wait for all of them
  return last;
}

ChunkExpression expression_of(const Chunk& chunk) {
  ChunkExpression expression;
  expression.buffer = chunk.buffer;
  expression.region_offset = chunk.region;
  // block_offset is taken modulo block_modulus: the block itself is a multiple of 1 modulo what is above it.
  expression.block_offset = chunk.block;
  expression.block_modulus = chunk.block + 1;
  expression.span = chunk.span;
  return expression;
}

class Builder {
 public:
  Builder(const MscclFile& file, const MscclReading& reading, bool in_place)
      : file_(file), reading_(reading), places_(file, in_place) {
    for (const MscclGpu& gpu : file.gpus) {
      scratch_ = std::max(scratch_, gpu.scratch_chunks);
      std::vector<std::vector<std::int64_t>>& lasts = last_.emplace_back();
      for (const MscclThreadBlock& tb : gpu.tbs) lasts.push_back(last_operations(tb));
    }
  }

  // Programs and bindings of all thread blocks; returns the chunks of scratch that it takes.
  std::int32_t build(std::vector<Program>& programs, std::vector<std::vector<Binding>>& bindings) {
    std::int32_t scratch = scratch_;
    for (std::size_t gpu = 0; gpu < file_.gpus.size(); ++gpu) {
      hidden_ = scratch_;
      bindings.emplace_back();
      for (const MscclThreadBlock& tb : file_.gpus[gpu].tbs) {
        Binding& binding = bindings.back().emplace_back();
        binding.program = static_cast<std::int32_t>(programs.size());
        if (tb.send >= 0) binding.peers.push_back(Peer{tb.send, tb.channel});
        receive_slot_ = static_cast<std::int32_t>(binding.peers.size());
        if (tb.receive >= 0) binding.peers.push_back(Peer{tb.receive, tb.channel});
        programs.push_back(program(static_cast<Rank>(gpu), tb, binding));
      }
      scratch = std::max(scratch, hidden_);
    }
    return scratch;
  }

 private:
  Program program(Rank gpu, const MscclThreadBlock& tb, Binding& binding) {
    Loop loop;
    std::vector<Dependency> dependencies;
    const std::int32_t hidden = hidden_;
    for (const MscclStep& step : tb.steps) {
      if (step.dependency_tb >= 0) dependencies.push_back(dependency(gpu, step, binding));
      if (step.type == MscclStepType::nop) continue;
      const std::size_t first = loop.body.size();
      add(gpu, step, hidden, loop.body);
      loop.body[first].dependencies = std::exchange(dependencies, {});
    }
    if (!tb.steps.empty() && tb.steps.back().type == MscclStepType::nop) {
      loop.body.emplace_back();
      loop.body.back().dependencies = std::move(dependencies);
    }
    return Program{{std::move(loop)}};
  }

  Dependency dependency(Rank gpu, const MscclStep& step, Binding& binding) const {
    const auto known = std::find(binding.streams.begin(), binding.streams.end(), step.dependency_tb);
    const auto slot = static_cast<std::int32_t>(known - binding.streams.begin());
    if (known == binding.streams.end()) binding.streams.push_back(step.dependency_tb);
    const std::vector<std::int64_t>& last =
        last_[static_cast<std::size_t>(gpu)][static_cast<std::size_t>(step.dependency_tb)];
    return Dependency{slot, last[static_cast<std::size_t>(step.dependency_step)], 0};
  }

  static void push(std::vector<OperationTemplate>& body, OperationKind kind, std::int32_t peer,
                   const Chunk& chunk) {
    OperationTemplate& operation = body.emplace_back();
    operation.kind = kind;
    operation.peer = peer;
    operation.chunk = expression_of(chunk);
  }

  void add(Rank gpu, const MscclStep& step, std::int32_t hidden, std::vector<OperationTemplate>& body) {
    Chunk target = stores(step.type) ? places_.target(gpu, step) : Chunk{};
    Chunk source = loads(step.type) ? places_.source(gpu, step) : Chunk{};
    switch (step.type) {
      case MscclStepType::s:
        return push(body, OperationKind::send, 0, source);
      case MscclStepType::cpy:
      case MscclStepType::re:
        push(body, step.type == MscclStepType::cpy ? OperationKind::copy : OperationKind::reduce, -1, target);
        body.back().source = expression_of(source);
        return;
      case MscclStepType::r:
      case MscclStepType::rcs:
        push(body, OperationKind::receive, receive_slot_, target);
        break;
      default:
        if (step.type == MscclStepType::rrs) {
          target = Chunk{Buffer::scratch, 0, hidden, step.count};
          hidden_ = std::max(hidden_, hidden + step.count);
        }
        push(body, OperationKind::receive_reduce, receive_slot_, target);
        if (source == target || (reading_.generator && step.type == MscclStepType::rrc)) break;
        body.back().from_source = true;
        body.back().source = expression_of(source);
    }
    if (sends(step.type)) push(body, OperationKind::send, 0, target);
  }

  const MscclFile& file_;
  const MscclReading& reading_;
  const MscclPlaces places_;
  std::int32_t scratch_ = 0;
  std::int32_t receive_slot_ = 0;  // in the peers of the thread block; the one it sends to comes first
  std::int32_t hidden_ = 0;        // first chunk of scratch that no thread block of the gpu uses
  std::vector<std::vector<std::vector<std::int64_t>>> last_;  // [gpu][tb][step]
};

// Following the waits of one access to another may visit all steps of the gpu.
std::int64_t longest_searches(const MscclFile& file) {
  std::int64_t searches = 0;
  for (const MscclGpu& gpu : file.gpus) {
    std::int64_t steps = 0;
    for (const MscclThreadBlock& tb : gpu.tbs) steps += static_cast<std::int64_t>(tb.steps.size());
    searches += steps * steps;
  }
  return searches;
}

// Chunks that all steps together move.
std::int64_t moves_of(const MscclFile& file) {
  std::int64_t moves = 0;
  for (const MscclGpu& gpu : file.gpus)
    for (const MscclThreadBlock& tb : gpu.tbs)
      for (const MscclStep& step : tb.steps) moves += step.count;
  return moves;
}

// Chunks of scratch of the gpu that needs most, with one place for the sums of the rrs of a thread block.
std::int64_t scratch_of(const MscclFile& file) {
  std::int64_t most = 0;
  for (const MscclGpu& gpu : file.gpus) {
    std::int64_t chunks = gpu.scratch_chunks;
    for (const MscclThreadBlock& tb : gpu.tbs) {
      std::int32_t hidden = 0;
      for (const MscclStep& step : tb.steps)
        if (step.type == MscclStepType::rrs) hidden = std::max(hidden, step.count);
      chunks += hidden;
    }
    most = std::max(most, chunks);
  }
  return most;
}

std::optional<Impossible> mismatch(const MscclFile& file, const Collective& collective, std::int32_t ranks) {
  if (collective.kind != file.kind)
    return Impossible{"the file does " + std::string(name_of(file.kind)) + ", not " +
                      std::string(name_of(collective.kind))};
  if (ranks != file.ranks)
    return Impossible{"the file is for " + std::to_string(file.ranks) + " gpus, not " +
                      std::to_string(ranks)};
  if (has_root(file.kind) && collective.root != root_of(file))
    return Impossible{"the root of the file is gpu " + std::to_string(root_of(file)) + ", not " +
                      std::to_string(collective.root)};
  if (collective.elements() % file.chunks != 0)
    return Impossible{std::to_string(collective.elements()) + " elements are no equal parts for " +
                      std::to_string(file.chunks) +
                      " chunks (nchunksperloop); NCCL does not take the file then"};
  const std::int64_t cells = (file.chunks + scratch_of(file)) * file.ranks;
  if (cells > MscclLimits::cells)
    return Impossible{"the chunks of all gpus, with scratch and what rrs needs, are " +
                      std::to_string(cells) + "; at most " + std::to_string(MscclLimits::cells) +
                      " can be followed"};
  if (moves_of(file) > MscclLimits::moves)
    return Impossible{"the steps move " + std::to_string(moves_of(file)) + " chunks; at most " +
                      std::to_string(MscclLimits::moves) + " can be followed"};
  if (longest_searches(file) > MscclLimits::searches)
    return Impossible{"the gpus have too many steps to follow what each of them waits for"};
  return std::nullopt;
}

// The schedule has receives and sends of their own where the file has one step that needs a message and a
// free slot at once. It may end with fewer slots than the file, so the file is asked.
std::optional<Impossible> deadlock(const MscclIndex& index, std::int32_t slots) {
  if (run_msccl(index, slots).ended) return std::nullopt;
  const std::optional<std::int64_t> enough = smallest_slots(index);
  if (!enough) return Impossible{"the file deadlocks with any number of slots"};
  return Impossible{"with " + std::to_string(slots) + (slots == 1 ? " slot" : " slots") +
                    " the file deadlocks; " + std::to_string(*enough) + " are enough"};
}

std::optional<Impossible> first_error(const MscclFile& file, const MscclPlaces& places, std::int32_t slots) {
  const MscclIndex index(file);
  MscclFindings findings;
  check_steps(index, places, findings);
  check_links(index, findings);
  check_dependencies(index, findings);
  for (const MscclFinding& finding : findings.items())
    if (finding.severity == MscclFinding::Severity::error)
      return Impossible{text_with_line(finding.place) + ": " + finding.text};
  return deadlock(index, slots);
}

}  // namespace

Rank root_of(const MscclFile& file) {
  if (file.root) return *file.root;
  const bool collects = file.kind == CollectiveKind::reduce || file.kind == CollectiveKind::gather;
  std::vector<Rank> candidates;
  for (std::size_t gpu = 0; gpu < file.gpus.size(); ++gpu) {
    bool sending = false;
    bool receiving = false;
    for (const MscclThreadBlock& tb : file.gpus[gpu].tbs)
      for (const MscclStep& step : tb.steps) {
        sending = sending || sends(step.type);
        receiving = receiving || receives(step.type);
      }
    if (collects ? receiving && !sending : sending && !receiving)
      candidates.push_back(static_cast<Rank>(gpu));
  }
  return candidates.size() == 1 ? candidates.front() : 0;
}

MscclStepOfOperation steps_of_operations(const MscclFile& file) {
  MscclStepOfOperation result;
  for (const MscclGpu& gpu : file.gpus) {
    std::vector<std::vector<std::int32_t>>& of_gpu = result.emplace_back();
    for (const MscclThreadBlock& tb : gpu.tbs) {
      std::vector<std::int32_t>& of_tb = of_gpu.emplace_back();
      for (std::size_t i = 0; i < tb.steps.size(); ++i)
        of_tb.insert(of_tb.end(), static_cast<std::size_t>(operations_of(tb.steps[i].type)),
                     static_cast<std::int32_t>(i));
      if (!tb.steps.empty() && tb.steps.back().type == MscclStepType::nop)
        of_tb.push_back(static_cast<std::int32_t>(tb.steps.size()) - 1);
    }
  }
  return result;
}

ScheduleOrReason schedule_from(const MscclFile& file, const Collective& collective, std::int32_t ranks,
                               const MscclReading& reading) {
  if (auto wrong = mismatch(file, collective, ranks)) return *std::move(wrong);
  const bool in_place = reading.in_place.value_or(file.in_place);
  if (auto wrong = first_error(file, MscclPlaces(file, in_place), reading.slots)) return *std::move(wrong);
  Schedule schedule = empty_schedule(file.name.empty() ? "msccl" : file.name, collective, ranks);
  auto bindings = std::make_shared<std::vector<std::vector<Binding>>>();
  const std::int32_t scratch = Builder(file, reading, in_place).build(schedule.programs, *bindings);
  schedule.layout = Layout(collective.elements(), element_bytes(collective.datatype), {}, file.chunks);
  schedule.layout.set_scratch_blocks(scratch);
  schedule.in_place = in_place;
  schedule.channels = file.channels;
  schedule.slots = reading.slots;
  schedule.channel_bandwidth = reading.channel_bandwidth;
  schedule.stream_count = [bindings](Rank rank) {
    return static_cast<std::int32_t>((*bindings)[static_cast<std::size_t>(rank)].size());
  };
  schedule.bind = [bindings](Rank rank, std::int32_t stream, Binding& binding) {
    binding = (*bindings)[static_cast<std::size_t>(rank)][static_cast<std::size_t>(stream)];
  };
  return schedule;
}

}  // namespace collsim::algorithms
