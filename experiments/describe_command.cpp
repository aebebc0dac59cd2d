#include "experiments/commands.hpp"
#include "experiments/files.hpp"
#include "experiments/inputs.hpp"
#include "sim/report/description.hpp"
#include "topologies/flow_bounds.hpp"
#include "topologies/measures.hpp"

namespace collsim::program {

namespace {

constexpr std::int32_t measured_ranks_max =
    4096;  // above, searching the graph from every rank takes too long

}  // namespace

ExitCode describe(const DescribeCommand& command, const Options& options) {
  OutputFile json(options.json);
  OutputFile dot(command.dot);
  if (json.is_stdout() && dot.is_stdout()) {
    throw Stop{ExitCode::usage, "collsim: --json - and --dot - both ask for standard output\n"};
  }
  const ReadResult read = read_checked(read_input(command.file), command.file, overrides_of(options),
                                       options.quiet, ReadFor::cluster);
  const Experiment& experiment = *read.experiment;
  const Topology topology = build_topology(read);
  Description description = collsim::describe(topology);
  const topologies::FlowBounds bounds(topology);
  for (const Bytes size : experiment.sizes) {
    const Collective collective = collective_of(experiment, size);
    description.bounds.push_back({collective, bounds.of(collective)});
  }
  if (topology.ranks() <= measured_ranks_max) {
    const topologies::ClusterFacts facts = topologies::measure(topology);
    description.diameter_links = facts.diameter;
    if (!description.bisection) description.bisection = facts.bisection;
  }
  if (json.wanted()) json.write(description_json(description, COLLSIM_VERSION));
  if (dot.wanted()) dot.write(dot_text(topology));
  if (!json.is_stdout() && !dot.is_stdout()) write_stdout(description_text(description));
  return ExitCode::done;
}

}  // namespace collsim::program
