// What calibrate writes: measured costs as a hardware preset, as a table, and as JSON.
//
// The preset     One node. Ranks that share a device: interconnect shared_memory, with what one rank and what
//                all together can copy and reduce. One rank on each of several GPUs: full_mesh with what a
//                peer copy takes. Several ranks on each of several GPUs: the same, and a comment says that
//                what they share is not modelled.
// Overheads      launch_overhead: an empty run. gpu.send_overhead: one operation of hardly any bytes. The
//                latency of a link: what an operation takes longer where it waits for one of another rank.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/primitives.hpp"
#include "sim/core/units.hpp"

namespace collsim::program {

struct NcclTime {
  std::int64_t bytes = 0;
  Duration time;
};

struct Calibration {
  kernels::MachineCosts costs;
  std::string date;     // "2026-12-01"
  std::string command;  // "collsim calibrate --device cpu --ranks 2"
  std::string version;
  std::vector<NcclTime> nccl;  // of ncclAllReduce over all GPUs
};

// Several ranks on each of several GPUs.
bool shares_devices(const kernels::MachineCosts& costs);

// YAML in the form of experiments/hardware/*.yaml, with the table as a comment.
std::string preset_text(const Calibration& calibration);
// One line for each sample, then the rates and times that the preset holds.
std::string costs_text(const Calibration& calibration);
std::string costs_json(const Calibration& calibration);

}  // namespace collsim::program
