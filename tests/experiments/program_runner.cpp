#include "tests/experiments/program_runner.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "experiments/schedules.hpp"

namespace collsim {

namespace {

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// What the program says goes to files beside the folder, so that the folder holds only what it wrote itself.
int spawn_in(const std::string& folder, const std::string& out, const std::string& err,
             const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {COLLSIM_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  pid_t child = 0;
  const int error = posix_spawn(&child, COLLSIM_PROGRAM, &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error("cannot start " COLLSIM_PROGRAM);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

WorkFolder::WorkFolder() {
  std::string name = COLLSIM_TEST_DIR "/work.XXXXXX";
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
  path_ = name;
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  for (const char* ending : {"", ".out", ".err"}) std::filesystem::remove_all(path_ + ending, ignored);
}

void WorkFolder::write(const std::string& name, const std::string& text) const {
  std::ofstream(path_ + "/" + name, std::ios::binary) << text;
}

std::string WorkFolder::read(const std::string& name) const { return content_of(path_ + "/" + name); }

bool WorkFolder::has(const std::string& name) const { return std::filesystem::exists(path_ + "/" + name); }

std::string algorithm_names(bool with_aliases) {
  std::string names;
  const auto add = [&names](std::string_view name) {
    names += (names.empty() ? "" : ", ") + std::string(name);
  };
  for (const algorithms::AlgorithmInfo& info : program::known_algorithms()) {
    add(info.name);
    if (with_aliases && !info.alias.empty()) add(info.alias);
  }
  return names;
}

std::vector<std::string> WorkFolder::names() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Run WorkFolder::run(const std::vector<std::string>& arguments) const {
  return run_into(path_ + ".out", arguments);
}

Run WorkFolder::run_into(const std::string& output, const std::vector<std::string>& arguments) const {
  Run run;
  run.exit_code = spawn_in(path_, output, path_ + ".err", arguments);
  if (output == path_ + ".out") run.out = content_of(output);
  run.err = content_of(path_ + ".err");
  return run;
}

Run run_text(const std::string& yaml, const std::vector<std::string>& options) {
  const WorkFolder folder;
  folder.write("x.yaml", yaml);
  std::vector<std::string> arguments = {"run", "x.yaml"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  return folder.run(arguments);
}

std::string report_of(const std::string& yaml, int exit_code) {
  const Run run = run_text(yaml, {"--json", "-"});
  CAPTURE(run.err);
  CHECK(run.exit_code == exit_code);
  return run.out;
}

}  // namespace collsim
