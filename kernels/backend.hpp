// Backend: where plans run: on the threads of this machine, or on its GPUs.
//
// Errors      DeviceError, thrown by every function here. An error of a CUDA call names the call, its file
//             and line, and what CUDA says.
// Threads     An Execution is used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kernels/plan.hpp"
#include "sim/core/units.hpp"

namespace collsim::kernels {

class DeviceError : public std::runtime_error {
 public:
  enum class Kind {
    missing,      // no such device, no driver, or built without CUDA
    memory,       // the areas do not fit
    unsupported,  // the device lacks something: a datatype, access to a peer
    failed        // a call failed: the results are worth nothing
  };
  DeviceError(Kind kind, const std::string& text, std::string detail = "")
      : std::runtime_error(text), kind_(kind), detail_(std::move(detail)) {}
  Kind kind() const { return kind_; }
  // What may differ from run to run, and so is no part of what(): "8.10 GiB are free". May be empty.
  const std::string& detail() const { return detail_; }

 private:
  Kind kind_;
  std::string detail_;
};

// "12.50 GiB", for people: rounded to two decimals, in the largest unit of which there is one; "17 B".
// REQUIRES: bytes >= 0
std::string memory_text(std::int64_t bytes);

struct PrepareOptions {
  // The first byte of every area is so many bytes past a multiple of 256. REQUIRES: a multiple of the
  // element's size, below 256
  std::int32_t misalignment = 0;
  // The buffers exist so many times, and run i uses set i mod sets, so that caches hold nothing of the run
  // before. upload, download and guards mean set 0; REQUIRES of those who check values: sets == 1
  std::int32_t sets = 1;
  // cuda: run() launches a graph, made at the first run. Else tasks are launched one by one on streams.
  bool graph = true;
};

// A run wrote outside an area: guards of guard_bytes before and after each area hold a pattern.
constexpr std::int64_t guard_bytes = 256;
struct GuardBreach {
  std::int32_t area = 0;
  bool before = false;      // the guard before the area, else the one after it
  std::int64_t offset = 0;  // of the first changed byte, from the area's first byte
};

// A plan with its memory. The plan must outlive it.
class Execution {
 public:
  virtual ~Execution() = default;
  virtual void upload(std::int32_t area, std::int64_t offset, std::span<const std::byte> data) = 0;
  virtual void download(std::int32_t area, std::int64_t offset, std::span<std::byte> data) = 0;
  // Runs every task once, in parallel, and returns when all are done. The time from the first start to the
  // last end: by the clock of the CPU, or by CUDA events.
  virtual Duration run() = 0;
  // Runs the tasks one after the other. REQUIRES: a permutation in which predecessors come first
  virtual void run_in_order(std::span<const std::int32_t> order) = 0;
  virtual std::vector<GuardBreach> breaches() = 0;
};

// Before runs are timed: at least `runs` runs, and more until they have taken `time` together or are
// warmup_runs_max. Returns how many. On a virtual machine runs were seen to take twice as long in their first
// 20 ms as later, hence warmup_time_min.
constexpr Duration warmup_time_min = Duration::microseconds(50'000);
constexpr std::int64_t warmup_runs_max = 1000;
std::int64_t warm_up(Execution& execution, std::int64_t runs, Duration time);

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;         // "cpu" or "cuda"
  virtual std::string description() const = 0;  // "2 threads", "1 x NVIDIA H200 (9.0), driver 13.0"
  virtual int devices() const = 0;              // GPUs; 1 for the CPU
  // On which device each rank has its memory: evenly, in order.
  int device_of(Rank rank, std::int32_t ranks) const {
    return static_cast<int>(std::int64_t{rank} * devices() / ranks);
  }
  virtual int threads() const { return 0; }  // cpu
  // Bytes that no two runs of a benchmark should find in a cache: the last level's, of one device.
  virtual std::int64_t cache_bytes() const = 0;
  virtual std::int64_t free_bytes() const = 0;  // of memory, all devices together
  // Throws DeviceError: memory, unsupported.
  virtual std::unique_ptr<Execution> prepare(const Plan& plan, const PrepareOptions& options) = 0;
};

// threads: 0 = as many as this process may use at a time.
std::unique_ptr<Backend> cpu_backend(int threads = 0);
// All GPUs that are visible (CUDA_VISIBLE_DEVICES). Throws DeviceError: missing where there is none, or one
// that is older than compute capability 7.5.
std::unique_ptr<Backend> cuda_backend();
// Why cuda_backend() would throw, or empty.
std::string why_no_cuda();

// Time of ncclAllReduce (float32, sum) of so many bytes on all GPUs: the median of `runs` after `warmup`.
// libnccl is looked for at run time. Throws DeviceError: missing where there is none, or only one GPU.
Duration nccl_all_reduce_time(std::int64_t bytes, int warmup, int runs);

}  // namespace collsim::kernels
