// The GPUs of this machine as a Backend.
#include <algorithm>
#include <optional>

#include "kernels/cuda_execution.cuh"

namespace collsim::kernels {
namespace {

// Turing: the oldest generation that CUDA 13 compiles for.
constexpr int capability_min = 75;

struct Device {
  std::string name;  // "NVIDIA H200 (9.0)"
  int capability = 0;
  std::int64_t cache_bytes = 0;
};

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// The number of devices. CUDA's own words where there is none.
int count_devices() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    throw DeviceError(DeviceError::Kind::missing, std::string("there is no GPU that CUDA can use: ") +
                                                      cudaGetErrorString(error) + " (" +
                                                      cudaGetErrorName(error) + ")");
  }
  if (count == 0)
    throw DeviceError(DeviceError::Kind::missing, "there is no GPU that CUDA can use: it finds 0 devices");
  return count;
}

Device device_at(int number) {
  const auto attribute = [number](cudaDeviceAttr which) {
    int value = 0;
    COLLSIM_CUDA_CALL(cudaDeviceGetAttribute(&value, which, number));
    return value;
  };
  cudaDeviceProp properties;
  COLLSIM_CUDA_CALL(cudaGetDeviceProperties(&properties, number));
  const int major = attribute(cudaDevAttrComputeCapabilityMajor);
  const int minor = attribute(cudaDevAttrComputeCapabilityMinor);
  Device device;
  device.capability = 10 * major + minor;
  device.cache_bytes = attribute(cudaDevAttrL2CacheSize);
  device.name =
      std::string(properties.name) + " (" + std::to_string(major) + "." + std::to_string(minor) + ")";
  if (device.capability < capability_min)
    throw DeviceError(DeviceError::Kind::missing,
                      "device " + std::to_string(number) + " is an " + device.name +
                          "; the kernels need compute capability 7.5 or later (CUDA_VISIBLE_DEVICES can "
                          "leave it out)");
  return device;
}

std::vector<Device> find_devices() {
  std::vector<Device> devices;
  const int count = count_devices();
  for (int number = 0; number < count; ++number) devices.push_back(device_at(number));
  return devices;
}

// Whether kernels of device `from` can use memory of device `to`; opens the way where there is one.
bool open_way(int from, int to) {
  int is_possible = 0;
  COLLSIM_CUDA_CALL(cudaDeviceCanAccessPeer(&is_possible, from, to));
  if (is_possible == 0) return false;
  COLLSIM_CUDA_CALL(cudaSetDevice(from));
  const cudaError_t error = cudaDeviceEnablePeerAccess(to, 0);
  if (error == cudaSuccess) return true;
  static_cast<void>(cudaGetLastError());
  if (error == cudaErrorPeerAccessAlreadyEnabled) return true;
  if (error == cudaErrorTooManyPeers || error == cudaErrorPeerAccessUnsupported) return false;
  check_cuda(error, "cudaDeviceEnablePeerAccess", __FILE__, __LINE__);
  return false;
}

class CudaBackend : public Backend {
 public:
  CudaBackend();
  std::string name() const override { return "cuda"; }
  std::string description() const override;
  int devices() const override { return static_cast<int>(devices_.size()); }
  std::int64_t cache_bytes() const override;
  std::int64_t free_bytes() const override;
  std::unique_ptr<Execution> prepare(const Plan& plan, const PrepareOptions& options) override;

 private:
  std::vector<Device> devices_;
  std::vector<char> ways_;  // [from * devices + to]
};

CudaBackend::CudaBackend() : devices_(find_devices()) {
  const DeviceScope scope;
  for (int from = 0; from < devices(); ++from)
    for (int to = 0; to < devices(); ++to) ways_.push_back(from == to || open_way(from, to) ? 1 : 0);
}

std::string CudaBackend::description() const {
  std::string text;
  for (std::size_t begin = 0; begin < devices_.size();) {
    std::size_t end = begin;
    while (end < devices_.size() && devices_[end].name == devices_[begin].name) ++end;
    text += std::to_string(end - begin) + " x " + devices_[begin].name + ", ";
    begin = end;
  }
  int driver = 0;
  COLLSIM_CUDA_CALL(cudaDriverGetVersion(&driver));
  return text + "driver " + version_text(driver);
}

std::int64_t CudaBackend::cache_bytes() const {
  std::int64_t bytes = 0;
  for (const Device& device : devices_) bytes = std::max(bytes, device.cache_bytes);
  return bytes;
}

std::int64_t CudaBackend::free_bytes() const {
  const DeviceScope scope;
  std::int64_t sum = 0;
  for (int device = 0; device < devices(); ++device) {
    std::size_t free = 0;
    std::size_t total = 0;
    COLLSIM_CUDA_CALL(cudaSetDevice(device));
    COLLSIM_CUDA_CALL(cudaMemGetInfo(&free, &total));
    sum += static_cast<std::int64_t>(free);
  }
  return sum;
}

std::unique_ptr<Execution> CudaBackend::prepare(const Plan& plan, const PrepareOptions& options) {
  std::vector<int> device_of_rank;
  for (Rank rank = 0; rank < plan.ranks; ++rank) device_of_rank.push_back(device_of(rank, plan.ranks));
  std::vector<std::string> names;
  for (const Device& device : devices_) names.push_back(device.name);
  const auto reaches = [ways = ways_, count = devices_.size()](int from, int to) {
    return ways[static_cast<std::size_t>(from) * count + static_cast<std::size_t>(to)] != 0;
  };
  return std::make_unique<CudaExecution>(plan, options, std::move(device_of_rank), std::move(names), reaches);
}

}  // namespace

std::unique_ptr<Backend> cuda_backend() { return std::make_unique<CudaBackend>(); }

std::string why_no_cuda() {
  try {
    find_devices();
    return "";
  } catch (const DeviceError& error) {
    return error.what();
  }
}

}  // namespace collsim::kernels
