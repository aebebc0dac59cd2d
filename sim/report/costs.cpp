#include <fmt/format.h>

#include <algorithm>

#include "sim/core/quantity_text.hpp"
#include "sim/report/columns.hpp"
#include "sim/report/figures.hpp"
#include "sim/report/table.hpp"

namespace collsim {

namespace {

std::string title_of(const Point& point, const std::string& label) {
  std::string title = point.job ? point.job->name + ", " + label : label;
  if (!point.chosen.empty()) title += " (" + point.chosen + ")";
  if (point.collective.kind == CollectiveKind::barrier) return title;
  return title + ", " + text_from(point.collective.bytes);
}

// "+12.3 %", "-0.4 %", "none"; empty where the healthy run took no time or failed.
std::string more_text(const std::optional<Duration>& time, const std::optional<Duration>& healthy) {
  if (!time || !healthy) return "";
  if (*time == *healthy) return "none";
  const std::optional<Excess> more = excess(*time, *healthy);
  return more ? (more->is_less ? "-" : "+") + percent_text(more->ratio) + " %" : "";
}

std::string costs_of(const Point& point, const std::string& label) {
  using enum Align;
  Columns columns({left, right, right, left});
  const auto add = [&](const std::string& what, PointStatus status, const std::optional<Duration>& time,
                       const std::string& reason) {
    const bool ok = status == PointStatus::ok && time.has_value();
    columns.add({what, ok ? microseconds_text(*time) : name_of(status),
                 ok ? more_text(time, point.healthy_time) : "", ok ? "" : reason});
  };
  columns.add({"#   " + title_of(point, label), "time (us)", "more", ""});
  add("#     healthy", point.healthy_time ? PointStatus::ok : point.status, point.healthy_time, "");
  for (const FaultCost& cost : point.fault_costs)
    add("#     " + cost.fault, cost.status, cost.time, cost.reason);
  if (point.fault_costs.size() > 1) add("#     all of these", point.status, point.time, point.reason);
  return columns.text("", report_width);
}

}  // namespace

std::string costs_text(const std::vector<Point>& points) {
  const std::vector<std::string> labels = labels_of(points);
  std::string text;
  bool medians = false;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].fault_costs.empty()) continue;
    text += costs_of(points[i], labels[i]);
    medians = medians || points[i].repeats.has_value();
  }
  if (text.empty()) return "";
  return fmt::format("# cost of each condition against the healthy run{}\n",
                     medians ? " (medians over the seeds)" : "") +
         text;
}

}  // namespace collsim
