#include "experiments/outputs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <set>

#include "sim/core/check.hpp"
#include "sim/report/json.hpp"
#include "sim/report/table.hpp"

namespace collsim::program {

void only_one_to_each(const OutputFile& json, const OutputFile& csv) {
  if (json.is_stdout() && csv.is_stdout())
    throw Stop{ExitCode::usage, "collsim: --json - and --csv - both ask for standard output\n"};
  if (json.is_same(csv)) throw Stop{ExitCode::usage, "collsim: --json and --csv name the same file\n"};
}

Outputs::Outputs(const Options& options) : options_(options), json_(options.json), csv_(options.csv) {
  only_one_to_each(json_, csv_);
}

// Sizes of one algorithm warn alike: each warning is said once.
void Outputs::warn(const std::vector<Point>& points) const {
  std::set<std::string> said;
  for (const Point& point : points)
    for (const std::string& warning : point.warnings)
      if (!options_.quiet && said.insert(warning).second) fmt::print(stderr, "warning: {}\n", warning);
}

void Outputs::write(const std::vector<Point>& points) {
  COLLSIM_CHECK(!points.empty());
  warn(points);
  if (json_.wanted()) json_.write(json_text(points, COLLSIM_VERSION));
  if (csv_.wanted()) csv_.write(csv_text(points));
  if (json_.is_stdout() || csv_.is_stdout()) return;
  std::string text = table_text(points);
  for (const std::string& part : {costs_text(points), explanation_text(points), links_text(points)}) {
    if (!part.empty()) text += "\n" + part;
  }
  write_stdout(text);
}

Progress::Progress(std::size_t total, bool quiet)
    : total_(total),
      shown_(!quiet && ::isatty(STDERR_FILENO) == 1),
      start_(std::chrono::steady_clock::now()) {}

Progress::~Progress() {
  if (printed_) std::fputs("\r\033[K", stderr);
}

void Progress::point_done() {
  const std::size_t done = ++done_;
  if (!shown_ || std::chrono::steady_clock::now() - start_ < std::chrono::seconds(1)) return;
  printed_ = true;
  fmt::print(stderr, "\r{} of {} points", done, total_);
}

void Progress::say(const std::string& line) {
  const bool clear = printed_.exchange(false);
  std::fputs(((clear ? "\r\033[K" : "") + line).c_str(), stderr);
}

std::string timing_text(const std::vector<Point>& points, std::chrono::duration<double> wall) {
  std::int64_t messages = 0;
  std::int64_t events = 0;
  std::int64_t folded = 0;
  std::int64_t swept = 0;
  for (const Point& point : points) {
    messages += point.messages;
    events += point.events;
    if (!point.method) continue;
    if (point.method->classes < point.method->streams) ++folded;
    if (point.method->sweeps) ++swept;
  }
  const double seconds = wall.count();
  const auto rate = [seconds](std::int64_t count) {
    return seconds > 0 ? static_cast<double>(count) / seconds : 0.0;
  };
  return fmt::format(
      "{} points, {} messages, {} events in {:.3f} s: {:.0f} messages/s, {:.0f} events/s; {} points folded, "
      "{} "
      "swept\n",
      points.size(), messages, events, seconds, rate(messages), rate(events), folded, swept);
}

}  // namespace collsim::program
