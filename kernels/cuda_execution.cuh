// Execution of a plan on CUDA devices. Internal to kernels.
//
//   prepare   one allocation a device; launch items of all sets uploaded; one trial launch a device, so that
//             no kernel is loaded while a graph is captured
//   run       the commands of issue_of(), captured into a graph once for each set, or issued one by one
//
// Failure     After an error of kind `failed` every call throws it again: a device that has failed once gives
//             no more results in this process.
// Device      The current device of the caller is left as it was.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda_areas.hpp"
#include "kernels/cuda_issue.hpp"
#include "kernels/cuda_launch.hpp"
#include "kernels/cuda_resources.cuh"

namespace collsim::kernels {

class CudaExecution : public Execution {
 public:
  // `device_of`: [rank]; `names`: [device].
  CudaExecution(const Plan& plan, const PrepareOptions& options, std::vector<int> device_of,
                std::vector<std::string> names, std::function<bool(int, int)> reaches);
  ~CudaExecution() override;
  void upload(std::int32_t area, std::int64_t offset, std::span<const std::byte> data) override;
  void download(std::int32_t area, std::int64_t offset, std::span<std::byte> data) override;
  Duration run() override;
  void run_in_order(std::span<const std::int32_t> order) override;
  std::vector<GuardBreach> breaches() override;

 private:
  // Combine tasks that are one launch.
  struct Batch {
    int device = 0;
    std::span<const std::int32_t> tasks;  // empty: no launch
  };
  // Where the items of a batch lie in their device's list.
  struct Launch {
    std::int64_t first = 0;
    std::int32_t count = 0;
    std::int64_t tiles = 0;
  };
  // Items of batches, as they are in device memory.
  struct Items {
    std::vector<Launch> launches;    // [batch]
    std::vector<CudaMemory> memory;  // [device]
  };
  template <class Function>
  auto checked(Function&& function);
  void check_memory() const;
  void make_areas();
  void make_streams();
  void try_kernels();
  std::byte* address(std::int32_t set, const Place& place) const;
  CombineItem item_of(std::int32_t set, const Task& task) const;
  std::vector<Batch> batches() const;
  Items upload_items(std::int32_t set, std::span<const Batch> batches) const;
  void to_device(int device, std::byte* target, std::span<const std::byte> data) const;
  void from_device(int device, const std::byte* source, std::span<std::byte> data) const;
  void launch_items(const Items& items, std::size_t batch, int device, cudaStream_t stream) const;
  void launch_task(std::int32_t set, CommandKind kind, std::int32_t task, cudaStream_t stream) const;
  void issue(std::int32_t set) const;
  void capture(std::int32_t set);
  void prepare_single_tasks();
  void run_task(std::int32_t task, int& device) const;
  std::vector<GuardBreach> read_guards() const;

  const Plan& plan_;
  PrepareOptions options_;
  std::vector<int> device_of_;
  std::vector<std::string> names_;
  AreaMap map_;
  Issue issue_;
  std::vector<CudaMemory> memory_;  // [device]
  std::vector<Items> items_;        // [set]: a batch for each of issue_.commands
  // Of set 0, a batch for each task, and how it is done; made by the first run_in_order. `record`: no work.
  Items single_items_;
  std::vector<CommandKind> single_kinds_;
  std::vector<CudaStream> device_streams_;  // [device]: for all that is no run
  std::vector<CudaStream> streams_;         // of issue_
  std::vector<CudaEvent> events_;           // of issue_
  std::array<CudaEvent, 2> times_;          // of the origin: start, end
  std::vector<CudaGraphExec> graphs_;       // [set]; null until the first run
  std::int64_t runs_ = 0;
  std::string failure_;  // what failed for good
};

}  // namespace collsim::kernels
