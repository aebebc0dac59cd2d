// The commands of the program: what each was asked for, and the function that does it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/inputs.hpp"
#include "experiments/program.hpp"

namespace collsim::program {

struct RunCommand {
  std::vector<std::string> files;
};

struct PredictCommand {
  ClusterWords words;
};

struct DescribeCommand {
  std::string file;
  std::string dot;  // path, "-" = stdout, empty = none
};

struct VerifyCommand {
  ClusterWords words;  // words.cluster empty: an ideal cluster for each of `ranks`
  std::string algorithm;
  std::string ranks;  // "8" or "1-33,64"
};

struct ExportCommand {
  std::string kind;    // one of export_kinds()
  std::string input;   // an experiment file, or the name of an algorithm with `words.cluster` or `ranks`
  std::string output;  // path, "-" = stdout
  ClusterWords words;  // without algorithms; empty = not given
  std::string ranks;   // "8": on an ideal cluster
};

struct ExecuteCommand {
  std::string file;
  std::string device;      // "cpu" or "cuda"
  std::string inputs;      // "exact", "random", or "both"
  std::int64_t runs = 20;  // that are timed, of each point; 0 = values only
  std::int64_t warmup = 5;
  int workers = 0;       // cpu: threads; 0 = as many as this process may use
  bool compare = false;  // with the simulation of the same
  bool fused = false;    // receive, reduce, copy and send in one pass
};

struct CalibrateCommand {
  std::string device;      // "cpu" or "cuda"
  std::int64_t ranks = 0;  // 0 = cpu: 2; cuda: one a GPU, but 2 on a single one
  std::string output;      // path of the preset, "-" = stdout
  int workers = 0;         // as of ExecuteCommand
};

struct ListCommand {
  std::string kind;  // one of list_kinds()
  std::string name;  // of an algorithm that is shown in full; empty = all
};

ExitCode run(const RunCommand& command, const Options& options);
ExitCode predict(const PredictCommand& command, const Options& options);
ExitCode describe(const DescribeCommand& command, const Options& options);
ExitCode verify(const VerifyCommand& command, const Options& options);
ExitCode export_msccl(const ExportCommand& command, const Options& options);
ExitCode export_nccl_tuner(const ExportCommand& command, const Options& options);
ExitCode execute(const ExecuteCommand& command, const Options& options);
ExitCode calibrate(const CalibrateCommand& command, const Options& options);
ExitCode list(const ListCommand& command);

std::vector<std::string> export_kinds();
std::vector<std::string> list_kinds();

}  // namespace collsim::program
