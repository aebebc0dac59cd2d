#include "tests/kernels/fake_cuda.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "kernels/backend.hpp"
#include "kernels/cuda_launch.hpp"
#include "kernels/elements.hpp"
#include "sim/core/random.hpp"

using collsim::kernels::testing::FakeCudaSettings;

// The handles of CUDA are pointers to these.
struct Capture;
struct CUstream_st {
  int device = 0;
  Capture* capture = nullptr;      // while it takes part in one
  std::vector<std::size_t> after;  // operations, or nodes of the capture, that the next one comes after
};
struct CUevent_st {
  int device = 0;
  bool has_time = false;
  bool is_recorded = false;
  Capture* capture = nullptr;  // it was recorded in one
  std::vector<std::size_t> after;
  std::size_t operation = 0;  // its record, outside of captures
};
struct Node {
  std::function<cudaError_t()> work;
  std::vector<std::size_t> after;
};
struct CUgraph_st {
  std::vector<Node> nodes;
};
struct CUgraphExec_st {
  std::vector<Node> nodes;
};
struct Capture {
  cudaStream_t origin = nullptr;
  std::vector<Node> nodes;
  std::set<cudaStream_t> streams;
  bool is_broken = false;
};

namespace {

struct Operation {
  std::function<cudaError_t()> work;
  std::vector<std::size_t> after;
  bool is_done = false;
  std::int64_t time = 0;
};

struct Block {
  std::int64_t bytes = 0;
  int device = 0;
  std::unique_ptr<std::byte[]> memory;
};

struct World {
  FakeCudaSettings settings;
  collsim::Random random{1};
  int device = 0;
  cudaError_t last = cudaSuccess;     // what cudaGetLastError gives
  cudaError_t lasting = cudaSuccess;  // what every call gives
  std::int64_t calls = 0;
  std::int64_t failing_call = -1;
  bool is_failing_lasting = false;
  std::vector<char> ways;
  std::vector<Operation> operations;
  std::vector<std::size_t> open;  // not done
  std::int64_t done = 0;
  std::int64_t launches = 0;
  std::int64_t graph_launches = 0;
  std::map<const std::byte*, Block> blocks;  // by address
  std::set<cudaStream_t> streams;
  std::set<cudaEvent_t> events;
  std::int64_t graphs = 0;
  std::vector<std::unique_ptr<Capture>> captures;
  Capture* capturing = nullptr;
};

World world;

cudaError_t remember(cudaError_t error) {
  if (error != cudaSuccess) world.last = error;
  return error;
}

// The beginning of every call that can fail.
cudaError_t begin_call() {
  if (world.lasting != cudaSuccess) return remember(world.lasting);
  if (world.calls++ != world.failing_call) return cudaSuccess;
  if (world.is_failing_lasting) world.lasting = cudaErrorIllegalAddress;
  return remember(cudaErrorIllegalAddress);
}

#define BEGIN_CALL()                        \
  do {                                      \
    const cudaError_t begun = begin_call(); \
    if (begun != cudaSuccess) return begun; \
  } while (false)

bool is_open(int from, int to) {
  return from == to || world.ways[static_cast<std::size_t>(from * world.settings.devices + to)] != 0;
}

// The device of memory that lies inside one allocation, or -1.
int device_of_memory(const std::byte* address, std::int64_t bytes) {
  auto after = world.blocks.upper_bound(address);
  if (after == world.blocks.begin()) return -1;
  const auto& [begin, block] = *std::prev(after);
  return address + bytes <= begin + block.bytes ? block.device : -1;
}

bool can_use(int device, const std::byte* address, std::int64_t bytes) {
  const int owner = device_of_memory(address, bytes);
  return owner >= 0 && is_open(device, owner);
}

// Does one operation that is ready, drawn at random. REQUIRES: there is one
cudaError_t run_any() {
  std::vector<std::size_t> ready;
  for (const std::size_t number : world.open) {
    const std::vector<std::size_t>& after = world.operations[number].after;
    if (std::all_of(after.begin(), after.end(), [](std::size_t i) { return world.operations[i].is_done; }))
      ready.push_back(number);
  }
  const std::size_t number = ready[world.random.below(ready.size())];
  std::erase(world.open, number);
  const cudaError_t error = world.operations[number].work ? world.operations[number].work() : cudaSuccess;
  world.operations[number].is_done = true;
  world.operations[number].time = ++world.done;
  if (error != cudaSuccess) world.lasting = error;
  return error;
}

cudaError_t run_until(const std::vector<std::size_t>& wanted) {
  for (const std::size_t number : wanted)
    while (!world.operations[number].is_done) {
      const cudaError_t error = run_any();
      if (error != cudaSuccess) return remember(error);
    }
  return cudaSuccess;
}

std::size_t add_operation(std::function<cudaError_t()> work, std::vector<std::size_t> after) {
  world.operations.push_back({std::move(work), std::move(after), false, 0});
  world.open.push_back(world.operations.size() - 1);
  return world.operations.size() - 1;
}

// Work on a stream: an operation, or a node of the capture.
cudaError_t enqueue(cudaStream_t stream, std::function<cudaError_t()> work) {
  if (stream == nullptr || world.streams.count(stream) == 0) return remember(cudaErrorInvalidResourceHandle);
  if (stream->device != world.device) return remember(cudaErrorInvalidResourceHandle);
  if (stream->capture == nullptr) {
    stream->after = {add_operation(std::move(work), stream->after)};
  } else {
    stream->capture->nodes.push_back({std::move(work), stream->after});
    stream->after = {stream->capture->nodes.size() - 1};
  }
  return cudaSuccess;
}

cudaError_t refuse_in_capture() {
  if (world.capturing == nullptr) return cudaSuccess;
  world.capturing->is_broken = true;
  return remember(cudaErrorStreamCaptureUnsupported);
}

template <class Set>
void forget(Set& set) {
  for (auto handle : set) delete handle;
  set.clear();
}

}  // namespace

namespace collsim::kernels::testing {

void reset_fake_cuda(const FakeCudaSettings& settings) {
  forget(world.streams);
  forget(world.events);
  world = World();
  world.settings = settings;
  world.random = Random(settings.seed);
  const std::size_t pairs =
      static_cast<std::size_t>(settings.devices) * static_cast<std::size_t>(settings.devices);
  if (world.settings.ways.empty()) world.settings.ways.assign(pairs, 1);
  world.ways.assign(pairs, 0);
}

void fail_call(std::int64_t call, bool lasting) {
  world.calls = 0;
  world.failing_call = call;
  world.is_failing_lasting = lasting;
}

std::int64_t calls_made() { return world.calls; }

std::string fake_cuda_leftovers() {
  std::string text;
  if (!world.streams.empty()) text += std::to_string(world.streams.size()) + " streams ";
  if (!world.events.empty()) text += std::to_string(world.events.size()) + " events ";
  if (!world.blocks.empty()) text += std::to_string(world.blocks.size()) + " allocations ";
  if (world.graphs != 0) text += std::to_string(world.graphs) + " graphs ";
  if (world.capturing != nullptr) text += "a capture ";
  return text;
}

int fake_cuda_device() { return world.device; }
std::int64_t fake_cuda_launches() { return world.launches; }
std::int64_t fake_cuda_graph_launches() { return world.graph_launches; }

}  // namespace collsim::kernels::testing

// The launches of kernels.
namespace collsim::kernels {

namespace {

void check_launch(cudaError_t error) {
  if (error == cudaSuccess) return;
  world.last = cudaSuccess;
  throw DeviceError(DeviceError::Kind::failed, "a launch of the fake failed");
}

cudaError_t run_items(int device, const LaunchItem* items, std::int32_t count, std::int64_t tiles,
                      Datatype datatype, ReductionOp reduction) {
  const auto* list = reinterpret_cast<const std::byte*>(items);
  if (!can_use(device, list, std::int64_t{sizeof(LaunchItem)} * count)) return cudaErrorIllegalAddress;
  std::int64_t last_tile = -1;
  for (std::int32_t i = 0; i < count; ++i) {
    const LaunchItem& one = items[i];
    if (one.first_tile <= last_tile || one.first_tile >= tiles) return cudaErrorIllegalAddress;
    last_tile = one.first_tile;
    for (int k = 0; k < one.item.source_count; ++k)
      if (!can_use(device, one.item.sources[static_cast<std::size_t>(k)], one.item.bytes))
        return cudaErrorIllegalAddress;
    for (int k = 0; k < one.item.destination_count; ++k)
      if (!can_use(device, one.item.destinations[static_cast<std::size_t>(k)], one.item.bytes))
        return cudaErrorIllegalAddress;
    combine_on_cpu(one.item, datatype, reduction);
  }
  ++world.launches;
  return cudaSuccess;
}

}  // namespace

void launch_combine(const LaunchItem* items, std::int32_t count, std::int64_t tiles, Datatype datatype,
                    ReductionOp reduction, void* stream) {
  check_launch(begin_call());
  const int device = world.device;
  check_launch(enqueue(static_cast<cudaStream_t>(stream),
                       [=] { return run_items(device, items, count, tiles, datatype, reduction); }));
}

void launch_divide(std::byte* data, std::int64_t bytes, Datatype datatype, std::int64_t divisor,
                   void* stream) {
  check_launch(begin_call());
  const int device = world.device;
  check_launch(enqueue(static_cast<cudaStream_t>(stream), [=] {
    if (!can_use(device, data, bytes)) return cudaErrorIllegalAddress;
    divide_on_cpu(data, bytes, datatype, divisor);
    ++world.launches;
    return cudaSuccess;
  }));
}

}  // namespace collsim::kernels

extern "C" {

const char* cudaGetErrorString(cudaError_t) { return "an error of the fake"; }
const char* cudaGetErrorName(cudaError_t) { return "cudaErrorOfTheFake"; }
cudaError_t cudaGetLastError() {
  const cudaError_t error = world.lasting != cudaSuccess ? world.lasting : world.last;
  world.last = cudaSuccess;
  return error;
}

// Devices.
cudaError_t cudaGetDeviceCount(int* count) {
  BEGIN_CALL();
  *count = world.settings.devices;
  return world.settings.devices > 0 ? cudaSuccess : remember(cudaErrorNoDevice);
}
cudaError_t cudaGetDevice(int* device) {
  BEGIN_CALL();
  *device = world.device;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= world.settings.devices) return remember(cudaErrorInvalidDevice);
  world.device = device;  // also after an error, so that the current device can be restored
  return begin_call();
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  BEGIN_CALL();
  *properties = cudaDeviceProp();
  const std::string name = "Fake " + std::to_string(device / 2);
  std::strncpy(properties->name, name.c_str(), sizeof(properties->name) - 1);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  BEGIN_CALL();
  *value = 0;
  if (attribute == cudaDevAttrComputeCapabilityMajor) *value = world.settings.capability / 10;
  if (attribute == cudaDevAttrComputeCapabilityMinor) *value = world.settings.capability % 10;
  if (attribute == cudaDevAttrL2CacheSize) *value = 50 << 20;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  BEGIN_CALL();
  *version = 13020;
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int from, int to) {
  BEGIN_CALL();
  *can = world.settings.ways[static_cast<std::size_t>(from * world.settings.devices + to)];
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int to, unsigned flags) {
  BEGIN_CALL();
  const auto pair = static_cast<std::size_t>(world.device * world.settings.devices + to);
  if (flags != 0 || to == world.device) return remember(cudaErrorInvalidValue);
  if (world.settings.ways[pair] == 0) return remember(cudaErrorPeerAccessUnsupported);
  if (world.ways[pair] != 0) return remember(cudaErrorPeerAccessAlreadyEnabled);
  world.ways[pair] = 1;
  return cudaSuccess;
}

// Memory.
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  BEGIN_CALL();
  std::int64_t used = 0;
  for (const auto& [address, block] : world.blocks)
    if (block.device == world.device) used += block.bytes;
  *total = static_cast<std::size_t>(world.settings.memory_bytes);
  *free = static_cast<std::size_t>(world.settings.memory_bytes - used);
  return cudaSuccess;
}
cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  BEGIN_CALL();
  if (const cudaError_t error = refuse_in_capture(); error != cudaSuccess) return error;
  Block block;
  block.bytes = static_cast<std::int64_t>(bytes);
  block.device = world.device;
  block.memory = std::make_unique<std::byte[]>(bytes + 256);
  std::memset(block.memory.get(), 0xcd, bytes + 256);
  auto address = reinterpret_cast<std::uintptr_t>(block.memory.get());
  address = (address + 255) / 256 * 256;
  *memory = reinterpret_cast<void*>(address);
  world.blocks[static_cast<std::byte*>(*memory)] = std::move(block);
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  if (memory == nullptr) return cudaSuccess;
  while (world.lasting == cudaSuccess && !world.open.empty()) run_any();  // it waits for the device
  const bool is_known = world.blocks.erase(static_cast<std::byte*>(memory)) == 1;
  return is_known ? cudaSuccess : remember(cudaErrorInvalidValue);
}
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
  BEGIN_CALL();
  const int device = world.device;
  return enqueue(stream, [=] {
    if (!can_use(device, static_cast<std::byte*>(memory), static_cast<std::int64_t>(bytes)))
      return cudaErrorIllegalAddress;
    std::memset(memory, value, bytes);
    return cudaSuccess;
  });
}
// Of pageable memory: the host's bytes are taken at once but reach the device later; what goes to the host is
// there when the call returns.
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  BEGIN_CALL();
  const bool is_upload = kind == cudaMemcpyHostToDevice;
  const auto* on_device = static_cast<const std::byte*>(is_upload ? to : from);
  const int device = world.device;
  std::vector<std::byte> staged;
  if (is_upload)
    staged.assign(static_cast<const std::byte*>(from), static_cast<const std::byte*>(from) + bytes);
  const cudaError_t error = enqueue(stream, [=, staged = std::move(staged)] {
    if (!can_use(device, on_device, static_cast<std::int64_t>(bytes))) return cudaErrorIllegalAddress;
    std::memcpy(to, is_upload ? staged.data() : from, bytes);
    return cudaSuccess;
  });
  if (error != cudaSuccess || is_upload) return error;
  return stream->capture != nullptr ? refuse_in_capture() : run_until(stream->after);
}
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, std::size_t bytes,
                                cudaStream_t stream) {
  BEGIN_CALL();
  return enqueue(stream, [=] {
    const auto size = static_cast<std::int64_t>(bytes);
    if (device_of_memory(static_cast<std::byte*>(to), size) != to_device) return cudaErrorIllegalAddress;
    if (device_of_memory(static_cast<const std::byte*>(from), size) != from_device)
      return cudaErrorIllegalAddress;
    std::memcpy(to, from, bytes);
    return cudaSuccess;
  });
}

// Streams and events.
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  BEGIN_CALL();
  if (flags != cudaStreamNonBlocking) return remember(cudaErrorInvalidValue);
  *stream = new CUstream_st();
  (*stream)->device = world.device;
  world.streams.insert(*stream);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (world.streams.erase(stream) == 0) return remember(cudaErrorInvalidResourceHandle);
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  BEGIN_CALL();
  if (stream->capture != nullptr) return refuse_in_capture();
  return run_until(stream->after);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  BEGIN_CALL();
  if (!event->is_recorded) return remember(cudaErrorInvalidValue);  // CUDA waits for nothing: our mistake
  if (event->capture != nullptr && event->capture != world.capturing) return remember(cudaErrorCapturedEvent);
  if (stream->capture != event->capture) {
    if (stream->capture != nullptr) return remember(cudaErrorStreamCaptureIsolation);
    stream->capture = event->capture;  // it joins, and forgets what it did before
    stream->after.clear();
    event->capture->streams.insert(stream);
  }
  stream->after.insert(stream->after.end(), event->after.begin(), event->after.end());
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  BEGIN_CALL();
  *event = new CUevent_st();
  (*event)->device = world.device;
  (*event)->has_time = (flags & cudaEventDisableTiming) == 0;
  world.events.insert(*event);
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (world.events.erase(event) == 0) return remember(cudaErrorInvalidResourceHandle);
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  BEGIN_CALL();
  if (event->device != stream->device) return remember(cudaErrorInvalidResourceHandle);
  event->is_recorded = true;
  event->capture = stream->capture;
  if (stream->capture == nullptr) {
    event->operation = add_operation({}, stream->after);
    stream->after = {event->operation};
  }
  event->after = stream->after;
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  BEGIN_CALL();
  if (event->capture != nullptr) return remember(cudaErrorCapturedEvent);
  return run_until({event->operation});
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  BEGIN_CALL();
  if (!start->has_time || !end->has_time || start->capture != nullptr || end->capture != nullptr)
    return remember(cudaErrorInvalidResourceHandle);
  const Operation& first = world.operations[start->operation];
  const Operation& last = world.operations[end->operation];
  if (!first.is_done || !last.is_done) return remember(cudaErrorNotReady);
  *milliseconds = static_cast<float>(last.time - first.time);
  return cudaSuccess;
}

// Graphs.
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  BEGIN_CALL();
  if (mode != cudaStreamCaptureModeThreadLocal || world.capturing != nullptr)
    return remember(cudaErrorIllegalState);
  world.captures.push_back(std::make_unique<Capture>());
  world.capturing = world.captures.back().get();
  world.capturing->origin = stream;
  world.capturing->streams.insert(stream);
  stream->capture = world.capturing;
  stream->after.clear();
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  Capture* capture = stream->capture;
  *graph = nullptr;
  if (capture == nullptr || capture->origin != stream) return remember(cudaErrorIllegalState);
  const std::vector<std::size_t> ends = stream->after;
  std::vector<char> is_joined(capture->nodes.size(), 0);
  for (const std::size_t node : ends) is_joined[node] = 1;
  for (std::size_t node = is_joined.size(); node-- > 0;)
    if (is_joined[node] != 0)
      for (const std::size_t before : capture->nodes[node].after) is_joined[before] = 1;
  for (cudaStream_t one : capture->streams) {
    one->capture = nullptr;
    one->after.clear();
  }
  world.capturing = nullptr;
  BEGIN_CALL();
  if (capture->is_broken) return remember(cudaErrorStreamCaptureInvalidated);
  if (std::find(is_joined.begin(), is_joined.end(), 0) != is_joined.end())
    return remember(cudaErrorStreamCaptureUnjoined);
  *graph = new CUgraph_st{capture->nodes};
  ++world.graphs;
  return cudaSuccess;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t*, std::size_t* count) {
  BEGIN_CALL();
  *count = graph->nodes.size();
  return cudaSuccess;
}
cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t*, cudaGraph_t graph, const cudaGraphNode_t*, std::size_t) {
  BEGIN_CALL();
  graph->nodes.emplace_back();
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  BEGIN_CALL();
  if (graph->nodes.empty()) return remember(cudaErrorInvalidValue);
  *exec = new CUgraphExec_st{graph->nodes};
  ++world.graphs;
  return cudaSuccess;
}
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t stream) {
  BEGIN_CALL();
  return enqueue(stream, [] { return cudaSuccess; });
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  BEGIN_CALL();
  if (stream->capture != nullptr) return refuse_in_capture();
  const std::size_t begin = add_operation({}, stream->after);
  std::vector<std::size_t> operations;
  for (const Node& node : exec->nodes) {
    std::vector<std::size_t> after = {begin};
    for (const std::size_t before : node.after) after.push_back(operations[before]);
    operations.push_back(add_operation(node.work, std::move(after)));
  }
  operations.push_back(begin);
  stream->after = {add_operation({}, std::move(operations))};
  ++world.graph_launches;
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  --world.graphs;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete exec;
  --world.graphs;
  return cudaSuccess;
}

}  // extern "C"
