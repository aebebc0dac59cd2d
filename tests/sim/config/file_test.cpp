#include "sim/config/file.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <variant>

using namespace collsim;

namespace {

std::string said(const std::string& path) {
  const auto result = read_file(path);
  if (!std::holds_alternative<Diagnostic>(result)) return "";
  Diagnostics diagnostics;
  diagnostics.add(std::get<Diagnostic>(result));
  return diagnostics.text();
}

// A folder of its own, removed at the end.
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / "collsim_file_test") {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace

TEST_CASE("read_file gives the bytes of a file as they are") {
  const Folder folder;
  const std::string bytes("a\r\n\0b\xff", 6);
  std::ofstream(folder.file("x"), std::ios::binary) << bytes;
  std::ofstream(folder.file("empty"), std::ios::binary).flush();
  CHECK(std::get<std::string>(read_file(folder.file("x"))) == bytes);
  CHECK(std::get<std::string>(read_file(folder.file("empty"))).empty());
}

TEST_CASE("read_file says why there are no bytes") {
  const Folder folder;
  const std::string missing = folder.file("missing.yaml");
  CHECK(said(missing) == missing + ": error: no such file\n");
  CHECK(said(folder.path()) == folder.path() + ": error: is a directory\n  expected a file\n");
  CHECK(said("") == "'': error: no such file\n");
  const std::string large = folder.file("large");
  std::ofstream(large, std::ios::binary).flush();
  std::filesystem::resize_file(large, (16 << 20) + 1);
  CHECK(said(large) == large + ": error: the file is too large\n  expected at most 16 MiB\n");
}
