// Files in and out of the program.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/config/file.hpp"

namespace collsim::program {

// The content of a file. Throws Stop (exit 66) where it cannot be read.
std::string read_input(const std::string& path, std::int64_t bytes_max = file_bytes_max);

// A line of a text, without its line end. REQUIRES: number >= 1
std::string_view line_of(std::string_view text, std::int32_t number);

// An output that the user named: a file, or "-" for stdout, or nothing for an empty name.
//
// A file is written without a name (where the file system can do that; else beside its place) and put in its
// place when it is complete, so that a reader never sees half of it, a failed run leaves the old one, and one
// that is killed leaves nothing. The constructor already opens it: a path that cannot be written ends the run
// before the work, not after it. Of a symbolic link the file that it names is written.
class OutputFile {
 public:
  // Throws Stop (exit 2) where the file cannot be made.
  explicit OutputFile(std::string path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  bool wanted() const { return !path_.empty(); }
  bool is_stdout() const { return path_ == "-"; }
  bool is_same(const OutputFile& other) const { return wanted() && path_ == other.path_; }
  // Writes all of it and puts the file in its place. REQUIRES: wanted(), called once
  void write(const std::string& text);

 private:
  std::string path_;
  std::string temporary_;     // its name while it has another one than its own
  bool is_replaced_ = false;  // a file, no pipe and no device
  int descriptor_ = -1;
};

// Throws Stop (exit 2) where stdout does not take it.
void write_stdout(const std::string& text);

}  // namespace collsim::program
