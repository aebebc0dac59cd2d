#include "experiments/jobs.hpp"

#include <new>
#include <string>
#include <utility>
#include <variant>

namespace collsim::program {

namespace {

Choice choice_of(const JobSpec& spec) {
  Choice choice;
  choice.request = spec.algorithm;
  choice.collective = spec.collective;
  return choice;
}

ChoiceOrReason chosen_for(Shared& shared, const JobSpec& spec, const Seats& seats) {
  if (!is_selection(spec.algorithm.name)) return choice_of(spec);
  Selector selector(shared.experiment.cluster, *shared.topology,
                    selection_options(run_options(shared.experiment, shared.options)), {}, seats);
  return selector.choose(spec.algorithm, spec.collective);
}

// False: it cannot run, and its point says why.
bool ask(Shared& shared, const Scene& scene, const JobSpec& spec, const ChoiceOrReason& chosen,
         Asked& asked) {
  asked.point = question(shared, scene, spec.algorithm, spec.collective, asked.seats);
  asked.point.job = JobFacts{spec.name, {}, {}, {}};
  if (const auto* impossible = std::get_if<Impossible>(&chosen)) {
    asked.point = failed(std::move(asked.point), PointStatus::impossible, impossible->reason);
    return false;
  }
  const auto& choice = std::get<Choice>(chosen);
  if (is_selection(spec.algorithm.name)) asked.point.chosen = choice.text();
  asked.point.predicted = choice.predicted;
  asked.request = choice.request;
  asked.collective = choice.collective;
  asked.start = spec.start;
  asked.after = spec.after;
  return prepare(shared, scene, asked);
}

std::vector<Point> points_of(std::vector<Asked> jobs) {
  std::vector<Point> points;
  for (Asked& asked : jobs) points.push_back(std::move(asked.point));
  return points;
}

// The others of a run that one job keeps from beginning.
void stop_others(std::vector<Asked>& jobs, const std::string& culprit, PointStatus status) {
  for (Asked& asked : jobs)
    if (asked.point.status == PointStatus::ok)
      asked.point = failed(std::move(asked.point), status, "not run, because " + culprit + " cannot");
}

}  // namespace

std::vector<Point> simulate_jobs(Shared& shared, const Scene& scene, const Seats& seats,
                                 JobChoices& choices) {
  const std::vector<JobSpec>& specs = shared.experiment.jobs;
  std::vector<Asked> jobs(specs.size());
  std::string culprit;
  PointStatus status = PointStatus::ok;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    jobs[i].seats = seats_of_group(seats, specs[i].ranks, *scene.topology);
    const ChoiceOrReason chosen = choices.of(i, [&] { return chosen_for(shared, specs[i], jobs[i].seats); });
    if (ask(shared, scene, specs[i], chosen, jobs[i]) || !culprit.empty()) continue;
    culprit = specs[i].name;
    status = jobs[i].point.status;
  }
  if (!culprit.empty()) {
    stop_others(jobs, culprit, status);
    return points_of(std::move(jobs));
  }
  try {
    Simulator simulator(*scene.topology);
    answer(shared, scene, simulator, jobs);
  } catch (const std::bad_alloc&) {
    for (Asked& asked : jobs) {
      asked.point.time.reset();
      asked.point = failed(std::move(asked.point), PointStatus::limit, "out of memory");
    }
  }
  return points_of(std::move(jobs));
}

}  // namespace collsim::program
