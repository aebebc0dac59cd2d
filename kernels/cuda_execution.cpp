#include "kernels/cuda_execution.cuh"

#include <algorithm>
#include <cmath>

#include "sim/core/check.hpp"

namespace collsim::kernels {
namespace {

// What is left for CUDA itself: graphs, kernels, its own buffers.
constexpr std::int64_t reserve_bytes = std::int64_t{256} << 20;

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

// Calls `function` and remembers what fails for good. The current device is left as it was.
template <class Function>
auto remembering(std::string& failure, Function&& function) {
  try {
    const DeviceScope scope;
    return function();
  } catch (const DeviceError& error) {
    if (error.kind() == DeviceError::Kind::failed) failure = error.what();
    throw;
  }
}

// Ends a capture that did not come to its end, so that the stream can be used and destroyed.
class CaptureScope {
 public:
  explicit CaptureScope(cudaStream_t origin) : origin_(origin) {
    COLLSIM_CUDA_CALL(cudaStreamBeginCapture(origin, cudaStreamCaptureModeThreadLocal));
  }
  ~CaptureScope() {
    if (is_ended_) return;
    cudaGraph_t graph = nullptr;
    static_cast<void>(cudaStreamEndCapture(origin_, &graph));
    if (graph != nullptr) static_cast<void>(cudaGraphDestroy(graph));
    static_cast<void>(cudaGetLastError());
  }
  CaptureScope(const CaptureScope&) = delete;
  CaptureScope& operator=(const CaptureScope&) = delete;
  CudaGraph end() {
    is_ended_ = true;
    cudaGraph_t graph = nullptr;
    COLLSIM_CUDA_CALL(cudaStreamEndCapture(origin_, &graph));
    return CudaGraph(graph);
  }

 private:
  cudaStream_t origin_;
  bool is_ended_ = false;
};

IssueOptions issue_options(const std::vector<int>& device_of, std::function<bool(int, int)> reaches) {
  IssueOptions options;
  options.device_of = device_of;
  options.reaches = std::move(reaches);
  return options;
}

}  // namespace

template <class Function>
auto CudaExecution::checked(Function&& function) {
  if (!failure_.empty()) throw DeviceError(DeviceError::Kind::failed, "an earlier call failed: " + failure_);
  return remembering(failure_, function);
}

CudaExecution::CudaExecution(const Plan& plan, const PrepareOptions& options, std::vector<int> device_of,
                             std::vector<std::string> names, std::function<bool(int, int)> reaches)
    : plan_(plan),
      options_(options),
      device_of_(std::move(device_of)),
      names_(std::move(names)),
      map_(area_map(plan, device_of_, static_cast<int>(names_.size()), options)),
      issue_(issue_of(plan, issue_options(device_of_, std::move(reaches)))),
      graphs_(at(options.sets)) {
  checked([&] {
    check_memory();
    make_streams();
    make_areas();
    for (std::int32_t set = 0; set < options_.sets; ++set) items_.push_back(upload_items(set, batches()));
    try_kernels();
  });
}

// Work that a call left behind when it threw must not outlive the memory.
CudaExecution::~CudaExecution() {
  for (const CudaStream& stream : streams_)
    if (stream) static_cast<void>(cudaStreamSynchronize(stream.get()));
}

void CudaExecution::check_memory() const {
  for (std::size_t device = 0; device < names_.size(); ++device) {
    std::int64_t items = 0;
    for (const Command& command : issue_.commands)
      if (command.kind == CommandKind::combine &&
          issue_.stream_device[at(command.stream)] == static_cast<int>(device))
        items += command.task_count;
    const std::int64_t needed = map_.bytes[device] + items * options_.sets * std::int64_t{sizeof(LaunchItem)};
    COLLSIM_CUDA_CALL(cudaSetDevice(static_cast<int>(device)));
    std::size_t free = 0;
    std::size_t total = 0;
    COLLSIM_CUDA_CALL(cudaMemGetInfo(&free, &total));
    const auto available = std::max<std::int64_t>(static_cast<std::int64_t>(free) - reserve_bytes, 0);
    if (needed <= available) continue;
    throw DeviceError(DeviceError::Kind::memory,
                      "the buffers need " + memory_text(needed) + " on device " + std::to_string(device) +
                          " (" + names_[device] + ")",
                      memory_text(available) + " are free there");
  }
}

void CudaExecution::make_streams() {
  for (int device = 0; device < static_cast<int>(names_.size()); ++device)
    device_streams_.push_back(make_stream(device));
  for (const int device : issue_.stream_device) streams_.push_back(make_stream(device));
  for (const int device : issue_.event_device) events_.push_back(make_event(device, false));
  for (CudaEvent& event : times_) event = make_event(issue_.stream_device.front(), true);
}

void CudaExecution::make_areas() {
  for (std::size_t device = 0; device < names_.size(); ++device) {
    memory_.push_back(allocate(static_cast<int>(device), map_.bytes[device]));
    const cudaStream_t stream = device_streams_[device].get();
    COLLSIM_CUDA_CALL(
        cudaMemsetAsync(memory_.back().get(), 0, static_cast<std::size_t>(map_.bytes[device]), stream));
    COLLSIM_CUDA_CALL(cudaStreamSynchronize(stream));
  }
  for (std::int32_t area = 0; area < map_.areas; ++area) {
    std::byte* begin = address(0, {area, 0});
    const Guard before = guard_of(area, true);
    const Guard after = guard_of(area, false);
    to_device(map_.device[at(area)], begin - guard_bytes, before);
    to_device(map_.device[at(area)], begin + plan_.areas[at(area)].bytes, after);
  }
}

// A copy of one element of the head onto itself, and its division by 1, on each device that works.
void CudaExecution::try_kernels() {
  const Datatype datatype = plan_.collective.datatype;
  const std::int64_t bytes = element_bytes(datatype);
  std::vector<char> is_tried(names_.size(), 0);
  for (const Command& command : issue_.commands) {
    const int device = issue_.stream_device[at(command.stream)];
    if (command.task_count == 0 || is_tried[at(device)] != 0) continue;
    is_tried[at(device)] = 1;
    CombineItem item;
    item.sources[0] = memory_[at(device)].get();
    item.destinations[0] = memory_[at(device)].get();
    item.bytes = bytes;
    const LaunchList list = launch_list(std::span(&item, 1));
    const CudaMemory items = allocate(device, std::int64_t{sizeof(LaunchItem)});
    to_device(device, items.get(), std::as_bytes(std::span(list.items)));
    const cudaStream_t stream = device_streams_[at(device)].get();
    COLLSIM_CUDA_CALL(cudaSetDevice(device));
    launch_combine(reinterpret_cast<const LaunchItem*>(items.get()), 1, list.tiles, datatype,
                   plan_.collective.reduction, stream);
    launch_divide(memory_[at(device)].get(), bytes, datatype, 1, stream);
    COLLSIM_CUDA_CALL(cudaStreamSynchronize(stream));
  }
}

std::byte* CudaExecution::address(std::int32_t set, const Place& place) const {
  return memory_[at(map_.device[at(place.area)])].get() + map_.offset_of(set, place.area) + place.offset;
}

CombineItem CudaExecution::item_of(std::int32_t set, const Task& task) const {
  CombineItem item;
  const std::span<const Place> places = plan_.places_of(task);
  item.source_count = task.sources;
  item.destination_count = task.destinations;
  item.bytes = task.bytes;
  for (std::size_t i = 0; i < task.sources; ++i) item.sources[i] = address(set, places[i]);
  for (std::size_t i = 0; i < task.destinations; ++i)
    item.destinations[i] = address(set, places[task.sources + i]);
  return item;
}

// One for each command; empty for those that are no combine.
std::vector<CudaExecution::Batch> CudaExecution::batches() const {
  std::vector<Batch> batches;
  batches.reserve(issue_.commands.size());
  for (const Command& command : issue_.commands) {
    batches.emplace_back();
    batches.back().device = issue_.stream_device[at(command.stream)];
    if (command.kind == CommandKind::combine) batches.back().tasks = issue_.tasks_of(command);
  }
  return batches;
}

CudaExecution::Items CudaExecution::upload_items(std::int32_t set, std::span<const Batch> batches) const {
  Items result;
  result.launches.resize(batches.size());
  std::vector<std::vector<LaunchItem>> all(names_.size());
  std::vector<CombineItem> items;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    if (batches[i].tasks.empty()) continue;
    items.clear();
    for (const std::int32_t task : batches[i].tasks) items.push_back(item_of(set, plan_.tasks[at(task)]));
    const LaunchList list = launch_list(items);
    std::vector<LaunchItem>& of_device = all[at(batches[i].device)];
    result.launches[i].first = std::ssize(of_device);
    result.launches[i].count = static_cast<std::int32_t>(list.items.size());
    result.launches[i].tiles = list.tiles;
    of_device.insert(of_device.end(), list.items.begin(), list.items.end());
  }
  result.memory.resize(names_.size());
  for (std::size_t device = 0; device < all.size(); ++device) {
    if (all[device].empty()) continue;
    const std::span<const std::byte> bytes = std::as_bytes(std::span(all[device]));
    result.memory[device] = allocate(static_cast<int>(device), static_cast<std::int64_t>(bytes.size()));
    to_device(static_cast<int>(device), result.memory[device].get(), bytes);
  }
  return result;
}

// Copies from pageable memory may still be on their way when the call returns, so the stream is waited for.
void CudaExecution::to_device(int device, std::byte* target, std::span<const std::byte> data) const {
  if (data.empty()) return;
  COLLSIM_CUDA_CALL(cudaSetDevice(device));
  const cudaStream_t stream = device_streams_[at(device)].get();
  COLLSIM_CUDA_CALL(cudaMemcpyAsync(target, data.data(), data.size(), cudaMemcpyHostToDevice, stream));
  COLLSIM_CUDA_CALL(cudaStreamSynchronize(stream));
}

void CudaExecution::from_device(int device, const std::byte* source, std::span<std::byte> data) const {
  if (data.empty()) return;
  COLLSIM_CUDA_CALL(cudaSetDevice(device));
  const cudaStream_t stream = device_streams_[at(device)].get();
  COLLSIM_CUDA_CALL(cudaMemcpyAsync(data.data(), source, data.size(), cudaMemcpyDeviceToHost, stream));
  COLLSIM_CUDA_CALL(cudaStreamSynchronize(stream));
}

void CudaExecution::upload(std::int32_t area, std::int64_t offset, std::span<const std::byte> data) {
  COLLSIM_CHECK(offset >= 0 && offset + std::ssize(data) <= plan_.areas[at(area)].bytes);
  checked([&] { to_device(map_.device[at(area)], address(0, {area, offset}), data); });
}

void CudaExecution::download(std::int32_t area, std::int64_t offset, std::span<std::byte> data) {
  COLLSIM_CHECK(offset >= 0 && offset + std::ssize(data) <= plan_.areas[at(area)].bytes);
  checked([&] { from_device(map_.device[at(area)], address(0, {area, offset}), data); });
}

void CudaExecution::launch_items(const Items& items, std::size_t batch, int device,
                                 cudaStream_t stream) const {
  const Launch& launch = items.launches[batch];
  const auto* list = reinterpret_cast<const LaunchItem*>(items.memory[at(device)].get()) + launch.first;
  launch_combine(list, launch.count, launch.tiles, plan_.collective.datatype, plan_.collective.reduction,
                 stream);
}

// A division or a copy between devices.
void CudaExecution::launch_task(std::int32_t set, CommandKind kind, std::int32_t number,
                                cudaStream_t stream) const {
  const Task& task = plan_.tasks[at(number)];
  const std::span<const Place> places = plan_.places_of(task);
  if (kind == CommandKind::divide) {
    launch_divide(address(set, places[0]), task.bytes, plan_.collective.datatype, plan_.ranks, stream);
    return;
  }
  COLLSIM_CHECK(kind == CommandKind::peer_copy);
  COLLSIM_CUDA_CALL(cudaMemcpyPeerAsync(address(set, places[1]), map_.device[at(places[1].area)],
                                        address(set, places[0]), map_.device[at(places[0].area)],
                                        static_cast<std::size_t>(task.bytes), stream));
}

// Nothing here waits on the host or uses the default stream, so that it can be captured.
void CudaExecution::issue(std::int32_t set) const {
  int current = -1;
  for (std::size_t i = 0; i < issue_.commands.size(); ++i) {
    const Command& command = issue_.commands[i];
    const cudaStream_t stream = streams_[at(command.stream)].get();
    const int device = issue_.stream_device[at(command.stream)];
    if (device != current) COLLSIM_CUDA_CALL(cudaSetDevice(device));
    current = device;
    switch (command.kind) {
      case CommandKind::record:
        COLLSIM_CUDA_CALL(cudaEventRecord(events_[at(command.event)].get(), stream));
        break;
      case CommandKind::wait:
        COLLSIM_CUDA_CALL(cudaStreamWaitEvent(stream, events_[at(command.event)].get(), 0));
        break;
      case CommandKind::combine:
        launch_items(items_[at(set)], i, device, stream);
        break;
      case CommandKind::divide:
      case CommandKind::peer_copy:
        launch_task(set, command.kind, issue_.tasks[at(command.first_task)], stream);
        break;
    }
  }
}

void CudaExecution::capture(std::int32_t set) {
  const cudaStream_t origin = streams_.front().get();
  COLLSIM_CUDA_CALL(cudaSetDevice(issue_.stream_device.front()));
  CaptureScope scope(origin);
  issue(set);
  const CudaGraph graph = scope.end();
  // A plan without work is one empty node, so that its run is what launching a graph costs.
  std::size_t nodes = 0;
  COLLSIM_CUDA_CALL(cudaGraphGetNodes(graph.get(), nullptr, &nodes));
  cudaGraphNode_t node = nullptr;
  if (nodes == 0) COLLSIM_CUDA_CALL(cudaGraphAddEmptyNode(&node, graph.get(), nullptr, 0));
  cudaGraphExec_t exec = nullptr;
  COLLSIM_CUDA_CALL(cudaGraphInstantiate(&exec, graph.get(), 0));
  CudaGraphExec owner(exec);
  COLLSIM_CUDA_CALL(cudaSetDevice(issue_.stream_device.front()));
  COLLSIM_CUDA_CALL(cudaGraphUpload(exec, origin));
  COLLSIM_CUDA_CALL(cudaStreamSynchronize(origin));
  graphs_[at(set)] = std::move(owner);
}

// Copies between devices that do not reach each other go through the host, which a graph need not allow.
Duration CudaExecution::run() {
  return checked([&] {
    const auto set = static_cast<std::int32_t>(runs_++ % options_.sets);
    const bool by_graph = options_.graph && !issue_.has_peer_copies;
    if (by_graph && !graphs_[at(set)]) capture(set);
    const int device = issue_.stream_device.front();
    const cudaStream_t origin = streams_.front().get();
    COLLSIM_CUDA_CALL(cudaSetDevice(device));
    COLLSIM_CUDA_CALL(cudaEventRecord(times_[0].get(), origin));
    if (by_graph)
      COLLSIM_CUDA_CALL(cudaGraphLaunch(graphs_[at(set)].get(), origin));
    else
      issue(set);
    COLLSIM_CUDA_CALL(cudaSetDevice(device));
    COLLSIM_CUDA_CALL(cudaEventRecord(times_[1].get(), origin));
    COLLSIM_CUDA_CALL(cudaEventSynchronize(times_[1].get()));
    float milliseconds = 0;
    COLLSIM_CUDA_CALL(cudaEventElapsedTime(&milliseconds, times_[0].get(), times_[1].get()));
    return Duration::picoseconds(std::llround(static_cast<double>(milliseconds) * 1e9));
  });
}

void CudaExecution::prepare_single_tasks() {
  if (!single_kinds_.empty()) return;
  std::vector<CommandKind> kinds(plan_.tasks.size(), CommandKind::record);
  std::vector<Batch> batches(plan_.tasks.size());
  for (const Command& command : issue_.commands)
    for (const std::int32_t& task : issue_.tasks_of(command)) {
      kinds[at(task)] = command.kind;
      batches[at(task)].device = issue_.stream_device[at(command.stream)];
      if (command.kind == CommandKind::combine) batches[at(task)].tasks = std::span(&task, 1);
    }
  single_items_ = upload_items(0, batches);
  single_kinds_ = std::move(kinds);
}

// On the stream of its device. Before another device than `device` goes on, the host waits for that one.
void CudaExecution::run_task(std::int32_t task, int& device) const {
  const CommandKind kind = single_kinds_[at(task)];
  if (kind == CommandKind::record) return;
  const int next = device_of_[at(plan_.tasks[at(task)].rank)];
  if (next != device) {
    if (device >= 0) COLLSIM_CUDA_CALL(cudaStreamSynchronize(device_streams_[at(device)].get()));
    COLLSIM_CUDA_CALL(cudaSetDevice(next));
    device = next;
  }
  const cudaStream_t stream = device_streams_[at(next)].get();
  if (kind == CommandKind::combine)
    launch_items(single_items_, at(task), next, stream);
  else
    launch_task(0, kind, task, stream);
}

void CudaExecution::run_in_order(std::span<const std::int32_t> order) {
  COLLSIM_CHECK(order.size() == plan_.tasks.size());
  checked([&] {
    prepare_single_tasks();
    int device = -1;
    for (const std::int32_t task : order) run_task(task, device);
    if (device >= 0) COLLSIM_CUDA_CALL(cudaStreamSynchronize(device_streams_[at(device)].get()));
  });
}

std::vector<GuardBreach> CudaExecution::breaches() {
  return checked([&] { return read_guards(); });
}

std::vector<GuardBreach> CudaExecution::read_guards() const {
  std::vector<GuardBreach> found;
  for (std::int32_t area = 0; area < map_.areas; ++area)
    for (const bool before : {true, false}) {
      const std::int64_t offset = before ? -guard_bytes : plan_.areas[at(area)].bytes;
      Guard guard{};
      from_device(map_.device[at(area)], address(0, {area, offset}),
                  std::as_writable_bytes(std::span(guard)));
      const std::optional<std::int64_t> changed = first_changed(guard, area, before);
      if (changed) found.push_back({area, before, offset + *changed});
    }
  return found;
}

}  // namespace collsim::kernels
