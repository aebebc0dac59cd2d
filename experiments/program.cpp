#include "experiments/program.hpp"

#include <cstdio>
#include <exception>
#include <new>

#include "sim/core/check.hpp"

namespace collsim::program {

int guarded(const std::function<ExitCode()>& command) {
  const auto stopped = [](ExitCode code, const std::string& message) {
    std::fputs(message.c_str(), stderr);
    return static_cast<int>(code);
  };
  try {
    return static_cast<int>(command());
  } catch (const Stop& stop) {
    return stopped(stop.code, stop.message);
  } catch (const InternalError& error) {
    return stopped(ExitCode::internal, std::string("collsim: ") + error.what() + "\n");
  } catch (const std::bad_alloc&) {
    return stopped(ExitCode::limit, "collsim: out of memory\n");
  } catch (const std::exception& error) {
    return stopped(ExitCode::internal, std::string("collsim: unexpected: ") + error.what() +
                                           "; this is a bug in collsim, not in your input\n");
  }
}

std::vector<Override> overrides_of(const Options& options) {
  std::vector<Override> overrides;
  for (const std::string& setting : options.settings) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw Stop{ExitCode::usage, "collsim: --set " + setting + ": expected key.path=value, for instance " +
                                      "cluster.nodes=8\n"};
    }
    overrides.push_back({setting.substr(0, equals), setting.substr(equals + 1)});
  }
  if (options.seed) overrides.push_back({"seed", std::to_string(*options.seed)});
  return overrides;
}

void print(const Diagnostics& diagnostics, bool quiet) {
  if (diagnostics.empty() || (quiet && !diagnostics.has_errors())) return;
  std::fputs(diagnostics.text().c_str(), stderr);
}

Diagnostic command_line_error(std::string key, std::string message, std::string expected, std::string hint) {
  Diagnostic diagnostic;
  diagnostic.place.file = "<command line>";
  diagnostic.key = std::move(key);
  diagnostic.message = std::move(message);
  diagnostic.expected = std::move(expected);
  diagnostic.hint = std::move(hint);
  return diagnostic;
}

void stop_with(Diagnostic diagnostic) {
  Diagnostics diagnostics;
  diagnostics.add(std::move(diagnostic));
  throw Stop{ExitCode::bad_input, diagnostics.text()};
}

}  // namespace collsim::program
