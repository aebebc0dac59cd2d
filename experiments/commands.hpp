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
ExitCode list(const ListCommand& command);

std::vector<std::string> export_kinds();
std::vector<std::string> list_kinds();

}  // namespace collsim::program
