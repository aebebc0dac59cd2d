// What every part of the program shares: exit codes, how a command stops, and the options of all commands.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/reader.hpp"

namespace collsim::program {

// sysexits.h where it has a number.
enum class ExitCode : std::uint8_t {
  done = 0,
  negative = 1,    // a deadlock, a failed proof, or a point that the user named is not possible
  usage = 2,       // a wrong option, or an output that cannot be written
  bad_input = 65,  // a diagnostic says where and why
  no_input = 66,   // an input file cannot be read
  no_device = 69,  // a device is missing, or a call to it failed
  internal = 70,   // a bug of ours
  limit = 75,      // a limit was reached and results are partial
};

// Thrown to end a command early; caught in guarded() alone.
struct Stop {
  ExitCode code;
  std::string message;  // whole lines for stderr
};

// Runs `command`. What it throws becomes a message and an exit code.
int guarded(const std::function<ExitCode()>& command);

// Options that commands share. Which of them a command offers is decided in command_line.cpp.
struct Options {
  std::string json;                   // path, "-" = stdout, empty = none
  std::string csv;                    // the same
  std::vector<std::string> settings;  // "key.path=value"
  std::optional<std::uint64_t> seed;
  std::int64_t events_max = std::numeric_limits<std::int64_t>::max();
  int threads = 0;  // 0 = as many as the machine has
  bool quiet = false;
  bool explain = false;
  bool links = false;
  bool timing = false;
  bool plain = false;
  bool allow_long = false;
};

// --set and --seed as overrides of an experiment. Throws Stop where a setting is not "key=value".
std::vector<Override> overrides_of(const Options& options);

// Prints diagnostics on stderr: errors always, warnings unless quiet.
void print(const Diagnostics& diagnostics, bool quiet);

// A diagnostic about something on the command line.
Diagnostic command_line_error(std::string key, std::string message, std::string expected, std::string hint);
[[noreturn]] void stop_with(Diagnostic diagnostic);

}  // namespace collsim::program
