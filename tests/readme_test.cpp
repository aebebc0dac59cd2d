// README.md and algorithms/README.md are true: each command that it shows runs, and each output that it shows
// is what the program prints.
//
// Form    A ```sh block holds commands. In a ```console block each command stands after "$ ", followed by all
//         that it writes to stdout. `build/release/collsim` stands for the program of this build.
// Update  COLLSIM_UPDATE_GOLDEN=1 writes the real outputs into README.md instead of comparing them, and
//         what the registry says into the table of algorithms.
#include <doctest/doctest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/schedules.hpp"
#include "experiments/selection.hpp"

namespace {

const std::string program_shown = "build/release/collsim";
const std::string setup_shown = "./quickstart.sh";

const bool update = std::getenv("COLLSIM_UPDATE_GOLDEN") != nullptr;
const std::string readme_path = COLLSIM_SOURCE_DIR "/README.md";
const std::string algorithms_path = COLLSIM_SOURCE_DIR "/algorithms/README.md";

struct Shown {
  std::string command;
  std::optional<std::string> output;  // nothing: the block shows none
  std::size_t output_line = 0;        // index of its first line in the file
};

bool starts_with(const std::string& text, const std::string& start) { return text.rfind(start, 0) == 0; }

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream stream(path);
  REQUIRE(stream.good());
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

void write_lines(const std::string& path, const std::vector<std::string>& lines) {
  std::ofstream stream(path);
  for (const std::string& line : lines) stream << line << "\n";
}

// "| a | b | |" -> "a", "b", "".
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  if (!starts_with(line, "| ") || line.back() != '|') return cells;
  std::istringstream stream(line.substr(1));
  for (std::string cell; std::getline(stream, cell, '|');) {
    cell.erase(0, std::min(cell.find_first_not_of(' '), cell.size()));
    cell.erase(cell.find_last_not_of(' ') + 1);
    cells.push_back(cell);
  }
  return cells;
}

std::string row_of(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const std::string& cell : cells) row += (cell.empty() ? "" : " ") + cell + " |";
  return row;
}

std::string joined(const std::vector<std::string_view>& words) {
  std::string text;
  for (const std::string_view word : words) text += (text.empty() ? "" : ", ") + std::string(word);
  return text;
}

// As the legend of the table says.
std::string abbreviated(const std::vector<collsim::CollectiveKind>& kinds) {
  static const std::vector<std::string> names = {"AR", "RS", "AG", "BC", "RE", "SC", "GA", "AA", "SR", "BA"};
  const auto& all = collsim::collective_kinds();
  REQUIRE(names.size() == all.size());
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (std::find(kinds.begin(), kinds.end(), all[i]) != kinds.end())
      text += (text.empty() ? "" : " ") + names[i];
  return text;
}

std::vector<Shown> commands_of_readme() {
  std::vector<Shown> commands;
  std::string block;  // the kind of the fenced block that we are in, or empty
  bool fenced = false;
  std::size_t number = 0;
  for (const std::string& line : lines_of(readme_path)) {
    ++number;
    if (starts_with(line, "```")) {
      fenced = !fenced;
      block = fenced ? line.substr(3) : "";
    } else if (block == "sh" && !line.empty()) {
      commands.push_back({line.substr(0, line.find("  #")), std::nullopt, 0});
    } else if (block == "console" && starts_with(line, "$ ")) {
      commands.push_back({line.substr(2), "", number});
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
  const std::string line = "cd '" COLLSIM_SOURCE_DIR "' && (" + command + ") 2>/dev/null </dev/null";
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

// The command that does here what the shown one does for README's reader; empty for those that do more than
// print. quickstart.sh sets up and then runs the first experiment, which is all that it writes to stdout.
std::string command_of_this_build(const std::string& shown) {
  if (shown == setup_shown) return "'" COLLSIM_PROGRAM "' run experiments/quickstart.yaml";
  if (!starts_with(shown, program_shown + " ")) return "";
  return "'" COLLSIM_PROGRAM "'" + shown.substr(program_shown.size());
}

void replace_output(std::vector<std::string>& lines, const Shown& shown, const std::string& output) {
  const auto old_lines = std::count(shown.output->begin(), shown.output->end(), '\n');
  const auto first = lines.begin() + static_cast<std::ptrdiff_t>(shown.output_line);
  const auto at = lines.erase(first, first + old_lines);
  std::vector<std::string> fresh;
  std::istringstream stream(output);
  for (std::string line; std::getline(stream, line);) fresh.push_back(line);
  lines.insert(at, fresh.begin(), fresh.end());
}

void write_script(const std::filesystem::path& path, const std::string& body) {
  std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

}  // namespace

TEST_CASE("README opens with the two commands") {
  const auto commands = commands_of_readme();
  REQUIRE(commands.size() > 2);
  CHECK(commands[0].command == setup_shown);
  CHECK(commands[1].command == setup_shown + " test");
  CHECK(commands[2].command == setup_shown);
  CHECK(commands[2].output.has_value());
}

TEST_CASE("README names every option of an algorithm") {
  std::set<std::string> shown;
  for (const std::string& line : lines_of(readme_path))
    if (starts_with(line, "| `")) shown.insert(line.substr(3, line.find('`', 3) - 3));
  for (const collsim::algorithms::AlgorithmInfo& info : collsim::program::known_algorithms()) {
    CAPTURE(info.name);
    for (const std::string_view option : info.options)
      CHECK_MESSAGE(shown.count(std::string(option)) == 1, option);
    if (!info.forms.empty()) CHECK(shown.count("form") == 1);
  }
}

TEST_CASE("The table of algorithms is the registry: names, collectives and forms") {
  std::vector<std::string> lines = lines_of(algorithms_path);
  std::vector<std::string> names;
  for (std::string& line : lines) {
    std::vector<std::string> cells = cells_of(line);
    if (cells.size() != 5) continue;
    const auto* info = collsim::program::find_algorithm(cells[0]);
    if (info == nullptr) continue;  // the heading
    names.push_back(cells[0]);
    CAPTURE(info->name);
    if (!update) CHECK(cells[1] == abbreviated(info->collectives));
    if (!update) CHECK(cells[4] == joined(info->forms));
    cells[1] = abbreviated(info->collectives);
    cells[4] = joined(info->forms);
    if (update) line = row_of(cells);
  }
  std::vector<std::string> wanted;
  for (const auto& info : collsim::program::known_algorithms())
    if (!collsim::program::is_selection(info.name)) wanted.emplace_back(info.name);
  std::sort(names.begin(), names.end());
  std::sort(wanted.begin(), wanted.end());
  CHECK(names == wanted);
  if (update) write_lines(algorithms_path, lines);
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

TEST_CASE("Set-up installs the packages that are missing and calls nothing when none is") {
  const std::filesystem::path folder = COLLSIM_SCRATCH_DIR;
  std::filesystem::create_directories(folder);
  const std::string calls = (folder / "calls").string();
  write_script(folder / "apt-get", "echo \"$DEBIAN_FRONTEND $*\" >> '" + calls + "'");
  write_script(folder / "sudo", "exec \"$@\"");
  write_script(folder / "dpkg-query", "for last; do :; done; [ $last = g++ ] && printf installed");
  const auto calls_of = [&](const std::string& packages) {
    std::ofstream stream(calls, std::ios::trunc);
    stream.close();
    CHECK(run("PATH='" + folder.string() + "':\"$PATH\" .ci/install-missing " + packages).exit_code == 0);
    std::ifstream seen(calls);
    return std::string(std::istreambuf_iterator<char>(seen), {});
  };
  CHECK(calls_of("g++") == "");
  CHECK(calls_of("cmake g++ ccache").find(" update") != std::string::npos);
  CHECK(calls_of("cmake g++ ccache")
            .find("noninteractive install -q --yes --no-install-recommends cmake ccache\n") !=
        std::string::npos);
}

TEST_CASE("README's commands run and print what it shows") {
  int seen = 0;
  std::vector<std::string> lines = lines_of(readme_path);
  auto commands = commands_of_readme();
  // From the last to the first, so that an update leaves the line numbers of those before it right.
  for (auto shown = commands.rbegin(); shown != commands.rend(); ++shown) {
    const std::string command = command_of_this_build(shown->command);
    if (command.empty()) continue;
    CAPTURE(shown->command);
    ++seen;
    const Outcome outcome = run(command);
    CHECK(outcome.exit_code == 0);
    CHECK(!outcome.output.empty());
    if (!shown->output) continue;
    if (update) replace_output(lines, *shown, outcome.output);
    if (!update) CHECK(*shown->output == outcome.output);
  }
  CHECK(seen >= 5);
  if (!update) return;
  write_lines(readme_path, lines);
}
