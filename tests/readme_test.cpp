// README.md is true: each command that it shows runs, and each output that it shows is what the program
// prints.
//
// Form  A ```sh block holds commands. A ```console block holds commands after "$ ", each followed by all that
// it
//       writes to stdout. `build/release/collsim` stands for the program of this build, whatever its folder.
#include <doctest/doctest.h>
#include <sys/wait.h>

#include <cstddef>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace {

const std::string program_shown = "build/release/collsim";
const std::string setup_shown = "./quickstart.sh";

struct Shown {
  std::string command;
  std::optional<std::string> output;  // nothing: the block shows none
};

bool starts_with(const std::string& text, const std::string& start) { return text.rfind(start, 0) == 0; }

std::vector<Shown> commands_of_readme() {
  std::ifstream stream(std::string(COLLSIM_SOURCE_DIR) + "/README.md");
  REQUIRE(stream.good());
  std::vector<Shown> commands;
  std::string block;  // the kind of the fenced block that we are in, or empty
  bool fenced = false;
  for (std::string line; std::getline(stream, line);) {
    if (starts_with(line, "```")) {
      fenced = !fenced;
      block = fenced ? line.substr(3) : "";
    } else if (block == "sh" && !line.empty()) {
      commands.push_back({line.substr(0, line.find("  #")), std::nullopt});
    } else if (block == "console" && starts_with(line, "$ ")) {
      commands.push_back({line.substr(2), ""});
    } else if (block == "console") {
      REQUIRE_MESSAGE(!commands.empty(), line);
      *commands.back().output += line + "\n";
    }
  }
  return commands;
}

struct Outcome {
  int exit_code = -1;
  std::string output;
};

// Runs in the source folder, as README's reader does.
Outcome run(const std::string& command) {
  const std::string line = "cd '" COLLSIM_SOURCE_DIR "' && " + command + " 2>/dev/null </dev/null";
  Outcome outcome;
  FILE* pipe = popen(line.c_str(), "r");
  REQUIRE(pipe != nullptr);
  char buffer[4096];
  for (std::size_t got = fread(buffer, 1, sizeof buffer, pipe); got > 0;
       got = fread(buffer, 1, sizeof buffer, pipe))
    outcome.output.append(buffer, got);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  return outcome;
}

std::string with_this_program(const std::string& command) {
  return "'" COLLSIM_PROGRAM "'" + command.substr(program_shown.size());
}

}  // namespace

TEST_CASE("README opens with the two commands") {
  const auto commands = commands_of_readme();
  REQUIRE(commands.size() > 2);
  CHECK(commands[0].command == setup_shown);
  CHECK(commands[1].command == setup_shown + " test");
}

TEST_CASE("README shows the output of the first command as it is") {
  const Outcome outcome = run("'" COLLSIM_PROGRAM "' run experiments/quickstart.yaml");
  CHECK(outcome.exit_code == 0);
  int seen = 0;
  for (const Shown& shown : commands_of_readme()) {
    if (shown.command != setup_shown || !shown.output) continue;
    ++seen;
    CHECK(*shown.output == outcome.output);
  }
  CHECK(seen == 1);
}

TEST_CASE("README's forms of quickstart.sh are those of its usage text") {
  const Outcome usage = run(setup_shown + " --help");
  REQUIRE(usage.exit_code == 0);
  for (const Shown& shown : commands_of_readme())
    if (starts_with(shown.command, setup_shown))
      CHECK_MESSAGE(usage.output.find(shown.command + "  ") != std::string::npos, shown.command);
}

TEST_CASE("quickstart.sh refuses what it does not know") {
  CHECK(run(setup_shown + " tests").exit_code == 2);
  CHECK(run(setup_shown + " test again").exit_code == 2);
  CHECK(run(setup_shown + " ''").exit_code == 2);
}

TEST_CASE("README's commands run, and print what it shows") {
  int seen = 0;
  for (const Shown& shown : commands_of_readme()) {
    if (!starts_with(shown.command, program_shown + " ")) continue;
    CAPTURE(shown.command);
    ++seen;
    const Outcome outcome = run(with_this_program(shown.command));
    CHECK(outcome.exit_code == 0);
    CHECK(!outcome.output.empty());
    if (shown.output) CHECK(*shown.output == outcome.output);
  }
  CHECK(seen >= 5);
}
