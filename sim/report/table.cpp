#include "sim/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/random.hpp"
#include "sim/report/columns.hpp"
#include "sim/report/figures.hpp"
#include "sim/report/jobs_table.hpp"
#include "sim/report/winners.hpp"

namespace collsim {

namespace {

// Points that stand under one heading.
bool same_table(const Point& a, const Point& b) {
  return a.cluster == b.cluster && a.collective.kind == b.collective.kind && a.ranks == b.ranks &&
         a.nodes == b.nodes && a.network == b.network && a.seed == b.seed && a.routing == b.routing &&
         a.placement == b.placement && a.repeats.has_value() == b.repeats.has_value() && !a.job && !b.job;
}

// Jobs that ran together: each has a name of its own.
bool same_jobs(const std::vector<Point>& points, std::size_t begin, std::size_t end) {
  if (!points[begin].job || !points[end].job || points[begin].cluster != points[end].cluster) return false;
  return std::none_of(points.begin() + static_cast<std::ptrdiff_t>(begin),
                      points.begin() + static_cast<std::ptrdiff_t>(end),
                      [&](const Point& each) { return each.job->name == points[end].job->name; });
}

// Which columns the points of a table have: a barrier moves nothing, and not every collective has a root.
struct Shown {
  bool data = true;
  bool root = false;
  bool quantiles = false;  // these take the place of the columns that say least
};

Shown shown_of(const Point& point) {
  const CollectiveKind kind = point.collective.kind;
  return {kind != CollectiveKind::barrier, has_root(kind), point.repeats.has_value()};
}

std::string heading_text(const Point& point) {
  const auto counted = [](std::int32_t count, const char* noun) {
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
  };
  return fmt::format(
      "# {} on {}: {}, {}, {}\n"
      "# {}bound: no algorithm is faster on this cluster\n#\n",
      name_of(point.collective.kind), point.cluster, counted(point.ranks, "rank"),
      counted(point.nodes, "node"), setting_text(point),
      shown_of(point).data ? "algbw and busbw as nccl-tests defines them, GB = 10^9 bytes; " : "");
}

std::string bottleneck_text(const Point& point) {
  if (point.status != PointStatus::ok) return fmt::format("{}, see below", name_of(point.status));
  if (!point.bottleneck) return "-";
  return fmt::format("{} {}%", short_link_name(point.bottleneck->name),
                     percent_text(utilization(point, *point.bottleneck)));
}

std::vector<std::string> row_of(const Point& point, const std::string& label, const Shown& shown) {
  const Collective& collective = point.collective;
  std::vector<std::string> row;
  const auto add = [&row](std::string cell) { row.push_back(std::move(cell)); };
  if (shown.data) {
    add(std::to_string(collective.bytes.count()));
    if (!shown.quantiles) add(std::to_string(collective.elements()));
    add(std::string(name_of(collective.datatype)));
    if (!shown.quantiles) add(std::string(reduces(collective.kind) ? name_of(collective.reduction) : "none"));
  }
  if (shown.root) add(std::to_string(collective.root));
  add(point.chosen.empty() ? label : fmt::format("{} ({})", label, point.chosen));
  add(point.time ? microseconds_text(*point.time) : "-");
  if (shown.quantiles) {
    add(point.time ? microseconds_text(point.repeats->percentile_5) : "-");
    add(point.time ? microseconds_text(point.repeats->percentile_95) : "-");
  }
  if (shown.data) {
    add(bandwidth_text(algorithm_bandwidth_gb(point)));
    add(bandwidth_text(bus_bandwidth_gb(point)));
  }
  add(has_bound(point) ? microseconds_text(point.bound.time) : "n/a");
  add(percent_text(optimality(point)));
  add(bottleneck_text(point));
  return row;
}

Columns heading_columns(const Shown& shown) {
  using enum Align;
  std::vector<Align> aligns;
  std::vector<std::string> names;
  std::vector<std::string> units;
  const auto add = [&](Align align, const char* name, const char* unit) {
    aligns.push_back(align);
    names.emplace_back(name);
    units.emplace_back(unit);
  };
  if (shown.data) {
    add(right, "size", "(B)");
    if (!shown.quantiles) add(right, "count", "(elements)");
    add(right, "type", "");
    if (!shown.quantiles) add(right, "redop", "");
  }
  if (shown.root) add(right, "root", "");
  add(left, "algorithm", "");
  add(right, shown.quantiles ? "median" : "time", "(us)");
  if (shown.quantiles) {
    add(right, "p5", "(us)");
    add(right, "p95", "(us)");
  }
  if (shown.data) {
    add(right, "algbw", "(GB/s)");
    add(right, "busbw", "(GB/s)");
  }
  add(right, "bound", "(us)");
  add(right, "%bound", "");
  add(left, "bottleneck", "(utilization)");
  Columns columns(std::move(aligns));
  columns.add(std::move(names));
  columns.add(std::move(units));
  return columns;
}

std::string rows_text(const std::vector<Point>& points, const std::vector<std::string>& labels,
                      std::size_t begin, std::size_t end) {
  const Shown shown = shown_of(points[begin]);
  Columns columns = heading_columns(shown);
  for (std::size_t i = begin; i < end; ++i) columns.add(row_of(points[i], labels[i], shown));
  // The first two lines are comments: their first column, right-aligned, leaves room for the mark.
  std::string text = columns.text("  ", report_width);
  text[0] = '#';
  text[text.find('\n') + 1] = '#';
  return text;
}

std::string blocked_text(const std::vector<BlockedStream>& blocked) {
  std::string text;
  for (std::size_t i = 0; i < std::min(blocked.size(), lines_max); ++i) {
    const BlockedStream& each = blocked[i];
    text += fmt::format("#   rank {}, stream {}, operation {}: waits for {}\n", each.rank, each.stream,
                        each.operation, each.waits_for);
  }
  if (blocked.size() > lines_max) text += fmt::format("#   {}\n", and_more_text(blocked.size()));
  return text;
}

std::string findings_text(const std::vector<ProofFailure>& failures) {
  std::string text;
  for (std::size_t i = 0; i < std::min(failures.size(), lines_max); ++i) {
    text += fmt::format("#   {}\n", failures[i].text);
  }
  if (failures.size() > lines_max) text += fmt::format("#   {}\n", and_more_text(failures.size()));
  return text;
}

// Points next to each other of one algorithm that fail for one reason share a footer.
bool same_footer(const Point& a, const Point& b) {
  const auto same_text = [](const ProofFailure& one, const ProofFailure& other) {
    return one.text == other.text;
  };
  return !a.job && !b.job && a.algorithm == b.algorithm && a.status == b.status && a.reason == b.reason &&
         a.blocked.empty() && b.blocked.empty() &&
         std::equal(a.proof_failures.begin(), a.proof_failures.end(), b.proof_failures.begin(),
                    b.proof_failures.end(), same_text);
}

std::string footer_text(const Point& first, const Point& last, const std::string& label, std::size_t count) {
  const auto bytes = [](const Point& point) { return std::to_string(point.collective.bytes.count()) + " B"; };
  std::string title = first.job ? first.job->name + ", " + label : label;
  if (shown_of(first).data) title += ", " + bytes(first) + (count > 1 ? " to " + bytes(last) : "");
  return fmt::format("# {}: {}: {}\n", title, name_of(first.status), first.reason) +
         blocked_text(first.blocked) + findings_text(first.proof_failures);
}

std::string footers_text(const std::vector<Point>& points, const std::vector<std::string>& labels,
                         std::size_t begin, std::size_t end) {
  std::string text;
  for (std::size_t i = begin; i < end;) {
    std::size_t next = i + 1;
    if (points[i].status != PointStatus::ok) {
      while (next < end && same_footer(points[i], points[next])) ++next;
      text += footer_text(points[i], points[next - 1], labels[i], next - i);
    }
    i = next;
  }
  return text;
}

std::string summary_text(const std::vector<Point>& points, std::size_t begin, std::size_t end) {
  std::size_t ok = 0;
  std::uint64_t fingerprint = 0;
  for (std::size_t i = begin; i < end; ++i) {
    if (points[i].status == PointStatus::ok) ++ok;
    fingerprint = mix64(fingerprint ^ points[i].fingerprint.value_or(0));
  }
  const std::size_t count = end - begin;
  const std::string which = ok == count ? fmt::format("{}", ok) : fmt::format("{} of {}", ok, count);
  return fmt::format("# {} {} ok, each schedule proven; fingerprint of all points {:016x}\n", which,
                     count == 1 ? "point" : "points", fingerprint);
}

}  // namespace

std::string short_link_name(const std::string& name) {
  const std::string arrow = " -> ";
  const std::size_t at = name.find(arrow);
  if (at == std::string::npos) return name;
  const std::string source = name.substr(0, at);
  std::string target = name.substr(at + arrow.size());
  const std::size_t slash = source.find('/');
  if (slash != std::string::npos && target.compare(0, slash + 1, source, 0, slash + 1) == 0) {
    target.erase(0, slash + 1);
  }
  return source + "->" + target;
}

std::string setting_text(const Point& point) {
  std::string text = "network " + point.network;
  if (!point.routing.empty()) text += ", routing " + point.routing;
  if (!point.placement.empty()) text += ", placement " + point.placement;
  if (!point.repeats) return text + fmt::format(", seed {}", point.seed);
  return text + fmt::format(", {} seeds from {}", point.repeats->count, point.seed);
}

std::string table_text(const std::vector<Point>& points) {
  const std::vector<std::string> labels = labels_of(points);
  std::string text;
  for (std::size_t begin = 0; begin < points.size();) {
    std::size_t end = begin + 1;
    while (end < points.size() && (same_table(points[begin], points[end]) || same_jobs(points, begin, end)))
      ++end;
    if (begin > 0) text += "\n";
    const auto at = [&points](std::size_t i) { return points.begin() + static_cast<std::ptrdiff_t>(i); };
    const std::vector<Point> jobs(at(begin), points[begin].job ? at(end) : at(begin));
    text += jobs.empty() ? heading_text(points[begin]) + rows_text(points, labels, begin, end)
                         : jobs_rows_text(jobs);
    text += footers_text(points, labels, begin, end) + summary_text(points, begin, end);
    if (jobs.empty()) text += winners_text(std::vector<Point>(at(begin), at(end)));
    begin = end;
  }
  return text;
}

}  // namespace collsim
