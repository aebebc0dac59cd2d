#include "sim/report/point.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "sim/core/check.hpp"
#include "sim/core/id.hpp"

namespace collsim {

namespace {

constexpr std::int64_t bytes_per_picosecond_in_gb = 1'000;  // 1 byte/ps = 10^12 bytes/s = 1000 GB/s

// What each link could carry during the run, on average: bandwidths change at their times.
std::vector<Bandwidth> mean_bandwidths(const Topology& topology, const Conditions& conditions,
                                       Duration time) {
  std::vector<Bandwidth> means;
  for (const Link& link : topology.links()) means.push_back(link.bandwidth);
  const std::int64_t end = time.picoseconds();
  if (conditions.link_changes.empty() || end == 0) return means;
  struct Span {
    std::int64_t rate = 0;
    std::int64_t since = 0;
    Int128 carried = 0;  // bytes * 10^12 that fit so far
  };
  std::map<std::uint32_t, Span> spans;
  for (const LinkChange& change : conditions.link_changes) {
    if (!change.bandwidth || (change.at - Instant()) >= time) continue;
    Span& span = spans.try_emplace(change.link.value, Span{means[change.link.value].bytes_per_second(), 0, 0})
                     .first->second;
    const std::int64_t at = std::max<std::int64_t>(change.at.picoseconds(), 0);
    span.carried += Int128{span.rate} * (at - span.since);
    span.since = at;
    span.rate = change.bandwidth->bytes_per_second();
  }
  for (const auto& [link, span] : spans) {
    const Int128 carried = span.carried + Int128{span.rate} * (end - span.since);
    means[link] =
        Bandwidth::bytes_per_second(std::max<std::int64_t>(static_cast<std::int64_t>(carried / end), 1));
  }
  return means;
}

// The link with the largest bytes / bandwidth: with one time for all links, the highest utilization.
std::optional<LinkId> busiest_link(const std::vector<Bandwidth>& bandwidths,
                                   const std::vector<Bytes>& link_bytes) {
  std::optional<LinkId> busiest;
  for (std::size_t i = 0; i < link_bytes.size(); ++i) {
    if (link_bytes[i].count() == 0) continue;
    if (!busiest) {
      busiest = LinkId(i);
      continue;
    }
    const Int128 mine = Int128{link_bytes[i].count()} * bandwidths[busiest->value].bytes_per_second();
    const Int128 best = Int128{link_bytes[busiest->value].count()} * bandwidths[i].bytes_per_second();
    if (mine > best) busiest = LinkId(i);
  }
  return busiest;
}

LinkUse use_of(const Topology& topology, const std::vector<Bandwidth>& bandwidths,
               const std::vector<Bytes>& link_bytes, LinkId id) {
  return {topology.link_name(id), link_bytes[id.value], bandwidths[id.value]};
}

void take_status(Point& point, const RunResult& result) {
  switch (result.status) {
    case RunStatus::ok:
      point.status = PointStatus::ok;
      point.time = result.time;
      return;
    case RunStatus::deadlock:
      point.status = PointStatus::deadlock;
      point.reason = std::to_string(result.blocked.size()) +
                     (result.blocked.size() == 1 ? " stream waits for ever" : " streams wait for ever");
      if (!result.failure.empty()) point.reason += "; " + result.failure;
      point.blocked = result.blocked;
      return;
    case RunStatus::failed:
      point.status = PointStatus::failed;
      point.reason = result.failure;
      point.blocked = result.blocked;
      return;
    case RunStatus::limit:
      point.status = PointStatus::limit;
      point.reason = "stopped after " + std::to_string(result.events) + " events";
      return;
  }
}

}  // namespace

const char* name_of(PointStatus status) {
  switch (status) {
    case PointStatus::ok:
      return "ok";
    case PointStatus::impossible:
      return "impossible";
    case PointStatus::deadlock:
      return "deadlock";
    case PointStatus::unproven:
      return "unproven";
    case PointStatus::failed:
      return "failed";
    case PointStatus::limit:
      return "limit";
  }
  return "";
}

std::vector<std::string> labels_of(const std::vector<Point>& points) {
  std::map<std::string, std::set<std::string>> options;
  for (const Point& point : points) options[point.algorithm].insert(point.options);
  std::vector<std::string> labels;
  labels.reserve(points.size());
  for (const Point& point : points) {
    const bool is_file = point.algorithm.ends_with(".xml");
    std::string label = is_file ? point.algorithm.substr(point.algorithm.rfind('/') + 1) : point.algorithm;
    const bool is_shared = options[point.algorithm].size() > 1 && !point.options.empty();
    if (is_shared) label += "{" + point.options + "}";
    labels.push_back(std::move(label));
  }
  return labels;
}

const char* executor_name(const RunMethod& method) { return method.sweeps ? "sweeps" : "events"; }

void take_result(Point& point, const Topology& topology, const RunResult& result, bool with_links,
                 const Conditions& conditions) {
  COLLSIM_CHECK(point.status == PointStatus::ok);
  COLLSIM_CHECK(result.link_bytes.size() == topology.link_count());
  take_status(point, result);
  point.messages = result.messages;
  point.events = result.events;
  point.method = result.method;
  point.fingerprint = result.fingerprint;
  if (point.status != PointStatus::ok) return;
  point.critical_path = result.critical_path;
  const std::vector<Bandwidth> bandwidths = mean_bandwidths(topology, conditions, result.time);
  if (const auto busiest = busiest_link(bandwidths, result.link_bytes)) {
    point.bottleneck = use_of(topology, bandwidths, result.link_bytes, *busiest);
  }
  if (!with_links) return;
  point.links.emplace();
  for (std::size_t i = 0; i < topology.link_count(); ++i) {
    point.links->push_back(use_of(topology, bandwidths, result.link_bytes, LinkId(i)));
  }
}

void check_bound(const Point& point, Duration launch) {
  if (!point.time || !has_bound(point)) return;
  COLLSIM_CHECK_MSG(*point.time - launch >= point.bound.time,
                    point.algorithm + ", " + std::to_string(point.collective.bytes.count()) +
                        " B: " + std::to_string(point.time->picoseconds()) + " ps is below the bound of " +
                        std::to_string(point.bound.time.picoseconds()) + " ps (" + point.bound.reason + ")");
}

bool has_bound(const Point& point) { return !point.bound.reason.empty(); }

std::optional<Excess> excess(Duration time, Duration healthy) {
  if (healthy.picoseconds() == 0) return std::nullopt;
  const std::int64_t more = time.picoseconds() - healthy.picoseconds();
  return Excess{more < 0, Ratio{more < 0 ? -more : more, healthy.picoseconds()}};
}

std::optional<Ratio> slow_down(const Point& point) {
  if (!point.time || !point.job || !point.job->alone || point.job->alone->picoseconds() == 0)
    return std::nullopt;
  return Ratio{point.time->picoseconds(), point.job->alone->picoseconds()};
}

std::optional<Ratio> algorithm_bandwidth_gb(const Point& point) {
  if (!point.time || point.time->picoseconds() == 0) return std::nullopt;
  return Ratio{Int128{point.collective.bytes.count()} * bytes_per_picosecond_in_gb,
               point.time->picoseconds()};
}

std::optional<Ratio> bus_bandwidth_gb(const Point& point) {
  std::optional<Ratio> ratio = algorithm_bandwidth_gb(point);
  if (!ratio) return std::nullopt;
  const Fraction factor = bus_factor(point.collective.kind, point.ranks);
  return Ratio{ratio->numerator * factor.numerator, ratio->denominator * factor.denominator};
}

std::optional<Ratio> optimality(const Point& point) {
  if (!point.time || !has_bound(point)) return std::nullopt;
  if (point.time->picoseconds() == 0) return Ratio{1, 1};
  return Ratio{point.bound.time.picoseconds(), point.time->picoseconds()};
}

std::optional<Ratio> utilization(const Point& point, const LinkUse& link) {
  if (!point.time || point.time->picoseconds() == 0) return std::nullopt;
  return Ratio{Int128{link.bytes.count()} * picoseconds_per_second,
               Int128{link.bandwidth.bytes_per_second()} * point.time->picoseconds()};
}

}  // namespace collsim
