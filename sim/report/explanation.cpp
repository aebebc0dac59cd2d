#include <fmt/format.h>

#include <algorithm>

#include "sim/report/columns.hpp"
#include "sim/report/figures.hpp"
#include "sim/report/numerics_text.hpp"
#include "sim/report/table.hpp"

namespace collsim {

namespace {

std::string point_title(const Point& point) {
  std::string title = point.job ? point.job->name + ", " + point.algorithm : point.algorithm;
  if (!point.options.empty()) title += "{" + point.options + "}";
  if (!point.chosen.empty()) title += " (" + point.chosen + ")";
  if (point.collective.kind == CollectiveKind::barrier) return title;
  return fmt::format("{}, {} B", title, point.collective.bytes.count());
}

std::string shares_text(const CriticalPath& path, Duration time) {
  Columns columns({Align::left, Align::right, Align::right});
  const auto add = [&](const char* name, Duration part) {
    std::optional<Ratio> share;
    if (time.picoseconds() > 0) share = Ratio{part.picoseconds(), time.picoseconds()};
    columns.add({name, decimal_text({part.picoseconds(), 1'000'000}, 2) + " us", percent_text(share) + " %"});
  };
  add("launch", path.launch);
  add("overhead", path.overhead);
  add("bandwidth", path.bandwidth);
  add("contention", path.contention);
  add("latency", path.latency);
  add("reduction", path.reduction);
  add("waiting", path.waiting);
  return columns.text("    ", report_width);
}

// LowerBound::reason, of sim/model/bounds.hpp and topologies/flow_bounds.hpp, as a cause.
std::string cause_of(const std::string& reason) {
  if (reason == "latency") return "latency between the farthest ranks";
  if (reason == "root") return "what must pass the links of the root";
  if (reason == "all links together") return "what all links together must carry";
  if (reason.starts_with("partition")) return "what must cross a " + reason;
  if (reason.starts_with("max-flow")) return reason;
  return "what must cross the cut '" + reason + "'";
}

std::string bound_sentence(const Point& point) {
  if (!has_bound(point)) return "  bound: none is known\n";
  if (point.bound.time == Duration()) {
    return "  bound: nothing has to move, so an algorithm may take no time at all\n";
  }
  return fmt::format("  bound: no algorithm takes less than {} us here ({}); this one reaches {} % of it\n",
                     microseconds_text(point.bound.time), cause_of(point.bound.reason),
                     percent_text(optimality(point)));
}

std::string packets_sentence(const Point& point) {
  const PacketFacts& facts = *point.packets;
  std::string text = fmt::format("  {} packets, {} hops over links; ", facts.packets, facts.hops);
  text += point.packet_queue_link.empty()
              ? "none ever waited"
              : fmt::format("the longest queue {} B, for {}", facts.queue_max, point.packet_queue_link);
  if (facts.marks > 0) text += fmt::format("; {} marked", facts.marks);
  if (facts.virtual_channels > 1) text += fmt::format("; {} virtual channels", facts.virtual_channels);
  return text + "\n";
}

std::string path_text(const CriticalPath& path, Duration time) {
  return fmt::format("  where the time goes, along the chain of {} {} that ends at rank {}:\n", path.messages,
                     path.messages == 1 ? "message" : "messages", path.last_rank) +
         shares_text(path, time);
}

std::string explanation_of(const Point& point) {
  std::string text = fmt::format("{}: {} us\n", point_title(point), microseconds_text(*point.time));
  text += path_text(*point.critical_path, *point.time);
  if (point.bottleneck) {
    text += fmt::format("  bottleneck: {}, used to {} %\n", point.bottleneck->name,
                        percent_text(utilization(point, *point.bottleneck)));
  }
  if (point.packets) text += packets_sentence(point);
  text += bound_sentence(point);
  const std::string numbers = numerics_text(point.numerics, point.collective, point.ranks);
  if (!numbers.empty()) text += "  numbers: " + numbers + "\n";
  if (point.predicted) {
    text += fmt::format("  predicted by NCCL's model: {} us\n", microseconds_text(*point.predicted));
  }
  text +=
      fmt::format("  {} messages, {} events, fingerprint {:016x}; channels {}, slices {}\n", point.messages,
                  point.events, point.fingerprint.value_or(0), point.channels, point.slices);
  return text;
}

std::string links_of(const Point& point) {
  std::vector<LinkUse> used;
  for (const LinkUse& link : *point.links) {
    if (link.bytes.count() > 0) used.push_back(link);
  }
  std::stable_sort(used.begin(), used.end(), [](const LinkUse& a, const LinkUse& b) {
    return Int128{a.bytes.count()} * b.bandwidth.bytes_per_second() >
           Int128{b.bytes.count()} * a.bandwidth.bytes_per_second();
  });
  std::string text =
      fmt::format("{}: {} of {} links carry data\n", point_title(point), used.size(), point.links->size());
  using enum Align;
  Columns columns({left, right, right, right});
  columns.add({"link", "bytes", "GB/s", "used(%)"});
  for (std::size_t i = 0; i < std::min(used.size(), lines_max); ++i) {
    columns.add({used[i].name, std::to_string(used[i].bytes.count()),
                 decimal_text({used[i].bandwidth.bytes_per_second(), 1'000'000'000}, 2),
                 percent_text(utilization(point, used[i]))});
  }
  if (!used.empty()) text += columns.text("  ", report_width);
  if (used.size() > lines_max) text += fmt::format("  {} (--json has all)\n", and_more_text(used.size()));
  return text;
}

}  // namespace

std::string links_text(const std::vector<Point>& points) {
  std::string text;
  for (const Point& point : points) {
    if (!point.links) continue;
    if (!text.empty()) text += "\n";
    text += links_of(point);
  }
  return text;
}

std::string explanation_text(const std::vector<Point>& points) {
  std::string text;
  for (const Point& point : points) {
    if (!point.critical_path) continue;
    if (!text.empty()) text += "\n";
    text += explanation_of(point);
  }
  return text;
}

}  // namespace collsim
