// What can be said of a file without running it. Internal to the msccl files.
#pragma once

#include <string>
#include <vector>

#include "algorithms/msccl_index.hpp"
#include "algorithms/msccl_places.hpp"

namespace collsim::algorithms {

// Keeps the first 20 errors and the first 20 warnings, and counts the others.
class MscclFindings {
 public:
  static constexpr std::size_t kept_max = 20;

  void add(MscclFinding finding);
  void error(MscclFinding::Place place, std::string text, std::string nccl = {},
             MscclFinding::Place other = {});
  void warning(MscclFinding::Place place, std::string text, std::string nccl = {},
               MscclFinding::Place other = {});
  bool has_errors() const { return errors_ > 0; }
  std::int64_t errors() const { return errors_; }
  std::int64_t warnings() const { return warnings_; }
  const std::vector<MscclFinding>& items() const { return items_; }

 private:
  std::vector<MscclFinding> items_;
  std::int64_t errors_ = 0;
  std::int64_t warnings_ = 0;
};

// "gpu 3, tb 2, step 5 (line 12)", for a text that names a second step.
std::string text_with_line(const MscclFinding::Place& place);

// Errors: chunks outside their buffers, writes to the input of a call out of place, steps without a peer,
// connections that two thread blocks share, sends and receives that do not pair up, dependencies on what is
// not there or never says that it is done. They keep a file from being run at all.
void check_steps(const MscclIndex& index, const MscclPlaces& places, MscclFindings& findings);
void check_links(const MscclIndex& index, MscclFindings& findings);
void check_dependencies(const MscclIndex& index, MscclFindings& findings);
// Warnings: what NCCL does not take, and what it takes otherwise than it looks.
void check_limits(const MscclIndex& index, MscclFindings& findings);

}  // namespace collsim::algorithms
