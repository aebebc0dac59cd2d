// read_msccl(): the text of an MSCCL algorithm file -> MscclFile, or what is malformed.
//
// Malformed    XML that is none, a document type or entity, text between elements, a missing or misspelt
//              attribute, a word that is no number or out of range, an unknown type, buffer, collective or
//              protocol, gpus and thread blocks that are missing or there twice. What is well formed and
//              wrong is left to check_msccl().
// Hostile      The text is read once, in the order in which it comes; what it may ask for is limited by
//              MscclLimits, and a finding names the limit. Nothing is allocated before it is there in the
//              text. At most 20 errors and 20 warnings are kept; after 20 errors reading ends.
// Complexity   O(text) time, O(steps) memory.
#pragma once

#include <string_view>
#include <variant>
#include <vector>

#include "algorithms/msccl_file.hpp"

namespace collsim::algorithms {

// A 64-rank ring on 8 channels has 129,024 steps in 15 MB. Reading a file at a limit takes about a second,
// running one a few, and below 1 GB.
struct MscclLimits {
  static constexpr std::int64_t text_bytes = std::int64_t{32} << 20;
  static constexpr std::int64_t gpus = 4096;
  static constexpr std::int64_t steps = std::int64_t{1} << 18;
  static constexpr std::int64_t tbs = std::int64_t{1} << 17;     // also without steps
  static constexpr std::int64_t chunks = std::int64_t{1} << 20;  // of one buffer
  // Chunks of the vectors and the scratch of all gpus together.
  static constexpr std::int64_t cells = std::int64_t{1} << 22;
  static constexpr std::int64_t depth = 64;  // of elements that are ignored
  // Of a file that is run: chunks that all steps together move, and over all gpus the sum of the square of
  // the steps, which following what each waits for may take.
  static constexpr std::int64_t moves = std::int64_t{1} << 25;
  static constexpr std::int64_t searches = std::int64_t{1} << 29;
};

std::variant<MscclFile, std::vector<MscclFinding>> read_msccl(std::string_view text);

}  // namespace collsim::algorithms
