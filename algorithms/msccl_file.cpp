#include "algorithms/msccl_file.hpp"

namespace collsim::algorithms {

std::string_view name_of(MscclStepType type) {
  constexpr std::array<std::string_view, 9> names = {"s",    "r",   "rcs", "rrc", "rrs",
                                                     "rrcs", "cpy", "re",  "nop"};
  return names[static_cast<std::size_t>(type)];
}

std::string_view name_of(MscclBuffer buffer) {
  constexpr std::array<std::string_view, 3> names = {"i", "o", "s"};
  return names[static_cast<std::size_t>(buffer)];
}

bool sends(MscclStepType type) {
  return type == MscclStepType::s || type == MscclStepType::rcs || type == MscclStepType::rrs ||
         type == MscclStepType::rrcs;
}

bool receives(MscclStepType type) {
  return type == MscclStepType::r || type == MscclStepType::rcs || type == MscclStepType::rrc ||
         type == MscclStepType::rrs || type == MscclStepType::rrcs;
}

bool stores(MscclStepType type) {
  return type != MscclStepType::s && type != MscclStepType::rrs && type != MscclStepType::nop;
}

bool loads(MscclStepType type) {
  return type != MscclStepType::r && type != MscclStepType::rcs && type != MscclStepType::nop;
}

std::int64_t MscclFile::steps() const {
  std::int64_t count = 0;
  for (const MscclGpu& gpu : gpus)
    for (const MscclThreadBlock& tb : gpu.tbs) count += static_cast<std::int64_t>(tb.steps.size());
  return count;
}

std::string text_of(const MscclFinding::Place& place) {
  if (place.gpu < 0) return "";
  std::string text = "gpu " + std::to_string(place.gpu);
  if (place.tb >= 0) text += ", tb " + std::to_string(place.tb);
  if (place.step >= 0) text += ", step " + std::to_string(place.step);
  return text;
}

std::string chunk_text(MscclBuffer buffer, std::int32_t offset, std::int32_t count) {
  std::string text = std::string(name_of(buffer)) + "[" + std::to_string(offset);
  if (count > 1) text += ".." + std::to_string(std::int64_t{offset} + count - 1);
  return text + "]";
}

}  // namespace collsim::algorithms
