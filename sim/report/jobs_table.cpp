#include "sim/report/jobs_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/report/columns.hpp"
#include "sim/report/figures.hpp"

namespace collsim {

namespace {

std::string heading_of(const std::vector<Point>& jobs) {
  return fmt::format(
      "# {} {} on {}: {}\n"
      "# alone: the job by itself on the healthy cluster; busbw as nccl-tests defines it, GB = 10^9 "
      "bytes\n#\n",
      jobs.size(), jobs.size() == 1 ? "job" : "jobs", jobs.front().cluster, setting_text(jobs.front()));
}

std::string time_text(const std::optional<Duration>& time) { return time ? microseconds_text(*time) : "-"; }

std::vector<std::string> row_of(const Point& point, bool quantiles) {
  const JobFacts& job = *point.job;
  const bool moves = point.collective.kind != CollectiveKind::barrier;
  const bool ran = point.time.has_value();
  std::vector<std::string> row = {
      job.name,
      std::string(name_of(point.collective.kind)),
      std::to_string(point.ranks),
      moves ? std::to_string(point.collective.bytes.count()) : "-",
      point.chosen.empty() ? point.algorithm : fmt::format("{} ({})", point.algorithm, point.chosen),
      ran ? microseconds_text(job.start - Instant()) : "-",
      time_text(point.time)};
  if (quantiles) {
    row.push_back(ran ? microseconds_text(point.repeats->percentile_5) : "-");
    row.push_back(ran ? microseconds_text(point.repeats->percentile_95) : "-");
  }
  row.push_back(moves ? bandwidth_text(bus_bandwidth_gb(point)) : "-");
  row.push_back(has_bound(point) ? microseconds_text(point.bound.time) : "n/a");
  row.push_back(percent_text(optimality(point)));
  row.push_back(time_text(job.alone));
  const std::optional<Ratio> slower = slow_down(point);
  row.push_back(slower ? decimal_text(*slower, 2) : "-");
  return row;
}

Columns columns_for(bool quantiles) {
  using enum Align;
  std::vector<Align> aligns = {left, left, right, right, left, right, right};
  std::vector<std::string> names = {
      "job", "collective", "ranks", "size", "algorithm", "start", quantiles ? "median" : "time"};
  std::vector<std::string> units = {"", "", "", "(B)", "", "(us)", "(us)"};
  const auto add = [&](const char* name, const char* unit) {
    aligns.push_back(right);
    names.emplace_back(name);
    units.emplace_back(unit);
  };
  if (quantiles) {
    add("p5", "(us)");
    add("p95", "(us)");
  }
  add("busbw", "(GB/s)");
  add("bound", "(us)");
  add("%bound", "");
  add("alone", "(us)");
  add("slow-down", "(times)");
  Columns columns(std::move(aligns));
  columns.add(std::move(names));
  columns.add(std::move(units));
  return columns;
}

}  // namespace

std::string jobs_rows_text(const std::vector<Point>& jobs) {
  const bool quantiles = jobs.front().repeats.has_value();
  Columns columns = columns_for(quantiles);
  for (const Point& job : jobs) columns.add(row_of(job, quantiles));
  // The first column is left-aligned: its heading begins behind the mark.
  std::string text = columns.text("  ", report_width);
  text[0] = '#';
  text[text.find('\n') + 1] = '#';
  return heading_of(jobs) + text;
}

}  // namespace collsim
