#include "experiments/execute_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "experiments/execution.hpp"
#include "sim/report/figures.hpp"
#include "sim/report/json.hpp"
#include "sim/report/point.hpp"
#include "sim/report/ratio.hpp"

namespace collsim::program {

namespace {

constexpr std::size_t time_width = 7;       // of nccl-tests
constexpr std::size_t bandwidth_width = 6;  // the same
constexpr std::size_t shown_max = 5;        // findings of a point, each kind

// ---------------------------------------------------------------- figures

// The point as `run` would report it, for bandwidths and labels.
Point as_simulated(const ExecutedPoint& point) {
  Point simulated;
  simulated.collective = point.collective;
  simulated.algorithm = point.algorithm;
  simulated.options = point.options;
  simulated.ranks = point.ranks;
  if (point.times) simulated.time = point.times->median;
  return simulated;
}

std::vector<std::string> labels_of(const std::vector<ExecutedPoint>& points) {
  std::vector<Point> simulated;
  simulated.reserve(points.size());
  for (const ExecutedPoint& point : points) simulated.push_back(as_simulated(point));
  return collsim::labels_of(simulated);
}

// Of one rank where the collective has parts, as nccl-tests counts them.
std::int64_t count_of(const ExecutedPoint& point) {
  const std::int64_t elements = point.collective.elements();
  return in_parts(point.collective.kind) ? elements / point.ranks : elements;
}

const char* nccl_name_of(Datatype datatype) {
  switch (datatype) {
    case Datatype::float16:
      return "half";
    case Datatype::float32:
      return "float";
    case Datatype::float64:
      return "double";
    case Datatype::float8_e4m3:
      return "f8e4m3";
    case Datatype::float8_e5m2:
      return "f8e5m2";
    default:
      return collsim::name_of(datatype).data();
  }
}

// Two decimals, or one, or none, or an exponent: the first that fits.
std::string figure(const std::optional<Ratio>& ratio, std::size_t width) {
  if (!ratio) return "N/A";
  std::string text = fitted_text(*ratio, width);
  return text.size() <= width ? text : fmt::format("{:.1e}", ratio->value());
}

std::optional<Ratio> microseconds(const std::optional<Duration>& time) {
  if (!time) return std::nullopt;
  return Ratio{time->picoseconds(), 1'000'000};
}

std::optional<Excess> error_of(const ExecutedPoint& point) {
  if (!point.predicted || !point.times) return std::nullopt;
  return excess(*point.predicted, point.times->median);
}

// ---------------------------------------------------------------- table

// One line of the table, in the widths of nccl-tests.
struct Row {
  std::array<std::string, 5> question;
  std::array<std::string, 4> out_of_place = {"N/A", "N/A", "N/A", "N/A"};
  std::array<std::string, 4> in_place = {"N/A", "N/A", "N/A", "N/A"};
  std::array<std::string, 2> comparison;
  std::string algorithm;
};

std::string text_of(const Row& row, bool compared) {
  const auto& [size, count, type, redop, root] = row.question;
  std::string text = fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}", size, count, type, redop, root);
  for (const auto* half : {&row.out_of_place, &row.in_place})
    text += fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", (*half)[0], (*half)[1], (*half)[2], (*half)[3]);
  if (compared) text += fmt::format("  {:>9}  {:>8}", row.comparison[0], row.comparison[1]);
  text += "  " + row.algorithm;
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

std::string headings(bool compared) {
  Row names{{"size", "count", "type", "redop", "root"},
            {"time", "algbw", "busbw", "#wrong"},
            {"time", "algbw", "busbw", "#wrong"},
            {"predicted", "error"},
            "algorithm"};
  Row units{{"(B)", "(elements)", "", "", ""},
            {"(us)", "(GB/s)", "(GB/s)", ""},
            {"(us)", "(GB/s)", "(GB/s)", ""},
            {"(us)", ""},
            ""};
  std::string text = "#\n" + fmt::format("{:<63}{:<33}{}\n", "#", "out-of-place", "in-place");
  for (const Row* row : {&names, &units}) text += "#" + text_of(*row, compared).substr(1);
  return text;
}

std::array<std::string, 4> half_of(const ExecutedPoint& point) {
  const Point simulated = as_simulated(point);
  const bool has_values = point.ran() && point.checked > 0;
  return {figure(microseconds(simulated.time), time_width),
          figure(algorithm_bandwidth_gb(simulated), bandwidth_width),
          figure(bus_bandwidth_gb(simulated), bandwidth_width),
          has_values ? std::to_string(point.wrong) : "N/A"};
}

std::string row_of(const ExecutedPoint& point, const std::string& label, bool compared) {
  const Collective& collective = point.collective;
  Row row;
  row.question = {std::to_string(collective.bytes.count()), std::to_string(count_of(point)),
                  nccl_name_of(collective.datatype),
                  reduces(collective.kind) ? std::string(collsim::name_of(collective.reduction)) : "none",
                  std::to_string(has_root(collective.kind) ? collective.root : -1)};
  (point.in_place ? row.in_place : row.out_of_place) = half_of(point);
  const std::optional<Excess> error = error_of(point);
  row.comparison = {figure(microseconds(point.predicted), time_width),
                    error ? (error->is_less ? "-" : "+") + percent_text(error->ratio) + "%" : "N/A"};
  row.algorithm = label;
  return text_of(row, compared);
}

std::string plural(std::int64_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// Each set of buffers is warmed up.
bool has_more_warmups(const ExecuteReport& report) {
  return std::any_of(report.points.begin(), report.points.end(), [&report](const ExecutedPoint& point) {
    return point.times && point.times->warmups > report.warmups;
  });
}

std::string head_of(const ExecuteReport& report) {
  const ExecutedPoint& first = report.points.front();
  std::string text = fmt::format("# {} on {} ({}): {}, seed {}\n", collsim::name_of(first.collective.kind),
                                 report.device, report.description, plural(first.ranks, "rank"), report.seed);
  if (report.runs > 0)
    text += fmt::format("# time: the median of {} after {}{} (nccl-tests prints the mean)\n",
                        plural(report.runs, "run"), has_more_warmups(report) ? "at least " : "",
                        plural(report.warmups, "warm-up"));
  text +=
      "# algbw, busbw: as nccl-tests defines them, GB = 10^9 bytes\n"
      "# #wrong: elements that are not as expected, of all ranks, in the worst of all checked runs\n";
  if (report.compared)
    text += "# predicted: by simulation on the cluster of the file; error: (predicted - time) / time\n";
  return text + headings(report.compared);
}

std::string listed(const std::vector<std::string>& lines, const char* kind) {
  std::string text;
  for (std::size_t i = 0; i < std::min(lines.size(), shown_max); ++i)
    text += fmt::format("#   {}: {}\n", kind, lines[i]);
  if (lines.size() > shown_max) text += fmt::format("#   {}: and {} more\n", kind, lines.size() - shown_max);
  return text;
}

std::string text_of(const kernels::WrongElement& wrong) {
  return fmt::format("rank {}, region {}, block {}, element {}: expected {}, found {}", wrong.rank,
                     wrong.region, wrong.block, wrong.element, wrong.expected, wrong.found);
}

std::vector<std::string> wrong_values(const ExecutedPoint& point) {
  std::vector<std::string> lines;
  if (!point.first_wrong) return lines;
  for (const kernels::WrongElement& each : point.first_wrong->first) lines.push_back(text_of(each));
  if (point.first_wrong->input_changed > 0)
    lines.push_back(plural(point.first_wrong->input_changed, "element") + " of inputs changed");
  for (const BreachedArea& each : point.breaches) lines.push_back(text_of(each));
  return lines;
}

std::vector<std::string> executed_runs(const ExecutedPoint& point) {
  std::vector<std::string> lines;
  for (const CheckedRun& run : point.checks)
    lines.push_back(fmt::format("{} inputs, {}: {} wrong", name_of(run.inputs), run.order, run.wrong));
  return lines;
}

std::vector<std::string> proof_findings(const ExecutedPoint& point) {
  std::vector<std::string> lines;
  for (const ProofFailure& each : point.proof_failures) lines.push_back(each.text);
  return lines;
}

std::vector<std::string> execution_findings(const ExecutedPoint& point) {
  std::vector<std::string> lines;
  for (const kernels::CellFinding& each : point.diagnosis.findings) lines.push_back(each.failure.text);
  return lines;
}

// What else there is to say of a point that is not ok.
std::string details_of(const ExecutedPoint& point, const std::string& label) {
  if (point.status == ExecutionStatus::ok) return "";
  std::string text = fmt::format("# {}, {} B: {}: {}", label, point.collective.bytes.count(),
                                 name_of(point.status), point.reason);
  if (!point.detail.empty()) text += "; " + point.detail;
  text += "\n";
  const std::string agreement = agreement_of(point);
  if (!agreement.empty()) text += "#   " + agreement + "\n";
  if (point.proof != ProofVerdict::proven) text += listed(proof_findings(point), "proof");
  text += listed(execution_findings(point), "execution");
  if (point.diagnosis.only_in_some_orders)
    text += "#   execution: right in some orders, wrong in others: a race\n";
  if (point.status == ExecutionStatus::wrong) text += listed(executed_runs(point), "run");
  return text + listed(wrong_values(point), "value");
}

std::string notes_of(const ExecuteReport& report, const std::vector<std::string>& labels) {
  std::set<std::string> said;
  std::string text;
  for (std::size_t i = 0; i < report.points.size(); ++i)
    for (const std::string& note : report.points[i].notes) {
      const std::string line = fmt::format("# {}: {}\n", labels[i], note);
      if (said.insert(line).second) text += line;
    }
  return text;
}

std::string numerics_of(const ExecuteReport& report, const std::vector<std::string>& labels) {
  std::string text;
  double largest = 0;
  std::set<std::string> unlike;
  for (std::size_t i = 0; i < report.points.size(); ++i) {
    largest = std::max(largest, report.points[i].error_of_bound.value_or(0));
    const bool right = report.points[i].status == ExecutionStatus::ok;
    if (right && report.points[i].unlike_ranks > 0) unlike.insert(labels[i]);
  }
  if (largest > 0)
    text += fmt::format("# random inputs: the largest error is {:.3g} of its bound\n", largest);
  for (const std::string& label : unlike)
    text += fmt::format("# {}: ranks hold results of unlike bits, each within the bound\n", label);
  return text;
}

std::int64_t count_of(const ExecuteReport& report, ExecutionStatus status) {
  return std::count_if(report.points.begin(), report.points.end(),
                       [status](const ExecutedPoint& point) { return point.status == status; });
}

std::string foot_of(const ExecuteReport& report) {
  const auto points = static_cast<std::int64_t>(report.points.size());
  const std::int64_t good = count_of(report, ExecutionStatus::ok);
  std::int64_t wrong = 0;
  double sum = 0;
  std::int64_t measured = 0;
  for (const ExecutedPoint& point : report.points) {
    wrong += point.wrong;
    const std::optional<Ratio> bandwidth = bus_bandwidth_gb(as_simulated(point));
    if (!bandwidth) continue;
    sum += bandwidth->value();
    ++measured;
  }
  const bool failed = wrong > 0 || count_of(report, ExecutionStatus::wrong) > 0;
  const char* verdict = failed ? "FAILED" : good == points ? "OK" : "INCOMPLETE";
  std::string text = fmt::format("# Out of bounds values : {} {}\n", wrong, verdict);
  text += measured > 0 ? fmt::format("# Avg bus bandwidth    : {:.6g}\n", sum / static_cast<double>(measured))
                       : "# Avg bus bandwidth    : N/A\n";
  if (good < points) return text + fmt::format("# {} of {} points ok\n", good, points);
  return text + fmt::format("# {} ok\n", plural(points, "point"));
}

// ---------------------------------------------------------------- JSON

using Json = nlohmann::ordered_json;

Json json_of(const std::optional<Ratio>& ratio) { return ratio ? Json(ratio->value()) : Json(nullptr); }

Json json_of(const std::optional<Times>& times) {
  if (!times) return nullptr;
  return {{"median", times->median.picoseconds()},
          {"min", times->minimum.picoseconds()},
          {"max", times->maximum.picoseconds()},
          {"runs", times->runs},
          {"warmups", times->warmups},
          {"buffer_sets", times->sets}};
}

Json checks_json(const ExecutedPoint& point) {
  Json checks = Json::array();
  for (const CheckedRun& run : point.checks)
    checks.push_back({{"inputs", name_of(run.inputs)}, {"order", run.order}, {"wrong", run.wrong}});
  return checks;
}

Json findings_json(const ExecutedPoint& point) {
  Json findings = Json::array();
  const auto add = [&findings](const char* by, Rank rank, const std::string& text) -> Json& {
    findings.push_back({{"by", by}, {"rank", rank}, {"text", text}});
    return findings.back();
  };
  for (const ProofFailure& each : point.proof_failures) {
    Json& finding = add("proof", each.rank, each.text);
    finding["stream"] = each.stream;
    finding["step"] = each.step;
  }
  for (const kernels::CellFinding& each : point.diagnosis.findings)
    add("execution", each.rank, each.failure.text)["cell"] = each.cell;
  for (const BreachedArea& each : point.breaches) add("values", each.rank, text_of(each));
  if (!point.first_wrong) return findings;
  for (const kernels::WrongElement& each : point.first_wrong->first) {
    Json& finding = add("values", each.rank, text_of(each));
    finding["region"] = each.region;
    finding["block"] = each.block;
    finding["element"] = each.element;
    finding["expected"] = each.expected;
    finding["found"] = each.found;
  }
  return findings;
}

Json signed_json(const std::optional<Excess>& error) {
  if (!error) return nullptr;
  return error->is_less ? -error->ratio.value() : error->ratio.value();
}

Json question_json(const ExecutedPoint& point) {
  const Collective& collective = point.collective;
  Json json = {{"collective", collsim::name_of(collective.kind)},
               {"algorithm", point.algorithm},
               {"options", point.options},
               {"chosen", point.chosen},
               {"ranks", point.ranks},
               {"nodes", point.nodes},
               {"bytes", collective.bytes.count()},
               {"count", count_of(point)},
               {"datatype", collsim::name_of(collective.datatype)},
               {"reduction", nullptr},
               {"root", nullptr},
               {"in_place", point.in_place}};
  if (reduces(collective.kind)) json["reduction"] = collsim::name_of(collective.reduction);
  if (has_root(collective.kind)) json["root"] = collective.root;
  return json;
}

Json json_of(const ExecutedPoint& point) {
  const Point simulated = as_simulated(point);
  Json json = question_json(point);
  json["status"] = name_of(point.status);
  json["reason"] = point.reason;
  json["proof"] = name_of(point.proof);
  json["proven"] = point.proof == ProofVerdict::proven;
  json["agreement"] = agreement_of(point);
  json["tasks"] = point.tasks;
  json["memory_bytes"] = point.memory_bytes;
  json["traffic_bytes"] = point.traffic_bytes;
  json["wrong"] = point.ran() ? Json(point.wrong) : Json(nullptr);
  json["checked"] = point.checked;
  json["checks"] = checks_json(point);
  json["error_of_bound"] = point.error_of_bound ? Json(*point.error_of_bound) : Json(nullptr);
  json["unlike_ranks"] = point.unlike_ranks;
  json["race"] = point.diagnosis.only_in_some_orders;
  json["time_ps"] = json_of(point.times);
  json["algbw_gb_per_s"] = json_of(algorithm_bandwidth_gb(simulated));
  json["busbw_gb_per_s"] = json_of(bus_bandwidth_gb(simulated));
  json["predicted_ps"] = point.predicted ? Json(point.predicted->picoseconds()) : Json(nullptr);
  json["error"] = signed_json(error_of(point));
  json["notes"] = point.notes;
  json["findings"] = findings_json(point);
  return json;
}

// ---------------------------------------------------------------- CSV

// Strings without quotes, null as an empty cell; the times of a point in columns of their own.
std::string csv_cell_of(const Json& value) {
  if (value.is_null()) return "";
  return csv_cell(value.is_string() ? value.get<std::string>() : value.dump());
}

constexpr const char* csv_columns[] = {
    "collective",   "algorithm", "options",        "chosen",       "ranks",          "nodes",
    "bytes",        "count",     "datatype",       "reduction",    "root",           "in_place",
    "status",       "reason",    "proof",          "tasks",        "memory_bytes",   "traffic_bytes",
    "wrong",        "checked",   "error_of_bound", "unlike_ranks", "algbw_gb_per_s", "busbw_gb_per_s",
    "predicted_ps", "error"};
constexpr const char* csv_times[] = {"median", "min", "max", "runs"};

}  // namespace

std::string table_text(const ExecuteReport& report) {
  const std::vector<std::string> labels = labels_of(report.points);
  std::string text = head_of(report);
  for (std::size_t i = 0; i < labels.size(); ++i)
    text += row_of(report.points[i], labels[i], report.compared);
  for (std::size_t i = 0; i < labels.size(); ++i) text += details_of(report.points[i], labels[i]);
  return text + notes_of(report, labels) + numerics_of(report, labels) + foot_of(report);
}

std::string json_text(const ExecuteReport& report) {
  Json json;
  json["collsim"] = COLLSIM_VERSION;
  json["device"] = report.device;
  json["description"] = report.description;
  json["workers"] = report.workers;
  json["seed"] = report.seed;
  json["points"] = Json::array();
  for (const ExecutedPoint& point : report.points) json["points"].push_back(json_of(point));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string csv_text(const ExecuteReport& report) {
  std::string text = "device";
  for (const char* name : csv_columns) text += std::string(",") + name;
  for (const char* name : csv_times) text += std::string(",time_") + name + (name[0] == 'r' ? "" : "_ps");
  text += "\n";
  for (const ExecutedPoint& point : report.points) {
    const Json json = json_of(point);
    text += csv_cell(report.device);
    for (const char* name : csv_columns) text += "," + csv_cell_of(json.at(name));
    const Json& times = json.at("time_ps");
    for (const char* name : csv_times) text += "," + (times.is_null() ? "" : csv_cell_of(times.at(name)));
    text += "\n";
  }
  return text;
}

ExitCode outcome_of(const ExecuteReport& report) {
  if (count_of(report, ExecutionStatus::failed) > 0) return ExitCode::no_device;
  for (const ExecutionStatus bad :
       {ExecutionStatus::wrong, ExecutionStatus::unproven, ExecutionStatus::deadlock})
    if (count_of(report, bad) > 0) return ExitCode::negative;
  if (count_of(report, ExecutionStatus::limit) > 0) return ExitCode::limit;
  return count_of(report, ExecutionStatus::impossible) > 0 ? ExitCode::negative : ExitCode::done;
}

}  // namespace collsim::program
