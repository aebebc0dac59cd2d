#include "experiments/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <variant>

#include "experiments/program.hpp"

namespace collsim::program {

namespace {

[[noreturn]] void cannot_write(const std::string& path, int error) {
  throw Stop{ExitCode::usage, "collsim: cannot write '" + path + "': " + std::strerror(error) + "\n"};
}

void write_all(int descriptor, const std::string& text, const std::string& name) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::write(descriptor, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) cannot_write(name, errno);
    done += static_cast<std::size_t>(count);
  }
}

bool is_device(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

// Where a chain of symbolic links ends, whether there is a file or not.
std::string end_of_links(std::string path) {
  namespace fs = std::filesystem;
  constexpr int links_max = 40;  // as Linux allows
  for (int i = 0; i < links_max; ++i) {
    std::error_code error;
    const fs::path next = fs::read_symlink(path, error);
    if (error) return path;
    path = next.is_absolute() ? next.string() : (fs::path(path).parent_path() / next).string();
  }
  return path;
}

// A file without a name in the folder of `path`, so that nothing is left when the program is killed; -1 where
// the file system has none.
int open_nameless(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return ::open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
}

// Gives it a name beside `path`; empty where that fails, with errno.
std::string name_file(int descriptor, const std::string& path) {
  const std::string file = "/proc/self/fd/" + std::to_string(descriptor);
  constexpr int attempts_max = 1000;
  for (int i = 0; i < attempts_max; ++i) {
    const std::string name = path + "." + std::to_string(::getpid()) + "." + std::to_string(i);
    if (::linkat(AT_FDCWD, file.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) return name;
    if (errno != EEXIST) break;
  }
  return "";
}

}  // namespace

std::string read_input(const std::string& path, std::int64_t bytes_max) {
  auto content = collsim::read_file(path, bytes_max);
  if (auto* text = std::get_if<std::string>(&content)) return std::move(*text);
  Diagnostics diagnostics;
  diagnostics.add(std::get<Diagnostic>(content));
  throw Stop{ExitCode::no_input, diagnostics.text()};
}

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  if (path_.empty() || is_stdout()) return;
  path_ = end_of_links(path_);
  struct stat status {};
  const bool exists = ::stat(path_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) cannot_write(path_, EISDIR);
  if (is_device(path_)) {  // a pipe or /dev/null is written to, never replaced
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) cannot_write(path_, errno);
    return;
  }
  is_replaced_ = true;
  descriptor_ = open_nameless(path_);
  if (descriptor_ < 0) {
    std::string name = path_ + ".XXXXXX";
    descriptor_ = ::mkstemp(name.data());
    if (descriptor_ < 0) cannot_write(path_, errno);
    temporary_ = name;
  }
  // So far it has 0600; a result is as readable as a file made the ordinary way, or as the one it replaces.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(descriptor_, exists ? status.st_mode & 07777 : 0666 & ~mask);
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::write(const std::string& text) {
  if (is_stdout()) return write_stdout(text);
  write_all(descriptor_, text, path_);
  if (is_replaced_ && temporary_.empty()) {
    temporary_ = name_file(descriptor_, path_);
    if (temporary_.empty()) cannot_write(path_, errno);
  }
  if (::close(std::exchange(descriptor_, -1)) != 0) cannot_write(path_, errno);
  if (!is_replaced_) return;
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) cannot_write(path_, errno);
  temporary_.clear();
}

std::string_view line_of(std::string_view text, std::int32_t number) {
  for (; number > 1; --number) {
    const std::size_t end = text.find('\n');
    if (end == text.npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

void write_stdout(const std::string& text) { write_all(STDOUT_FILENO, text, "standard output"); }

}  // namespace collsim::program
