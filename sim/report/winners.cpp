#include "sim/report/winners.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "sim/core/quantity_text.hpp"
#include "sim/report/columns.hpp"
#include "sim/report/figures.hpp"

namespace collsim {

namespace {

// Points with their labels, and who wins.
struct Contest {
  const std::vector<Point>& points;
  std::vector<std::string> labels;
  std::vector<SizeWinner> winners;

  // "ring"; of a selection what it takes as well: "auto (ring)".
  std::string name(std::size_t point) const {
    const std::string& chosen = points[point].chosen;
    return chosen.empty() ? labels[point] : fmt::format("{} ({})", labels[point], chosen);
  }
  std::string winner_name(std::size_t size) const { return name(winners[size].fastest); }
};

// How many times as long the next takes; absent where there is none, or where the fastest takes no time.
std::optional<Ratio> lead_of(const Contest& contest, const SizeWinner& winner) {
  if (!winner.next) return std::nullopt;
  const Duration fastest = *contest.points[winner.fastest].time;
  const Duration next = *contest.points[*winner.next].time;
  if (fastest.picoseconds() == 0) return std::nullopt;
  return Ratio{next.picoseconds(), fastest.picoseconds()};
}

// In the order in which they come.
std::vector<std::string> distinct(const std::vector<std::string>& words) {
  std::vector<std::string> result;
  for (const std::string& word : words)
    if (std::find(result.begin(), result.end(), word) == result.end()) result.push_back(word);
  return result;
}

std::vector<std::string> labels_with_time(const Contest& contest) {
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < contest.points.size(); ++i)
    if (contest.points[i].time) labels.push_back(contest.labels[i]);
  return distinct(labels);
}

// Algorithms down, sizes across; the fastest of a size has a star.
std::string matrix_text(const Contest& contest) {
  std::map<std::pair<std::string, std::int64_t>, Duration> times;
  for (std::size_t i = 0; i < contest.points.size(); ++i) {
    const Point& point = contest.points[i];
    if (point.time) times.try_emplace({contest.labels[i], point.collective.bytes.count()}, *point.time);
  }
  std::vector<Align> aligns(2 * contest.winners.size() + 1, Align::left);
  std::vector<std::string> head = {"#"};
  for (std::size_t i = 0; i < contest.winners.size(); ++i) {
    aligns[2 * i + 1] = Align::right;
    head.push_back(text_from(contest.winners[i].bytes));
    head.emplace_back();
  }
  Columns columns(std::move(aligns));
  columns.add(std::move(head));
  for (const std::string& label : labels_with_time(contest)) {
    std::vector<std::string> row = {"#   " + label};
    for (const SizeWinner& winner : contest.winners) {
      const auto found = times.find({label, winner.bytes.count()});
      const bool is_there = found != times.end();
      row.push_back(is_there ? microseconds_text(found->second) : "-");
      row.emplace_back(is_there && found->second <= *contest.points[winner.fastest].time ? "*" : "");
    }
    columns.add(std::move(row));
  }
  return columns.text("", report_width);
}

std::string lead_text(const Contest& contest, const SizeWinner& winner) {
  if (!winner.next) return "alone";
  const std::string next = contest.name(*winner.next);
  const std::optional<Ratio> lead = lead_of(contest, winner);
  if (!lead || lead->numerator == lead->denominator) return "as fast as " + next;
  return fmt::format("{} times as fast as {}", decimal_text(*lead, 2), next);
}

std::string list_text(const Contest& contest) {
  using enum Align;
  Columns columns({left, right, right, left, left});
  for (std::size_t i = 0; i < contest.winners.size(); ++i) {
    const SizeWinner& winner = contest.winners[i];
    columns.add({"#  ", text_from(winner.bytes),
                 microseconds_text(*contest.points[winner.fastest].time) + " us", contest.winner_name(i),
                 lead_text(contest, winner)});
  }
  return columns.text("", report_width);
}

// "1.31 to 2.07 times as fast as the next": the leads of a range; empty where there is none.
std::string leads_text(const Contest& contest, const NameRange& range) {
  const auto is_less = [](const Ratio& a, const Ratio& b) {
    return a.numerator * b.denominator < b.numerator * a.denominator;
  };
  std::vector<Ratio> leads;
  for (std::size_t i = range.first; i <= range.last; ++i)
    if (const auto lead = lead_of(contest, contest.winners[i])) leads.push_back(*lead);
  if (leads.empty()) return "";
  const auto [least, most] = std::minmax_element(leads.begin(), leads.end(), is_less);
  if (most->numerator == most->denominator) return "as fast as the next";
  const std::string from = decimal_text(*least, 2);
  const std::string to = decimal_text(*most, 2);
  return (from == to ? from : from + " to " + to) + " times as fast as the next";
}

std::string range_text(const NameRange& range, const std::vector<Bytes>& sizes) {
  const std::string from = text_from(sizes[range.first]);
  const std::string to = text_from(sizes[range.last]);
  const bool is_first = range.first == 0;
  const bool is_last = range.last + 1 == sizes.size();
  if (is_first && is_last) return sizes.size() == 1 ? from : "all sizes";
  if (is_first) return "up to " + to;
  if (is_last) return "from " + from;
  return range.first == range.last ? from : from + " to " + to;
}

std::string winner_ranges_text(const Contest& contest) {
  using enum Align;
  std::vector<std::string> names;
  std::vector<Bytes> sizes;
  for (std::size_t i = 0; i < contest.winners.size(); ++i) {
    names.push_back(contest.winner_name(i));
    sizes.push_back(contest.winners[i].bytes);
  }
  Columns columns({left, left, left});
  for (const NameRange& range : ranges_of(names))
    columns.add({"#   " + range_text(range, sizes), range.name, leads_text(contest, range)});
  return "#\n# which algorithm wins where\n" + columns.text("", report_width);
}

// What one selection takes, by size.
std::string choices_text(const Contest& contest, const std::string& label) {
  std::map<std::int64_t, std::string> by_size;
  for (std::size_t i = 0; i < contest.points.size(); ++i) {
    const Point& point = contest.points[i];
    if (contest.labels[i] == label && !point.chosen.empty())
      by_size.try_emplace(point.collective.bytes.count(), point.chosen);
  }
  if (by_size.empty()) return "";
  std::vector<std::string> names;
  std::vector<Bytes> sizes;
  for (const auto& entry : by_size) {
    sizes.emplace_back(entry.first);
    names.push_back(entry.second);
  }
  using enum Align;
  Columns columns({left, left});
  for (const NameRange& range : ranges_of(names))
    columns.add({"#   " + range_text(range, sizes), range.name});
  return fmt::format("#\n# {} takes\n", label) + columns.text("", report_width);
}

// What the model of one selection predicts beside what was simulated, where it has a model.
std::string predictions_text(const Contest& contest, const std::string& label) {
  using enum Align;
  Columns columns({left, right, right, right, left});
  columns.add({"#  ", "", "predicted (us)", "simulated (us)", "predicted / simulated"});
  bool any = false;
  for (std::size_t i = 0; i < contest.points.size(); ++i) {
    const Point& point = contest.points[i];
    if (contest.labels[i] != label || !point.predicted || !point.time) continue;
    any = true;
    const std::int64_t simulated = point.time->picoseconds();
    columns.add({"#  ", text_from(point.collective.bytes), microseconds_text(*point.predicted),
                 microseconds_text(*point.time),
                 simulated > 0 ? decimal_text(Ratio{point.predicted->picoseconds(), simulated}, 2) : "-"});
  }
  return any ? fmt::format("#\n# {} predicts\n", label) + columns.text("", report_width) : "";
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = text.find('\n', start);
    widest = std::max(widest, end - start);
    start = end + 1;
  }
  return widest;
}

// Those of one size that compete, the fastest first. A selection does not where something that is none is as
// fast, since that is what it runs.
std::vector<std::size_t> ranking(const std::vector<Point>& points, const std::vector<std::size_t>& indices) {
  const auto is_matched = [&](std::size_t selection) {
    return std::any_of(indices.begin(), indices.end(), [&](std::size_t each) {
      return points[each].chosen.empty() && *points[each].time == *points[selection].time;
    });
  };
  std::vector<std::size_t> order;
  for (const std::size_t each : indices)
    if (points[each].chosen.empty() || !is_matched(each)) order.push_back(each);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return *points[a].time < *points[b].time; });
  return order;
}

}  // namespace

std::vector<SizeWinner> winners_of(const std::vector<Point>& points, const std::vector<std::string>& labels) {
  std::map<std::int64_t, std::vector<std::size_t>> by_size;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (points[i].time) by_size[points[i].collective.bytes.count()].push_back(i);
  std::vector<SizeWinner> winners;
  std::string before;
  for (const auto& entry : by_size) {
    const std::vector<std::size_t> order = ranking(points, entry.second);
    SizeWinner winner{Bytes(entry.first), order.front(), std::nullopt};
    for (const std::size_t each : order)
      if (*points[each].time == *points[order.front()].time && labels[each] == before) winner.fastest = each;
    before = labels[winner.fastest];
    const auto next =
        std::find_if(order.begin(), order.end(), [&](std::size_t each) { return labels[each] != before; });
    if (next != order.end()) winner.next = *next;
    winners.push_back(winner);
  }
  return winners;
}

std::vector<NameRange> ranges_of(const std::vector<std::string>& names) {
  std::vector<NameRange> ranges;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (ranges.empty() || ranges.back().name != names[i]) ranges.push_back({names[i], i, i});
    ranges.back().last = i;
  }
  return ranges;
}

std::string winners_text(const std::vector<Point>& points) {
  std::vector<std::string> labels = labels_of(points);
  std::vector<SizeWinner> winners = winners_of(points, labels);
  const Contest contest{points, std::move(labels), std::move(winners)};
  const std::vector<std::string> compared = labels_with_time(contest);
  std::string text;
  if (compared.size() > 1 && contest.winners.size() == 1) {
    text += fmt::format("#\n# the fastest: {}, {}\n", contest.winner_name(0),
                        lead_text(contest, contest.winners[0]));
  } else if (compared.size() > 1) {
    const std::string matrix = matrix_text(contest);
    text += widest_line(matrix) <= report_width
                ? "#\n# time in us by algorithm and size; * = the fastest\n" + matrix
                : "#\n# the fastest of each size\n" + list_text(contest);
    text += winner_ranges_text(contest);
  }
  for (const std::string& label : compared)
    text += choices_text(contest, label) + predictions_text(contest, label);
  return text;
}

}  // namespace collsim
