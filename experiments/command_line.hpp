// The words of the command line, turned into one command.
#pragma once

#include <variant>

#include "experiments/commands.hpp"
#include "experiments/program.hpp"

namespace collsim::program {

using Command = std::variant<RunCommand, PredictCommand, DescribeCommand, VerifyCommand, ExportCommand,
                             ExecuteCommand, CalibrateCommand, ListCommand>;

struct CommandLine {
  Command command;
  Options options;
};

// Throws Stop: exit 2 with what is wrong, or exit 0 where only help or the version was asked for.
CommandLine parse_command_line(int argc, const char* const* argv);

}  // namespace collsim::program
