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
// A file is written beside its place and renamed when it is complete, so that a reader never sees half of it
// and a failed run leaves the old one. The constructor already opens it: a path that cannot be written ends
// the run before the work, not after it.
class OutputFile {
 public:
  // Throws Stop (exit 2) where the file cannot be made.
  explicit OutputFile(std::string path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  bool wanted() const { return !path_.empty(); }
  bool is_stdout() const { return path_ == "-"; }
  // Writes all of it and puts the file in its place. REQUIRES: wanted(), called once
  void write(const std::string& text);

 private:
  std::string path_;
  std::string temporary_;  // empty once it is renamed, or for stdout
  int descriptor_ = -1;
};

// Throws Stop (exit 2) where stdout does not take it.
void write_stdout(const std::string& text);

}  // namespace collsim::program
