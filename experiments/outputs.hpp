// Where the points of a run go: a table on stdout, or JSON or CSV there or in files; progress and timing on
// stderr.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "experiments/files.hpp"
#include "experiments/program.hpp"
#include "sim/report/point.hpp"

namespace collsim::program {

// Throws Stop where both ask for stdout.
void only_one_to_each(const OutputFile& json, const OutputFile& csv);

class Outputs {
 public:
  // Opens the files that are asked for. Throws Stop where one cannot be written, or where both ask for
  // stdout.
  explicit Outputs(const Options& options);
  // REQUIRES: at least one point; called once
  void write(const std::vector<Point>& points);

 private:
  void warn(const std::vector<Point>& points) const;

  const Options& options_;
  OutputFile json_;
  OutputFile csv_;
};

// Counts points on a terminal, once a run has taken a second. Anywhere else it prints only what it is told to
// say.
class Progress {
 public:
  Progress(std::size_t total, bool quiet);
  ~Progress();  // clears its line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void point_done();                  // from any thread
  void say(const std::string& line);  // from any thread; anywhere, not on a terminal alone

 private:
  std::size_t total_;
  bool shown_;
  std::chrono::steady_clock::time_point start_;
  std::atomic<std::size_t> done_ = 0;
  std::atomic<bool> printed_ = false;
};

// "7 points, 123456 messages, 345678 events in 0.520 s: 237415 messages/s, 664765 events/s; 2 points folded,
// 5 swept" for stderr. Messages are those represented, events those simulated.
std::string timing_text(const std::vector<Point>& points, std::chrono::duration<double> wall);

}  // namespace collsim::program
