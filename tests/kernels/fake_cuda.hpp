// A CUDA runtime in plain C++, for tests of the CUDA backend's host code where there is no device.
//
// It defines the functions of the runtime that the backend calls, and the launches of kernels, so that a test
// program that is linked with it uses these. What it takes from CUDA's rules:
//   - streams run when somebody waits for them, in an order drawn from a seed that keeps streams and events
//   - kernels are launched on streams of the current device; events are recorded on streams of their device
//   - kernels use memory of their own device and of devices to which access is open, inside allocations
//   - capture: streams join by events; nothing may wait on the host or allocate; all streams come back; an
//     event of a capture means nothing outside
//   - memory has contents that no one wrote until it is written; it is gone when it is freed
// It is no model of time: an event's time is the number of operations that have run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace collsim::kernels::testing {

struct FakeCudaSettings {
  int devices = 1;
  int capability = 90;
  std::int64_t memory_bytes = std::int64_t{1} << 30;  // of each device
  // [from * devices + to]: whether access can be opened; empty: all
  std::vector<char> ways;
  std::uint64_t seed = 1;
};

// Forgets everything and starts with these settings.
void reset_fake_cuda(const FakeCudaSettings& settings);
// Call number `call` from now on fails (from 0). `lasting`: and all after it, as after an error of a kernel.
void fail_call(std::int64_t call, bool lasting);
// Calls since then, other than those that destroy something.
std::int64_t calls_made();
// Streams, events, graphs and allocations that exist, in words; empty: none
std::string fake_cuda_leftovers();
int fake_cuda_device();
std::int64_t fake_cuda_launches();        // of kernels, that have run
std::int64_t fake_cuda_graph_launches();  // of graphs

}  // namespace collsim::kernels::testing
