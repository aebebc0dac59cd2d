// Runs the built program as a person would, and keeps what it said.
#pragma once

#include <string>
#include <vector>

namespace collsim {

struct Run {
  int exit_code = -1;  // 128 + signal where it was killed
  std::string out;
  std::string err;
};

// Names as a message lists them: "ring, tree", of all that `algorithm:` can name; with or without aliases.
std::string algorithm_names(bool with_aliases);

// An empty folder under the build tree for the files of one test case; removed with it.
class WorkFolder {
 public:
  WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  ~WorkFolder();

  const std::string& path() const { return path_; }
  void write(const std::string& name, const std::string& text) const;
  std::string read(const std::string& name) const;
  bool has(const std::string& name) const;
  std::vector<std::string> names() const;  // of the files in it, sorted

  // Runs collsim in this folder.
  Run run(const std::vector<std::string>& arguments) const;
  // The same with stdout going to a file such as /dev/full.
  Run run_into(const std::string& output, const std::vector<std::string>& arguments) const;

 private:
  std::string path_;
};

// `collsim run x.yaml` in a folder with that file only.
Run run_text(const std::string& yaml, const std::vector<std::string>& options = {});
// Its report as JSON; checks that it ends with that exit code.
std::string report_of(const std::string& yaml, int exit_code);

}  // namespace collsim
