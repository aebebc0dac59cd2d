#include "sim/execution/simulation.hpp"

#include <algorithm>
#include <utility>

#include "sim/core/quantity_text.hpp"
#include "sim/execution/executor.hpp"
#include "sim/execution/fold.hpp"
#include "sim/execution/packet_transport.hpp"
#include "sim/execution/sweep.hpp"
#include "sim/execution/translated.hpp"

namespace collsim {
namespace {

const ReductionSpec& reduction_of(const Topology& topology, AggregationScope scope) {
  const Placement& placement = topology.placement();
  return scope == AggregationScope::node ? placement.node_reduction : placement.fabric_reduction;
}

std::int64_t messages_of(const Instance& instance) {
  std::int64_t messages = 0;
  for (const Instance::Stream& stream : instance.streams)
    messages += instance.programs.programs[stream.program].send_count;
  return messages;
}

bool uniform(const Instance& instance) {
  return std::all_of(instance.programs.programs.begin(), instance.programs.programs.end(),
                     [](const CompiledProgram& program) { return program.uniform; });
}

// Folding costs some passes over all uses of resources; it pays where each is used for many messages.
bool worth_folding(const Instance& instance, const RunOptions& options) {
  if (options.shortcuts != Shortcuts::automatic) return options.shortcuts == Shortcuts::fold;
  constexpr std::int64_t messages_min = 20'000;
  constexpr std::int64_t messages_a_hop_min = 2;
  const std::int64_t messages = messages_of(instance) * options.alike_runs;
  return messages >= messages_min &&
         messages >= messages_a_hop_min * static_cast<std::int64_t>(instance.hops.size());
}

// More classes than this save too little.
std::size_t folding_limit(const Instance& instance, const RunOptions& options) {
  const std::size_t elements = instance.streams.size() + instance.connections.size() +
                               instance.members.size() + instance.groups.size() + instance.resources.size();
  return options.shortcuts == Shortcuts::fold ? elements : elements / 2;
}

// Every waiting rank is to be named after a deadlock, not one of each class, where that is not too costly.
constexpr std::int64_t named_streams_max = std::int64_t{1} << 24;
RunOptions plainly(RunOptions options) {
  options.shortcuts = Shortcuts::plain;
  return options;
}

// Packets know nothing of classes and constant rates.
RunOptions possible(RunOptions options) {
  if (options.network.kind == NetworkKind::packet) options.shortcuts = Shortcuts::plain;
  return options;
}

// "leaf0 -> spine1 is down since 1 ms, and what waits for it is not re-routed"
std::string failure_text(const Topology& topology, const Outcome& outcome) {
  if (outcome.status != RunStatus::failed) return outcome.standstill;
  std::string since = "from the start";
  if (outcome.down_since > Instant()) {
    since = "since " + text_from(outcome.down_since - Instant());
    if (const std::size_t zeros = since.find(".00 "); zeros != std::string::npos) since.erase(zeros, 3);
  }
  return topology.link_name(outcome.down_link) + " is down " + since +
         ", and what waits for it is not re-routed";
}

// The largest message that `rank` posts to aggregation group `group`.
Bytes largest_aggregation(const Schedule& schedule, Rank rank, std::int32_t group) {
  Bytes largest;
  Binding binding;
  for (std::int32_t stream = 0; stream < schedule.stream_count(rank); ++stream) {
    binding.clear();
    schedule.bind(rank, stream, binding);
    for (const Loop& loop : schedule.programs[static_cast<std::size_t>(binding.program)].loops)
      for (const OperationTemplate& operation : loop.body) {
        if (operation.kind != OperationKind::aggregate) continue;
        if (binding.groups[static_cast<std::size_t>(operation.peer)] != group) continue;
        for (std::int64_t trip = 0; trip < loop.trips; ++trip)
          largest = std::max(largest,
                             size_of(schedule.layout, resolve(operation.chunk, binding.bases.data(), trip)));
      }
  }
  return largest;
}

}  // namespace

struct Simulator::Prepared {
  Instance whole;
  std::optional<Folded> folded;
  std::optional<TranslatedInstance> translated;  // instead of the whole
  Shortcuts shortcuts = Shortcuts::automatic;
  bool reusable = false;  // a single job on all ranks, no capacity changes
  bool tried_to_fold = false;
  bool use_folded = false;
  const Schedule* estimated = nullptr;  // what estimate() was just asked about
  std::optional<bool> sweeps_whole;     // whether rates are constant: the same for every size
  std::optional<bool> sweeps_folded;

  const Instance& ran() const;
  std::int64_t streams() const {
    return translated ? translated->streams : static_cast<std::int64_t>(whole.streams.size());
  }
  RunResult result(const Topology& topology, const Conditions& conditions, const Outcome& outcome) const {
    if (translated) return result_of(topology, *translated, outcome);
    const Classes own;
    const bool is_folded = &ran() != &whole;
    return result_of(topology, conditions, {whole, ran(), is_folded ? folded->classes : own}, outcome);
  }
  bool sweeps_through(const RunOptions& options);
};

Simulator::Simulator(const Topology& topology) : topology_(&topology) {}
Simulator::~Simulator() = default;
Simulator::Simulator(Simulator&&) noexcept = default;

void Simulator::prepare(const std::vector<Job>& jobs, const RunOptions& options,
                        const Conditions& conditions) {
  if (prepared_) {
    const Schedule* estimated = std::exchange(prepared_->estimated, nullptr);
    const bool same =
        jobs.size() == 1 && estimated == jobs[0].schedule && prepared_->shortcuts == options.shortcuts;
    if (same && conditions.is_empty() && prepared_->reusable) return;
  }
  if (options.shortcuts == Shortcuts::automatic || options.shortcuts == Shortcuts::fold) {
    if (auto translated = translated_instance(*topology_, jobs, conditions)) {
      prepared_ = std::make_unique<Prepared>();
      prepared_->translated = std::move(translated);
      prepared_->shortcuts = options.shortcuts;
      prepared_->reusable = true;
      return;
    }
  }
  const bool reusable =
      jobs.size() == 1 && jobs[0].rank_map.empty() && jobs[0].start == Instant() && conditions.is_empty();
  const bool was_uniform = prepared_ && !prepared_->translated && uniform(prepared_->whole);
  if (prepared_ && prepared_->reusable && !prepared_->translated && reusable &&
      prepared_->shortcuts == options.shortcuts && rebind(prepared_->whole, *jobs[0].schedule)) {
    if (!was_uniform || !uniform(prepared_->whole)) {
      prepared_->folded.reset();
      prepared_->sweeps_folded.reset();
      prepared_->tried_to_fold = false;
    }
    if (prepared_->folded) rebind(*prepared_->folded, prepared_->whole);
  } else {
    prepared_ = std::make_unique<Prepared>();
    prepared_->whole = instance_of(*topology_, jobs, conditions);
    prepared_->reusable = reusable;
    prepared_->shortcuts = options.shortcuts;
  }
  prepared_->use_folded = worth_folding(prepared_->whole, options);
  if (prepared_->tried_to_fold || !prepared_->use_folded) return;
  prepared_->folded = fold(prepared_->whole, folding_limit(prepared_->whole, options));
  prepared_->tried_to_fold = true;
}

// What this point is to be run on; a folded instance left by an earlier point is used only where this one
// would have been folded by itself.
const Instance& Simulator::Prepared::ran() const {
  if (translated) return translated->instance;
  return use_folded && folded ? folded->instance : whole;
}

bool Simulator::Prepared::sweeps_through(const RunOptions& options) {
  if (options.explain || (options.shortcuts != Shortcuts::automatic && options.shortcuts != Shortcuts::sweep))
    return false;
  // Finding lanes costs some messages a stream; where a stream sends only a few, events are sooner done.
  constexpr std::int64_t messages_a_stream_min = 8;
  const auto streams = static_cast<std::int64_t>(ran().streams.size());
  if (options.shortcuts == Shortcuts::automatic && messages_of(ran()) < messages_a_stream_min * streams)
    return false;
  if (options.credit_by_route) return false;
  std::optional<bool>& known = use_folded && folded ? sweeps_folded : sweeps_whole;
  if (!known) known = collsim::sweeps(ran(), options);
  return *known;
}

Estimate Simulator::estimate(const std::vector<Job>& jobs, const RunOptions& asked,
                             const Conditions& conditions) {
  const RunOptions options = possible(asked);
  if (prepared_) prepared_->estimated = nullptr;  // nothing came of that; its schedule may be gone
  constexpr std::int64_t swept_a_second = 400'000'000;
  constexpr std::int64_t by_events_a_second = 1'500'000;
  prepare(jobs, options, conditions);
  const Instance& ran = prepared_->ran();
  Estimate estimate;
  estimate.method.sweeps = prepared_->sweeps_through(options);
  estimate.method.streams = prepared_->streams();
  estimate.method.classes = static_cast<std::int64_t>(ran.streams.size());
  if (jobs.size() == 1) prepared_->estimated = jobs[0].schedule;
  estimate.simulated = messages_of(ran);
  estimate.messages =
      prepared_->translated ? estimate.simulated * jobs[0].schedule->ranks : messages_of(prepared_->whole);
  estimate.seconds = estimate.simulated / (estimate.method.sweeps ? swept_a_second : by_events_a_second);
  return estimate;
}

RunResult Simulator::run(const std::vector<Job>& jobs, const RunOptions& asked,
                         const Conditions& conditions) {
  const RunOptions options = possible(asked);
  prepare(jobs, options, conditions);
  const Instance& ran = prepared_->ran();
  const bool shortened = &ran != &prepared_->whole;
  std::optional<Outcome> swept;
  if (options.shortcuts == Shortcuts::automatic || options.shortcuts == Shortcuts::sweep)
    swept = sweep(ran, options);
  const bool in_packets = options.network.kind == NetworkKind::packet;
  std::unique_ptr<Transport> transport =
      in_packets ? packet_transport(*topology_, ran, options, conditions) : nullptr;
  const Outcome outcome =
      swept ? std::move(*swept) : Executor(ran, options, conditions, std::move(transport)).run();
  const bool stuck = outcome.status == RunStatus::deadlock || outcome.status == RunStatus::failed;
  if (shortened && stuck && prepared_->streams() <= named_streams_max)
    return simulate(*topology_, jobs, plainly(options), conditions);
  RunResult result = prepared_->result(*topology_, conditions, outcome);
  result.failure = failure_text(*topology_, outcome);
  result.method.sweeps = swept.has_value();
  result.method.streams = prepared_->streams();
  result.method.classes = static_cast<std::int64_t>(ran.streams.size());
  if (options.explain && outcome.status == RunStatus::ok) {
    const bool nobody = outcome.last_stream == Instance::none;
    result.critical_path = outcome.chain.path(nobody ? 0 : ran.streams[outcome.last_stream].rank);
  }
  return result;
}

RunResult simulate(const Topology& topology, const std::vector<Job>& jobs, const RunOptions& options,
                   const Conditions& conditions) {
  return Simulator(topology).run(jobs, options, conditions);
}

std::optional<std::string> impossible_reason(const Topology& topology, const Schedule& schedule,
                                             const std::vector<Rank>& rank_map) {
  if (schedule.ranks > topology.ranks())
    return "the schedule has " + std::to_string(schedule.ranks) + " ranks, the cluster " +
           std::to_string(topology.ranks());
  for (std::int32_t number = 0; number < schedule.group_count; ++number) {
    const AggregationGroup group = schedule.group(number);
    AggregationGroup seated = group;
    for (Rank& member : seated.members)
      if (!rank_map.empty()) member = rank_map[static_cast<std::size_t>(member)];
    const auto path = topology.aggregation(seated);
    if (const auto* impossible = std::get_if<Impossible>(&path)) return impossible->reason;
    const ReductionSpec& reduction = reduction_of(topology, group.scope);
    if (!reduction.message_size_max) continue;
    const Bytes largest = largest_aggregation(schedule, group.members.front(), number);
    if (largest > *reduction.message_size_max)
      return "an aggregation of " + std::to_string(largest.count()) + " B exceeds the limit of " +
             std::to_string(reduction.message_size_max->count()) +
             " B (message_size); more slices make it smaller, ring and cascade need no reducing switch";
  }
  return std::nullopt;
}

}  // namespace collsim
