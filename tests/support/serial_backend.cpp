#include "tests/support/serial_backend.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <vector>

#include "sim/core/units.hpp"

namespace collsim::testing {
namespace {

using kernels::Place;
using kernels::Plan;
using kernels::Task;
using kernels::TaskKind;

constexpr std::int64_t element = 8;

class SerialExecution : public kernels::Execution {
 public:
  explicit SerialExecution(const Plan& plan) : plan_(plan) {
    for (const kernels::Area& area : plan.areas)
      memory_.emplace_back(static_cast<std::size_t>(area.bytes / element), 0xdeadbeefdeadbeefULL);
  }

  void upload(std::int32_t area, std::int64_t offset, std::span<const std::byte> data) override {
    if (!data.empty()) std::memcpy(at(area, offset, data.size()), data.data(), data.size());
  }
  void download(std::int32_t area, std::int64_t offset, std::span<std::byte> data) override {
    if (!data.empty()) std::memcpy(data.data(), at(area, offset, data.size()), data.size());
  }
  Duration run() override {
    std::vector<std::int32_t> order(plan_.tasks.size());
    std::iota(order.begin(), order.end(), 0);
    run_in_order(order);
    return Duration::nanoseconds(1);
  }
  void run_in_order(std::span<const std::int32_t> order) override {
    std::vector<bool> done(plan_.tasks.size());
    for (const std::int32_t number : order) {
      const Task& task = plan_.tasks.at(static_cast<std::size_t>(number));
      for (const std::int32_t before : plan_.predecessors_of(task))
        if (!done.at(static_cast<std::size_t>(before))) throw PlanFault("a predecessor is not done");
      if (done[static_cast<std::size_t>(number)]) throw PlanFault("a task is done twice");
      run_task(task);
      done[static_cast<std::size_t>(number)] = true;
    }
    if (order.size() != plan_.tasks.size()) throw PlanFault("an order has not all tasks");
  }
  std::vector<kernels::GuardBreach> breaches() override { return {}; }

 private:
  std::uint64_t* at(std::int32_t area, std::int64_t offset, std::size_t bytes) {
    std::vector<std::uint64_t>& words = memory_.at(static_cast<std::size_t>(area));
    const auto size = static_cast<std::int64_t>(bytes);
    if (offset < 0 || offset % element != 0 || size % element != 0 ||
        offset + size > static_cast<std::int64_t>(words.size()) * element)
      throw PlanFault("a place is outside its area");
    return words.data() + offset / element;
  }

  void run_task(const Task& task) {
    if (task.kind == TaskKind::nothing) return;
    const std::span<const Place> places = plan_.places_of(task);
    std::vector<std::uint64_t*> words;
    for (const Place& place : places)
      words.push_back(at(place.area, place.offset, static_cast<std::size_t>(task.bytes)));
    const std::int64_t count = task.bytes / element;
    if (task.kind == TaskKind::divide) {
      for (std::int64_t i = 0; i < count; ++i) words[0][i] /= static_cast<std::uint64_t>(plan_.ranks);
      return;
    }
    if (task.sources < 1 || task.destinations < 1 || count < 1) throw PlanFault("a task has no work");
    for (std::size_t to = task.sources; to < words.size(); ++to)
      for (std::size_t other = 0; other < words.size(); ++other) {
        const bool apart = words[to] + count <= words[other] || words[other] + count <= words[to];
        if (other != to && !apart && (words[other] != words[to] || other >= task.sources))
          throw PlanFault("places overlap");
      }
    for (std::int64_t i = 0; i < count; ++i) {
      std::uint64_t sum = 0;
      for (std::size_t from = 0; from < task.sources; ++from) sum += words[from][i];
      for (std::size_t to = task.sources; to < words.size(); ++to) words[to][i] = sum;
    }
  }

  const Plan& plan_;
  std::vector<std::vector<std::uint64_t>> memory_;
};

}  // namespace

std::unique_ptr<kernels::Execution> SerialBackend::prepare(const Plan& plan, const kernels::PrepareOptions&) {
  if (plan.collective.datatype != Datatype::uint64)
    throw kernels::DeviceError(kernels::DeviceError::Kind::unsupported, "sums of uint64 only");
  return std::make_unique<SerialExecution>(plan);
}

}  // namespace collsim::testing
