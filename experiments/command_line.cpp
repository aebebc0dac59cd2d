#include "experiments/command_line.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <sstream>
#include <utility>

#include "experiments/files.hpp"

namespace collsim::program {

namespace {

constexpr const char* description =
    "collsim simulates collective operations on GPU clusters, proves what it simulates, and says what limits "
    "it; runs schedules on real buffers, checks their values and times them.\n"
    "\n"
    "  collsim predict all_reduce --cluster dgx-h100 --nodes 32\n"
    "  collsim run experiment.yaml --explain\n"
    "  collsim verify ring --ranks 1-33,64\n"
    "  collsim execute experiments/execute.yaml\n";

constexpr const char* exit_codes =
    "Exit codes: 0 done, 1 negative outcome (deadlock, failed proof, wrong values, a point that you named is "
    "impossible),\n"
    "2 usage, 65 bad input, 66 no such input, 69 no such device or it failed, 70 a bug in collsim, 75 a "
    "limit "
    "was\n"
    "reached and results are partial.";

// CLI11's own PositiveNumber says its range with 300 digits.
CLI::Validator at_least_one() {
  const auto check = [](const std::string& word) {
    const bool digits = !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
    const bool zero = word.find_first_not_of('0') == std::string::npos;
    return digits && !zero ? std::string() : "'" + word + "' is no whole number of at least 1";
  };
  return CLI::Validator([check](std::string& word) { return check(word); }, "N");
}

CLI::Validator at_least_zero() {
  const auto check = [](const std::string& word) {
    const bool digits = !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
    return digits && word.size() < 10 ? std::string() : "'" + word + "' is no whole number below 10^9";
  };
  return CLI::Validator([check](std::string& word) { return check(word); }, "N");
}

// Of a word that begins with a minus CLI11 would make a large number.
CLI::Validator whole_number() {
  const auto check = [](const std::string& word) {
    std::uint64_t number = 0;
    const char* const end = word.data() + word.size();
    const auto [last, error] = std::from_chars(word.data(), end, number);
    const bool fits = error == std::errc() && last == end;
    return fits ? std::string() : "'" + word + "' is no whole number from 0 to 2^64 - 1";
  };
  return CLI::Validator([check](std::string& word) { return check(word); }, "N");
}

CLI::Option* add_set_option(CLI::App& app, Options& options) {
  return app.add_option("--set", options.settings, "Override a key of the experiment, e.g. cluster.nodes=8")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

void add_input_options(CLI::App& app, Options& options) {
  add_set_option(app, options);
  app.add_option("--seed", options.seed, "Seed of all random choices: hashed routes, jitter, random inputs")
      ->check(whole_number());
  app.add_flag("--quiet", options.quiet, "No progress and no warnings");
}

void add_json_option(CLI::App& app, Options& options) {
  app.add_option("--json", options.json, "Write JSON to a file, or - for standard output")->type_name("FILE");
}

void add_point_options(CLI::App& app, Options& options) {
  add_json_option(app, options);
  app.add_option("--csv", options.csv, "Write CSV to a file, or - for standard output")->type_name("FILE");
  add_input_options(app, options);
  app.add_flag("--explain", options.explain, "Say for each point where its time goes and what limits it");
  app.add_flag("--links", options.links, "Show the use of the links");
  app.add_flag("--timing", options.timing, "Wall time, messages and events per second, on standard error");
  app.add_flag(
      "--plain", options.plain,
      "Simulate every message as an event of its own: no classes, no sweeps; the results are the same");
  app.add_flag("--allow-long", options.allow_long, "Also run points that would take more than an hour");
  app.add_option("--threads", options.threads, "Points at a time (default: as many as there are cores)")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  app.add_option("--events-max", options.events_max, "Give up on a point after so many events")
      ->check(at_least_one());
}

void add_run(CLI::App& app, CommandLine& line, RunCommand& command) {
  CLI::App* run = app.add_subcommand("run", "Simulate experiments");
  run->add_option("FILE", command.files, "Experiment files")->required();
  add_point_options(*run, line.options);
  run->callback([&] { line.command = command; });
}

void add_predict(CLI::App& app, CommandLine& line, PredictCommand& command) {
  CLI::App* predict =
      app.add_subcommand("predict", "Simulate a collective on known hardware, without a file");
  predict->add_option("COLLECTIVE", command.words.collective, "For instance all_reduce")->required();
  predict->add_option("--cluster", command.words.cluster, "A preset (collsim list hardware) or a file")
      ->type_name("PRESET")
      ->required();
  predict->add_option("--nodes", command.words.nodes, "Number of nodes")->check(at_least_one());
  predict
      ->add_option("--size", command.words.sizes,
                   "8MiB,1GiB or from:to or from:to:factor (default 1KiB:4GiB, factor 2)")
      ->type_name("SIZES");
  predict->add_option("--algorithms", command.words.algorithms, "all, or names with commas between")
      ->type_name("NAMES");
  add_point_options(*predict, line.options);
  predict->callback([&] { line.command = command; });
}

void add_describe(CLI::App& app, CommandLine& line, DescribeCommand& command) {
  CLI::App* describe = app.add_subcommand("describe", "Show what the cluster of an experiment is made of");
  describe->add_option("FILE", command.file, "Experiment file")->required();
  describe->add_option("--dot", command.dot, "Write a Graphviz graph to a file, or - for standard output")
      ->type_name("FILE");
  add_json_option(*describe, line.options);
  add_input_options(*describe, line.options);
  describe->callback([&] { line.command = command; });
}

void add_verify(CLI::App& app, CommandLine& line, VerifyCommand& command) {
  CLI::App* verify = app.add_subcommand("verify", "Prove that an algorithm computes its collective");
  verify
      ->add_option("ALGORITHM", command.algorithm,
                   "A name of collsim list algorithms, or an MSCCL file (.xml)")
      ->required();
  CLI::Option* ranks =
      verify->add_option("--ranks", command.ranks, "8 or 1-33,64 or 2:16: on an ideal cluster");
  ranks->type_name("RANKS");
  CLI::Option* cluster = verify->add_option("--cluster", command.words.cluster, "On a preset or a file");
  cluster->type_name("FILE")->excludes(ranks);
  verify->add_option("--nodes", command.words.nodes, "Number of nodes")
      ->check(at_least_one())
      ->needs(cluster);
  verify->add_option("--collective", command.words.collective,
                     "For instance all_reduce (default: its first)");
  verify->add_option("--size", command.words.sizes, "Size of the vector (default 1MiB)")->type_name("SIZE");
  add_json_option(*verify, line.options);
  add_set_option(*verify, line.options);
  verify->add_flag("--quiet", line.options.quiet, "No warnings");
  verify->callback([&, ranks, cluster] {
    const bool file = command.algorithm.ends_with(".xml");
    if (!file && ranks->count() + cluster->count() == 0) throw CLI::RequiredError("--ranks or --cluster");
    line.command = command;
  });
}

void add_export(CLI::App& app, CommandLine& line, ExportCommand& command) {
  CLI::App* out = app.add_subcommand("export", "Write a schedule or a choice as a file of another tool");
  out->add_option("KIND", command.kind, "msccl: a schedule as XML; nccl-tuner: choices by size as CSV")
      ->required()
      ->check(CLI::IsMember(export_kinds()));
  out->add_option("IN", command.input,
                  "An experiment file; or the name of an algorithm, with --cluster or --ranks")
      ->required();
  out->add_option("OUT,-o,--output", command.output, "Path, or - for standard output (default)");
  CLI::Option* ranks = out->add_option("--ranks", command.ranks, "On an ideal cluster of so many ranks");
  ranks->type_name("N");
  CLI::Option* cluster = out->add_option("--cluster", command.words.cluster, "On a preset or a file");
  cluster->type_name("FILE")->excludes(ranks);
  out->add_option("--nodes", command.words.nodes, "Number of nodes")->check(at_least_one())->needs(cluster);
  out->add_option("--collective", command.words.collective, "For instance all_reduce");
  out->add_option("--size", command.words.sizes, "Size, or sizes as of predict")->type_name("SIZES");
  add_input_options(*out, line.options);
  out->callback([&] {
    if (command.output.empty()) command.output = "-";
    line.command = command;
  });
}

// --device and --workers, of which the second belongs to the CPU.
void add_device_options(CLI::App& app, std::string& device, int& workers) {
  device = "cpu";
  app.add_option("--device", device, "cpu (default): threads of this machine; cuda: its GPUs")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  app.add_option("--workers", workers, "Threads of the CPU (default: as many as this process may use)")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
}

void check_workers(const std::string& device, int workers) {
  if (device == "cuda" && workers > 0)
    throw CLI::ValidationError("--workers", "only --device cpu has workers");
}

void add_execute(CLI::App& app, CommandLine& line, ExecuteCommand& command) {
  CLI::App* execute = app.add_subcommand(
      "execute", "Run the schedules of an experiment on real buffers, check all values, and time them");
  execute->add_option("FILE", command.file, "Experiment file")->required();
  add_device_options(*execute, command.device, command.workers);
  command.inputs = "both";
  execute
      ->add_option("--inputs", command.inputs,
                   "exact: sums that no rounding changes; random: within the bound of the schedule's order "
                   "of additions; both (default)")
      ->check(CLI::IsMember({"exact", "random", "both"}));
  execute->add_option("--runs", command.runs, "Timed runs of each point (default 20; 0: values only)")
      ->check(at_least_zero());
  execute
      ->add_option("--warmup", command.warmup,
                   "Runs before them (default 5; each buffer at least once, and 50 ms unless it is 0)")
      ->check(at_least_zero());
  execute->add_flag("--fused", command.fused, "Receive, reduce, copy and send in one pass where possible");
  execute->add_flag("--compare", command.compare,
                    "Simulate the same on the cluster of the file, which should describe this machine (see "
                    "calibrate)");
  execute->add_flag("--allow-long", line.options.allow_long,
                    "Also simulate what would take more than an hour (with --compare)");
  add_json_option(*execute, line.options);
  execute->add_option("--csv", line.options.csv, "Write CSV to a file, or - for standard output")
      ->type_name("FILE");
  add_input_options(*execute, line.options);
  execute->callback([&] {
    check_workers(command.device, command.workers);
    line.command = command;
  });
}

void add_calibrate(CLI::App& app, CommandLine& line, CalibrateCommand& command) {
  CLI::App* calibrate = app.add_subcommand(
      "calibrate", "Measure this machine and write it as a cluster, for predict and execute --compare");
  add_device_options(*calibrate, command.device, command.workers);
  calibrate->add_option("--ranks", command.ranks, "Default: 2; with several GPUs one on each")
      ->check(at_least_one());
  calibrate->add_option("-o,--output", command.output, "Path, or - for standard output (default)");
  add_json_option(*calibrate, line.options);
  calibrate->add_flag("--quiet", line.options.quiet, "No progress and no warnings");
  calibrate->callback([&] {
    check_workers(command.device, command.workers);
    if (command.output.empty()) command.output = "-";
    line.command = command;
  });
}

void add_list(CLI::App& app, CommandLine& line, ListCommand& command) {
  CLI::App* list =
      app.add_subcommand("list", "Show names, one a line; schema: the JSON Schema of experiments");
  list->add_option("KIND", command.kind, "What to list")->required()->check(CLI::IsMember(list_kinds()));
  list->add_option("NAME", command.name, "Of an algorithm: show it in full");
  list->callback([&] { line.command = command; });
}

// What CLI11 wants to say, on the stream that it belongs to, with an exit code of ours.
[[noreturn]] void stop_at(const CLI::App& app, const CLI::ParseError& error) {
  std::ostringstream out;
  std::ostringstream err;
  const int code = app.exit(error, out, err);
  if (code == 0) {
    write_stdout(out.str());
    throw Stop{ExitCode::done, ""};
  }
  throw Stop{ExitCode::usage, "collsim: " + err.str()};
}

}  // namespace

std::vector<std::string> export_kinds() { return {"msccl", "nccl-tuner"}; }

CommandLine parse_command_line(int argc, const char* const* argv) {
  CommandLine line;
  RunCommand run;
  PredictCommand predict;
  DescribeCommand describe;
  VerifyCommand verify;
  ExportCommand out;
  ExecuteCommand execute;
  CalibrateCommand calibrate;
  ListCommand list;

  CLI::App app(description, "collsim");
  app.set_version_flag("--version", std::string("collsim ") + COLLSIM_VERSION);
  app.require_subcommand(1);
  app.footer(exit_codes);
  add_run(app, line, run);
  add_predict(app, line, predict);
  add_describe(app, line, describe);
  add_verify(app, line, verify);
  add_export(app, line, out);
  add_execute(app, line, execute);
  add_calibrate(app, line, calibrate);
  add_list(app, line, list);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    stop_at(app, error);
  }
  return line;
}

}  // namespace collsim::program
