#include "experiments/answers.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "experiments/circumstances.hpp"
#include "experiments/forecast.hpp"
#include "experiments/outcome.hpp"
#include "experiments/packet_estimate.hpp"
#include "sim/core/check.hpp"

namespace collsim::program {

namespace {

std::string unproven_reason(const Point& point, const Proof& proof) {
  COLLSIM_CHECK(!proof.failures.empty());
  if (is_undecided(proof)) return "there is no proof: " + proof.failures.front().text;
  const std::string reason = "the schedule does not compute its collective";
  if (!is_algorithm_file(point.algorithm)) return reason;
  return reason + "; collsim verify " + point.algorithm + " names the steps";
}

// Why the runs are not even tried, or nothing. Long ones are announced.
std::optional<std::string> too_long(const PipelineOptions& options, const Point& point, Estimate estimate,
                                    std::int64_t runs) {
  estimate.seconds *= runs;
  if (estimate.seconds > options.refused_seconds && !options.allow_long)
    return "it would take " + forecast_text(estimate, runs) + "; --allow-long runs it";
  if (estimate.seconds > options.announced_seconds && options.announce) {
    const std::string name = point.job ? point.job->name + ", " + point.algorithm : point.algorithm;
    options.announce(notice_text(name, point.collective.bytes, estimate, runs));
  }
  return std::nullopt;
}

// A link that is better than drawn may beat a bound of the cluster as drawn.
bool is_better_somewhere(const Conditions& conditions, const Topology& topology) {
  return std::any_of(conditions.link_changes.begin(), conditions.link_changes.end(),
                     [&](const LinkChange& change) {
                       const Link& link = topology.link(change.link);
                       return (change.bandwidth && *change.bandwidth > link.bandwidth) ||
                              (change.latency && *change.latency < link.latency);
                     });
}

// The fallback of a job, proven.
SeatedOrReason fallback_of(Shared& shared, const Scene& scene, const Asked& asked, const std::string& name) {
  const Topology& topology = *scene.topology;
  SeatedOrReason made =
      seated_schedule_of({name, {}}, asked.collective, topology, asked.seats, shared.schedules);
  const auto* seated = std::get_if<SeatedSchedule>(&made);
  if (seated == nullptr) return made;
  if (auto reason = impossible_reason(topology, seated->schedule, seated->rank_map))
    return Impossible{*std::move(reason)};
  const Proof proof = shared.proofs.of(seated->schedule);
  if (!proof.proven) return Impossible{"there is no proof of it"};
  return made;
}

std::vector<Runnable> runnables_of(Shared& shared, const Scene& scene, const std::vector<Asked>& jobs) {
  std::vector<Runnable> runnables;
  for (const Asked& asked : jobs) {
    Runnable runnable{&*asked.seated, asked.start, asked.after, {}};
    for (const Circumstances& each : scene.each) {
      if (!each.aggregation || each.aggregation->fallback.empty()) continue;
      const std::string& name = each.aggregation->fallback;
      if (aggregates(asked.seated->schedule) && runnable.fallbacks.count(name) == 0)
        runnable.fallbacks.emplace(name, fallback_of(shared, scene, asked, name));
    }
    runnables.push_back(std::move(runnable));
  }
  return runnables;
}

// When the job could begin: its start, or the end of the one before it.
Instant begin_of(const std::vector<Asked>& jobs, std::size_t job, const RunResult& result) {
  const Asked& asked = jobs[job];
  if (asked.after < 0) return asked.start;
  return std::max(asked.start, result.job_finish[static_cast<std::size_t>(asked.after)]);
}

// Also where the run as a whole got stuck: some jobs may have come to their end before.
bool has_ended(const RunResult& run, std::size_t job) {
  if (run.status == RunStatus::ok) return true;
  const bool stuck = run.status == RunStatus::failed || run.status == RunStatus::deadlock;
  return stuck && job < run.job_finish.size() && run.job_finish[job] > Instant();
}

// What a run of several says of one of them; `own`: what it does by itself, for its bytes and messages.
RunResult part_of_run(const std::vector<Asked>& jobs, std::size_t job, const RunResult& run,
                      const RunResult* own) {
  RunResult part = run;
  if (has_ended(run, job)) part.status = RunStatus::ok;
  if (part.status == RunStatus::ok) part.time = run.job_finish[job] - begin_of(jobs, job, run);
  if (part.time != run.time || run.job_finish[job] - Instant() != run.time) part.critical_path.reset();
  if (own != nullptr) {
    part.link_bytes = own->link_bytes;
    part.messages = own->messages;
  }
  std::erase_if(part.blocked,
                [&](const BlockedStream& each) { return each.job != static_cast<std::int32_t>(job); });
  return part;
}

FaultCost cost_of(const std::string& what, const std::vector<Asked>& jobs, std::size_t job,
                  const RunResult& run, const Topology& topology) {
  Point point;
  take_result(point, topology, part_of_run(jobs, job, run, nullptr), false);
  return {what, point.status, point.reason, point.time};
}

void take_packets(Point& point, const RunResult& run, const Topology& topology) {
  point.packets = run.packets;
  if (run.packets && run.packets->queue_max > 0)
    point.packet_queue_link = topology.link_name(run.packets->queue_link);
}

// The runs that the points of some jobs need, one after the other.
class Runs {
 public:
  Runs(Shared& shared, const Scene& scene, Simulator& simulator, std::vector<Asked>& jobs)
      : shared_(shared),
        scene_(scene),
        simulator_(simulator),
        jobs_(jobs),
        options_(run_options(shared.experiment, shared.options)),
        runnables_(runnables_of(shared, scene, jobs)) {
    options_.seed = scene.seed;
  }

  // With those by itself and each alone.
  std::int64_t count() const {
    const auto conditions = static_cast<std::int64_t>(scene_.each.size());
    const std::int64_t compared = conditions > 1 ? conditions + 1 : conditions;
    const std::int64_t alone = is_of_several() ? static_cast<std::int64_t>(jobs_.size()) : 0;
    return 1 + compared + alone;
  }
  Estimate estimate() {
    const std::vector<Job> jobs = jobs_of(runnables_);
    Estimate estimate = simulator_.estimate(jobs, options_, scene_.all.conditions);
    if (options_.network.kind != NetworkKind::packet) return estimate;
    constexpr std::int64_t most = packet_hops_a_second * 100'000'000;
    estimate.seconds =
        packet_hops(topology(), jobs, options_.network.packet.mtu, most) / packet_hops_a_second;
    return estimate;
  }

  void together() {
    std::vector<std::string> notes;
    const RunResult run = run_under(scene_.all, runnables_, topology(), simulator_, options_, &notes);
    options_.explain = false;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      COLLSIM_CHECK_MSG(!(jobs_[i].gets_stuck && run.status == RunStatus::ok),
                        "a schedule that is proven to get stuck has run to its end");
      take(i, run, notes);
    }
  }

  void compare() {
    if (scene_.is_healthy()) return;
    const RunResult healthy =
        run_under(scene_.healthy(), runnables_, topology(), simulator_, options_, nullptr);
    for (std::size_t i = 0; i < jobs_.size(); ++i)
      jobs_[i].point.healthy_time = cost_of("", jobs_, i, healthy, topology()).time;
    for (const Circumstances& each : scene_.each) {
      if (scene_.each.size() == 1) return only_one(each);
      const RunResult run = run_under(each, runnables_, topology(), simulator_, options_, nullptr);
      for (std::size_t i = 0; i < jobs_.size(); ++i)
        jobs_[i].point.fault_costs.push_back(cost_of(each.what, jobs_, i, run, topology()));
    }
  }

 private:
  bool is_of_several() const { return jobs_.front().point.job.has_value(); }
  const Topology& topology() const { return *scene_.topology; }

  void take(std::size_t job, const RunResult& run, const std::vector<std::string>& notes) {
    Point& point = jobs_[job].point;
    std::optional<RunResult> alone;
    if (is_of_several()) {
      const SeatedSchedule& seated = *runnables_[job].seated;
      alone = simulator_.run({Job{&seated.schedule, seated.rank_map, {}, -1}}, options_);
    }
    take_result(point, topology(), part_of_run(jobs_, job, run, alone ? &*alone : nullptr),
                shared_.options.links, scene_.all.conditions);
    take_packets(point, run, topology());
    if (!scene_.all.conditions.jitter.is_zero() && aggregates(runnables_[job].seated->schedule))
      point.warnings.push_back(point.algorithm + ": jitter does not reach what switches reduce or multicast");
    if (aggregates(runnables_[job].seated->schedule))
      for (const std::string& note : notes) point.warnings.push_back(point.algorithm + ": " + note);
    if (!alone) return;
    if (alone->status == RunStatus::ok) point.job->alone = alone->time;
    if (!has_ended(run, job)) return;
    point.job->start = begin_of(jobs_, job, run);
    point.job->finish = run.job_finish[job];
  }

  void only_one(const Circumstances& each) {
    for (Asked& asked : jobs_)
      asked.point.fault_costs.push_back(
          {each.what, asked.point.status, asked.point.reason, asked.point.time});
  }

  Shared& shared_;
  const Scene& scene_;
  Simulator& simulator_;
  std::vector<Asked>& jobs_;
  RunOptions options_;
  std::vector<Runnable> runnables_;
};

}  // namespace

RunOptions run_options(const Experiment& experiment, const PipelineOptions& pipeline) {
  RunOptions options;
  options.launch_overhead = experiment.launch_overhead;
  options.credit_latency = experiment.credit_latency;
  options.credit_by_route = experiment.credit_by_route;
  options.network = experiment.network;
  options.seed = experiment.seed;
  options.explain = pipeline.explain;
  options.shortcuts = pipeline.shortcuts;
  options.alike_runs = std::max<std::int64_t>(1, static_cast<std::int64_t>(experiment.sizes.size()));
  options.events_max = pipeline.events_max;
  return options;
}

Point question(const Shared& shared, const Scene& scene, const AlgorithmRequest& request,
               const Collective& collective, const Seats& seats) {
  const Experiment& experiment = shared.experiment;
  Point point;
  point.cluster = scene.topology->name();
  point.collective = collective;
  point.algorithm = full_name_of(request.name);
  point.options = options_text(request.options);
  point.ranks = seats.ranks(*scene.topology);
  point.nodes = nodes_of(seats, scene.topology->placement());
  point.network = name_of(experiment.network.kind);
  const RoutingSpec& routing = experiment.cluster.routing;
  if (routing.kind != RoutingKind::minimal) point.routing = name_of(routing.kind);
  if (routing.polarised) point.routing += ", polarised";
  if (routing.rail_local) point.routing += point.routing.empty() ? "rail-local" : ", rail-local";
  if (experiment.placement.kind != PlacementKind::packed)
    point.placement = experiment.placement.kind == PlacementKind::list ? "list" : "round_robin";
  point.seed = experiment.seed;
  if (!is_better_somewhere(scene.all.conditions, *scene.topology))
    point.bound = bound_of(collective, *shared.topology, seats, shared.bounds);
  return point;
}

Point failed(Point point, PointStatus status, std::string reason) {
  point.status = status;
  point.reason = std::move(reason);
  return point;
}

bool prepare(Shared& shared, const Scene& scene, Asked& asked) {
  Point& point = asked.point;
  const auto fail = [&point](PointStatus status, std::string reason) {
    point = failed(std::move(point), status, std::move(reason));
    return false;
  };
  SeatedOrReason made =
      seated_schedule_of(asked.request, asked.collective, *scene.topology, asked.seats, shared.schedules);
  if (auto* impossible = std::get_if<Impossible>(&made))
    return fail(PointStatus::impossible, std::move(impossible->reason));
  asked.seated = std::get<SeatedSchedule>(std::move(made));
  const Schedule& schedule = asked.seated->schedule;
  point.channels = schedule.channels;
  point.slices = schedule.slices;
  for (const std::string& option : schedule.unused_options)
    point.warnings.push_back(point.algorithm + ": " + option + " has no effect on this cluster");
  if (auto reason = impossible_reason(*scene.topology, schedule, asked.seated->rank_map))
    return fail(PointStatus::impossible, *std::move(reason));
  const Proof proof = shared.proofs.of(schedule);
  point.proven = proof.proven;
  if (proof.proven) point.numerics = proof.numerics;
  asked.gets_stuck = proof.deadlock;
  if (proof.proven || proof.deadlock) return true;
  point.proof_failures = proof.failures;
  return fail(PointStatus::unproven, unproven_reason(point, proof));
}

void answer(Shared& shared, const Scene& scene, Simulator& simulator, std::vector<Asked>& jobs) {
  Runs runs(shared, scene, simulator, jobs);
  if (auto reason = too_long(shared.options, jobs.front().point, runs.estimate(), runs.count())) {
    for (Asked& asked : jobs) asked.point = failed(std::move(asked.point), PointStatus::limit, *reason);
    return;
  }
  runs.together();
  runs.compare();
  for (const Asked& asked : jobs) check_bound(asked.point, shared.experiment.launch_overhead);
}

}  // namespace collsim::program
