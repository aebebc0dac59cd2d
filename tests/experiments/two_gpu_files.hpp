// MSCCL files of two gpus with one threadblock each: an all-gather in place, one chunk a gpu.
#pragma once

#include <string>

namespace collsim {

inline std::string step(int number, const std::string& type, int chunk) {
  const std::string at = std::to_string(chunk);
  return "<step s=\"" + std::to_string(number) + "\" type=\"" + type + "\" srcbuf=\"o\" srcoff=\"" + at +
         "\" dstbuf=\"o\" dstoff=\"" + at + "\" cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>\n";
}

inline std::string gpu(int id, const std::string& steps) {
  const std::string other = std::to_string(1 - id);
  return "<gpu id=\"" + std::to_string(id) + "\" i_chunks=\"1\" o_chunks=\"2\" s_chunks=\"0\">\n" +
         "<tb id=\"0\" send=\"" + other + "\" recv=\"" + other + "\" chan=\"0\">\n" + steps +
         "</tb>\n</gpu>\n";
}

inline std::string all_gather_of(const std::string& gpus) {
  return "<algo name=\"mine\" proto=\"Simple\" nchannels=\"1\" nchunksperloop=\"2\" ngpus=\"2\" "
         "coll=\"allgather\" "
         "inplace=\"1\" outofplace=\"0\" minBytes=\"0\" maxBytes=\"0\">\n" +
         gpus + "</algo>\n";
}

inline const std::string second_gpu = gpu(1, step(0, "s", 1) + step(1, "r", 0));
inline const std::string good_file = all_gather_of(gpu(0, step(0, "s", 0) + step(1, "r", 1)) + second_gpu);
// Gpu 0 receives over its own chunk.
inline const std::string wrong_file = all_gather_of(gpu(0, step(0, "s", 0) + step(1, "r", 0)) + second_gpu);

}  // namespace collsim
