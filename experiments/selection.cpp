#include "experiments/selection.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <utility>

#include "algorithms/nccl_model.hpp"
#include "experiments/schedules.hpp"
#include "sim/core/check.hpp"
#include "sim/execution/translated.hpp"

namespace collsim::program {
namespace {

using algorithms::AlgorithmInfo;

// Above so many ranks the routes and classes of all candidates are too much to keep from size to size.
constexpr std::int32_t kept_ranks_max = 256;
// Above so many ranks packing a forest may take seconds.
constexpr std::int32_t synthesized_ranks_max = 16;

// What a candidate takes, by rough rates of one core. Those of messages are as in Simulator::estimate(),
// whose whole seconds are too coarse to be added up. In whole numbers, so that what is left out depends on
// the question alone.
constexpr std::int64_t connections_a_millisecond = 300;
constexpr std::int64_t swept_a_millisecond = 400'000;
constexpr std::int64_t by_events_a_millisecond = 1'500;

bool has(const AlgorithmInfo& info, CollectiveKind kind) {
  return std::find(info.collectives.begin(), info.collectives.end(), kind) != info.collectives.end();
}
bool takes(const AlgorithmInfo& info, std::string_view option) {
  return std::find(info.options.begin(), info.options.end(), option) != info.options.end();
}

std::vector<AlgorithmInfo> infos() {
  AlgorithmInfo automatic;
  automatic.name = "auto";
  automatic.summary = "the fastest by simulation, size by size; synthesized up to 16 ranks";
  automatic.source = "the simulation itself";
  automatic.collectives = collective_kinds();
  AlgorithmInfo nccl;
  nccl.name = "nccl";
  nccl.summary = "what NCCL's own cost model takes, and the time that it predicts";
  nccl.source = "NCCL 2.30 src/graph/tuning.cc and search.cc";
  nccl.collectives = {CollectiveKind::all_reduce, CollectiveKind::reduce_scatter, CollectiveKind::all_gather,
                      CollectiveKind::broadcast, CollectiveKind::reduce};
  nccl.options = {"channels", "form"};
  nccl.forms = {"preset", "volta", "ampere", "hopper", "blackwell"};
  return {automatic, nccl};
}

// Every algorithm of the registry that does the collective, in each of its forms; the default form first.
std::vector<AlgorithmRequest> candidates_for(CollectiveKind kind, std::int32_t ranks) {
  std::vector<AlgorithmRequest> requests;
  for (const AlgorithmInfo& info : algorithms::all()) {
    if (!has(info, kind)) continue;
    requests.push_back({std::string(info.name), {}});
    for (std::size_t form = 1; form < info.forms.size(); ++form) {
      requests.push_back({std::string(info.name), {}});
      requests.back().options.form = info.forms[form];
    }
  }
  const AlgorithmInfo* synthesized = find_algorithm("synthesized");
  if (ranks <= synthesized_ranks_max && synthesized != nullptr && has(*synthesized, kind))
    requests.push_back({std::string(synthesized->name), {}});
  return requests;
}

// How many connections are built; counting ends soon after `most`.
std::int64_t connections_of(const SeatedSchedule& seated, const Topology& topology, Shortcuts shortcuts,
                            std::int64_t most) {
  const Schedule& schedule = seated.schedule;
  const bool may_fold = shortcuts == Shortcuts::automatic || shortcuts == Shortcuts::fold;
  const bool only_rank_0 =
      may_fold && translated_instance(topology, {Job{&schedule, seated.rank_map, {}, -1}}, {}).has_value();
  std::int64_t connections = 0;
  Binding binding;
  for (Rank rank = 0; rank < (only_rank_0 ? 1 : schedule.ranks) && connections <= most; ++rank) {
    for (std::int32_t stream = 0; stream < schedule.stream_count(rank); ++stream) {
      binding.clear();
      schedule.bind(rank, stream, binding);
      connections += static_cast<std::int64_t>(binding.peers.size());
    }
  }
  return connections;
}

std::int64_t milliseconds_of(const Estimate& estimate) {
  return estimate.simulated / (estimate.method.sweeps ? swept_a_millisecond : by_events_a_millisecond);
}

// Requests with the same key have schedules of the same shape.
std::string options_key(const AlgorithmRequest& request) {
  return request.name + " " + options_text(request.options);
}

// `wire` bytes as a whole number of elements and, where there are parts, of elements a part.
Bytes whole(const Collective& collective, Bytes wire, std::int32_t ranks) {
  const std::int64_t unit =
      std::int64_t{element_bytes(collective.datatype)} * (in_parts(collective.kind) ? ranks : 1);
  return Bytes((wire.count() + unit - 1) / unit * unit);
}

}  // namespace

struct Selector::State {
  struct Candidate {
    std::mutex mutex;
    std::unique_ptr<Simulator> simulator;
  };
  // Of one question.
  struct Contest {
    std::int64_t milliseconds_left = 0;
    std::optional<Choice> best;
    std::vector<std::string> left_out;
  };

  const ClusterSpec& cluster;
  const Topology& topology;
  RunOptions run_options;
  SelectionLimits limits;
  Seats seats;
  std::mutex mutex;
  std::map<std::string, Candidate> candidates;  // by options_key()
  ScheduleCache schedules;

  Candidate& candidate_of(const AlgorithmRequest& request) {
    const std::lock_guard lock(mutex);
    return candidates[options_key(request)];
  }

  // Runs a candidate that can run, or leaves it out for what it would take.
  void try_candidate(const AlgorithmRequest& request, const Collective& collective, Contest& contest) {
    const SeatedOrReason made = seated_schedule_of(request, collective, topology, seats, schedules);
    const auto* schedule = std::get_if<SeatedSchedule>(&made);
    if (schedule == nullptr || impossible_reason(topology, schedule->schedule, schedule->rank_map)) return;
    const std::int64_t connections =
        connections_of(*schedule, topology, run_options.shortcuts, limits.connections_max);
    const std::int64_t building = connections / connections_a_millisecond;
    Choice choice{request, collective, {}, 0, {}, {}, {}};
    if (connections > limits.connections_max || building > contest.milliseconds_left) {
      contest.left_out.push_back(choice.text());
      return;
    }
    contest.milliseconds_left -= building;
    Candidate& candidate = candidate_of(request);
    const std::lock_guard lock(candidate.mutex);
    try {
      choice.time = time_of(candidate, *schedule, choice, contest);
    } catch (...) {
      candidate.simulator.reset();  // it may be half prepared
      throw;
    }
    if (topology.ranks() > kept_ranks_max) candidate.simulator.reset();
    if (choice.time && (!contest.best || *choice.time < *contest.best->time)) contest.best = choice;
  }

  std::optional<Duration> time_of(Candidate& candidate, const SeatedSchedule& seated, const Choice& choice,
                                  Contest& contest) {
    if (!candidate.simulator) candidate.simulator = std::make_unique<Simulator>(topology);
    const std::vector<Job> jobs = {Job{&seated.schedule, seated.rank_map, {}, -1}};
    const std::int64_t running = milliseconds_of(candidate.simulator->estimate(jobs, run_options));
    if (running > std::min(1000 * limits.seconds_max, contest.milliseconds_left)) {
      contest.left_out.push_back(choice.text());
      return std::nullopt;
    }
    contest.milliseconds_left -= running;
    const RunResult result = candidate.simulator->run(jobs, run_options);
    return result.status == RunStatus::ok ? std::optional(result.time) : std::nullopt;
  }

  ChoiceOrReason fastest(const std::vector<AlgorithmRequest>& requests, const Collective& collective) {
    Contest contest;
    contest.milliseconds_left = 1000 * limits.seconds_all;
    for (const AlgorithmRequest& request : requests) try_candidate(request, collective, contest);
    if (contest.best) {
      contest.best->left_out = std::move(contest.left_out);
      return *std::move(contest.best);
    }
    std::string reason = "no algorithm can run " + std::string(name_of(collective.kind)) +
                         " on this cluster within the limits of a selection";
    for (std::size_t i = 0; i < contest.left_out.size(); ++i)
      reason += (i == 0 ? "; left out: " : "; ") + contest.left_out[i];
    return Impossible{std::move(reason)};
  }

  ChoiceOrReason by_nccl(const AlgorithmRequest& request, const Collective& collective) const;
};

ChoiceOrReason Selector::State::by_nccl(const AlgorithmRequest& request, const Collective& collective) const {
  const AlgorithmOptions& options = request.options;
  const bool by_preset = options.form.empty() || options.form == "preset";
  const auto generation = by_preset ? algorithms::nccl_generation_of_preset(cluster.preset)
                                    : algorithms::nccl_generation_from_name(options.form);
  if (!generation && by_preset)
    return Impossible{cluster.preset.empty()
                          ? "NCCL's model needs to know the GPUs: form: volta, ampere, hopper or blackwell"
                          : "NCCL's model does not know the GPUs of " + cluster.preset +
                                "; form: volta, ampere, hopper or blackwell takes them as such"};
  if (!generation)
    return Impossible{"form is '" + options.form + "'; nccl has preset, volta, ampere, hopper, blackwell"};
  if (options.channels && (*options.channels < 1 || *options.channels > 64))
    return Impossible{"channels is " + std::to_string(*options.channels) + "; it must be 1 to 64"};
  const std::int32_t ranks = seats.ranks(topology);
  if (ranks < 2) return Impossible{"NCCL chooses nothing for one rank"};
  const Placement placement =
      seats.is_plain() ? topology.placement() : part_of(topology.placement(), seats.gpus, false).placement;
  const algorithms::NcclSystem system = algorithms::nccl_system(
      placement, *generation, algorithms::nccl_cpu_of_preset(cluster.preset), options.channels);
  const auto best = algorithms::nccl_choice(system, collective.kind, collective.bytes);
  if (!best)
    return Impossible{system.ring.channels < 1
                          ? "NCCL's search would find no channel: the links are slower than its slowest speed"
                          : "NCCL makes " + std::string(name_of(collective.kind)) +
                                " of sends and receives and chooses no algorithm for it"};
  Choice choice;
  choice.request.name = algorithms::registry_name_of(best->algorithm, system.nodes);
  choice.protocol = name_of(best->protocol);
  choice.channels = algorithms::nccl_channels_of(system, best->algorithm);
  choice.predicted = Duration::picoseconds(static_cast<std::int64_t>(std::llround(best->time * 1e6)));
  choice.collective = collective;
  choice.collective.bytes =
      whole(collective, algorithms::nccl_wire_bytes(best->protocol, collective.bytes), ranks);
  const AlgorithmInfo* info = algorithms::find(choice.request.name);
  if (info == nullptr || !has(*info, collective.kind))
    return Impossible{"NCCL would take " + std::string(name_of(best->algorithm)) + ", which does no " +
                      std::string(name_of(collective.kind)) + " here"};
  if (options.channels && takes(*info, "channels")) choice.request.options.channels = options.channels;
  return choice;
}

std::string Choice::text() const {
  std::string text = request.name;
  if (!request.options.form.empty()) text += ", form " + request.options.form;
  if (!protocol.empty()) text += ", " + protocol;
  return text;
}

bool is_selection(std::string_view name) { return name == "auto" || name == "nccl"; }

const std::vector<AlgorithmInfo>& selection_infos() {
  static const std::vector<AlgorithmInfo> table = infos();
  return table;
}

RunOptions selection_options(RunOptions options) {
  options.network = {};
  return options;
}

Selector::Selector(const ClusterSpec& cluster, const Topology& topology, const RunOptions& run_options,
                   const SelectionLimits& limits, Seats seats)
    : state_(new State{cluster, topology, run_options, limits, std::move(seats), {}, {}, {}}) {
  state_->run_options.explain = false;
}

Selector::~Selector() = default;

ChoiceOrReason Selector::choose(const AlgorithmRequest& request, const Collective& collective) {
  COLLSIM_CHECK_MSG(is_selection(request.name), request.name);
  return request.name == "auto"
             ? state_->fastest(candidates_for(collective.kind, state_->seats.ranks(state_->topology)),
                               collective)
             : state_->by_nccl(request, collective);
}

ChoiceOrReason Selector::fastest_of(const std::vector<AlgorithmRequest>& candidates,
                                    const Collective& collective) {
  return state_->fastest(candidates, collective);
}

}  // namespace collsim::program
