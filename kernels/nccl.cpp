// NCCL beside the kernels: the library that is installed is loaded at run time, so that neither its header
// nor it is needed to build. Declarations follow nccl.h of NCCL 2 (the values have not changed since 2.0).
#include <dlfcn.h>

#include <algorithm>
#include <cmath>

#include "kernels/cuda_resources.cuh"
#include "sim/core/check.hpp"

namespace collsim::kernels {
namespace {

using NcclComm = struct NcclCommOpaque*;
constexpr int nccl_success = 0;
constexpr int nccl_float32 = 7;
constexpr int nccl_sum = 0;

struct Nccl {
  int (*comm_init_all)(NcclComm* comms, int devices, const int* numbers) = nullptr;
  int (*comm_destroy)(NcclComm comm) = nullptr;
  int (*all_reduce)(const void* from, void* to, std::size_t count, int datatype, int reduction, NcclComm comm,
                    cudaStream_t stream) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  const char* (*error_string)(int result) = nullptr;
};

template <class Function>
void look_up(void* library, const char* name, Function& function) {
  void* address = dlsym(library, name);
  if (address == nullptr)
    throw DeviceError(DeviceError::Kind::missing, std::string("libnccl.so.2 has no function ") + name);
  function = reinterpret_cast<Function>(address);
}

// The library stays loaded: it has threads and handlers of its own.
Nccl load_nccl() {
  void* library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    throw DeviceError(DeviceError::Kind::missing,
                      std::string("NCCL cannot be loaded: ") + (why != nullptr ? why : "no reason given"));
  }
  Nccl nccl;
  look_up(library, "ncclCommInitAll", nccl.comm_init_all);
  look_up(library, "ncclCommDestroy", nccl.comm_destroy);
  look_up(library, "ncclAllReduce", nccl.all_reduce);
  look_up(library, "ncclGroupStart", nccl.group_start);
  look_up(library, "ncclGroupEnd", nccl.group_end);
  look_up(library, "ncclGetErrorString", nccl.error_string);
  return nccl;
}

// One communicator, stream, buffer and pair of events for each device.
class AllReduce {
 public:
  AllReduce(const Nccl& nccl, int devices, std::int64_t bytes);
  ~AllReduce();
  AllReduce(const AllReduce&) = delete;
  AllReduce& operator=(const AllReduce&) = delete;
  Duration run();

 private:
  struct PerDevice {
    CudaMemory memory;
    CudaStream stream;
    CudaEvent start;
    CudaEvent end;
  };
  void check(int result, const char* call) const;
  const Nccl& nccl_;
  std::size_t count_;
  std::vector<PerDevice> devices_;
  std::vector<NcclComm> comms_;
};

void AllReduce::check(int result, const char* call) const {
  if (result == nccl_success) return;
  throw DeviceError(DeviceError::Kind::failed, std::string(call) + ": " + nccl_.error_string(result) +
                                                   " (NCCL error " + std::to_string(result) + ")");
}

AllReduce::AllReduce(const Nccl& nccl, int devices, std::int64_t bytes)
    : nccl_(nccl), count_(static_cast<std::size_t>(bytes) / sizeof(float)) {
  std::vector<int> numbers;
  for (int device = 0; device < devices; ++device) {
    numbers.push_back(device);
    PerDevice one;
    one.stream = make_stream(device);
    one.start = make_event(device, true);
    one.end = make_event(device, true);
    one.memory = allocate(device, std::max<std::int64_t>(bytes, 1));
    COLLSIM_CUDA_CALL(
        cudaMemsetAsync(one.memory.get(), 0, static_cast<std::size_t>(bytes), one.stream.get()));
    COLLSIM_CUDA_CALL(cudaStreamSynchronize(one.stream.get()));
    devices_.push_back(std::move(one));
  }
  std::vector<NcclComm> comms(numbers.size(), nullptr);
  check(nccl_.comm_init_all(comms.data(), devices, numbers.data()), "ncclCommInitAll");
  comms_ = std::move(comms);
}

AllReduce::~AllReduce() {
  for (NcclComm comm : comms_) static_cast<void>(nccl_.comm_destroy(comm));
}

// In place, on zeros. The longest of the devices' own times, each from before to after its part.
Duration AllReduce::run() {
  const auto set_device = [](std::size_t device) {
    COLLSIM_CUDA_CALL(cudaSetDevice(static_cast<int>(device)));
  };
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    set_device(i);
    COLLSIM_CUDA_CALL(cudaEventRecord(devices_[i].start.get(), devices_[i].stream.get()));
  }
  check(nccl_.group_start(), "ncclGroupStart");
  int result = nccl_success;
  for (std::size_t i = 0; i < devices_.size() && result == nccl_success; ++i) {
    float* data = reinterpret_cast<float*>(devices_[i].memory.get());
    result =
        nccl_.all_reduce(data, data, count_, nccl_float32, nccl_sum, comms_[i], devices_[i].stream.get());
  }
  const int end = nccl_.group_end();  // also after an error, so that the group is closed
  check(result, "ncclAllReduce");
  check(end, "ncclGroupEnd");
  float longest = 0;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    set_device(i);
    COLLSIM_CUDA_CALL(cudaEventRecord(devices_[i].end.get(), devices_[i].stream.get()));
  }
  for (PerDevice& device : devices_) {
    float milliseconds = 0;
    COLLSIM_CUDA_CALL(cudaEventSynchronize(device.end.get()));
    COLLSIM_CUDA_CALL(cudaEventElapsedTime(&milliseconds, device.start.get(), device.end.get()));
    longest = std::max(longest, milliseconds);
  }
  return Duration::picoseconds(std::llround(static_cast<double>(longest) * 1e9));
}

}  // namespace

Duration nccl_all_reduce_time(std::int64_t bytes, int warmup, int runs) {
  COLLSIM_CHECK(bytes >= 0 && bytes % std::int64_t{sizeof(float)} == 0);
  COLLSIM_CHECK(warmup >= 0 && runs >= 1);
  const int devices = cuda_backend()->devices();
  if (devices < 2)
    throw DeviceError(DeviceError::Kind::missing, "NCCL needs at least 2 GPUs to compare with; there is 1");
  const Nccl nccl = load_nccl();
  const DeviceScope scope;
  AllReduce all_reduce(nccl, devices, bytes);
  for (int i = 0; i < warmup; ++i) all_reduce.run();
  std::vector<Duration> times;
  for (int i = 0; i < runs; ++i) times.push_back(all_reduce.run());
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace collsim::kernels
