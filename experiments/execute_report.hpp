// What `execute` found, as text, JSON and CSV.
//
// Text        Rows as nccl-tests prints them, so that scripts written for it can read them: the first 13
// words
//             of a row are its columns; what follows is ours. What was not measured is N/A. Everything else
//             begins with '#'.
// JSON, CSV   Without timed runs the same input gives the same bytes; times are measured, so differ.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/executed_point.hpp"
#include "experiments/program.hpp"

namespace collsim::program {

struct ExecuteReport {
  std::string device;       // "cpu", "cuda"
  std::string description;  // of the backend
  int workers = 0;          // threads of the CPU
  std::uint64_t seed = 1;
  std::int64_t runs = 20;
  std::int64_t warmups = 5;
  bool compared = false;
  std::vector<ExecutedPoint> points;  // at least one; of one collective
};

std::string table_text(const ExecuteReport& report);
std::string json_text(const ExecuteReport& report);
std::string csv_text(const ExecuteReport& report);

// failed before all; then what is wrong; then a limit, and what is impossible.
ExitCode outcome_of(const ExecuteReport& report);

}  // namespace collsim::program
