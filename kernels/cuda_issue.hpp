// Issue: which CUDA stream gets which launches in which order, and which events tie the streams together.
// Plain C++ without a CUDA type, so that it is tested where there is no device.
//
// Streams     One for each (rank, stream) of the schedule that has work, on the rank's device, by rank and
//             stream; where a device would have more than streams_per_device, neighbours share one. Stream 0
//             is the origin: the others begin after it has recorded, and at the end it waits for all of them.
//             It has no work of its own. Divisions, which have no stream, take the first of their rank.
// Order       Tasks are issued by level: the largest number of tasks with work on a path that leads to it.
//             What has one level has no dependency among itself, so the combine tasks of one level and one
//             CUDA stream are one launch.
// Events      A CUDA stream waits only for what it does not know yet: a table of which stream knows how much
//             of which other one (vector clocks) drops waits that others imply. Only what somebody waits for
//             is recorded. A wait means the last record of the event that was issued before it, as CUDA
//             defines it, so an event is used again as soon as its last wait has been issued.
// Nothing     Tasks without work pass what they wait for on to those who wait for them. One with many
//             predecessors collects them in its stream, so that N before and N after are not N * N waits.
// Complexity  O(tasks log tasks + predecessors + steps * streams).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "kernels/plan.hpp"

namespace collsim::kernels {

enum class CommandKind : std::uint8_t {
  record,    // `event`, on `stream`
  wait,      // `stream` waits for the last record of `event` that was issued before
  combine,   // one launch for all its tasks
  divide,    // one task
  peer_copy  // one task: a copy between devices without access to each other
};

struct Command {
  CommandKind kind = CommandKind::record;
  std::int32_t stream = 0;
  std::int32_t event = -1;      // record, wait
  std::int32_t first_task = 0;  // into Issue::tasks
  std::int32_t task_count = 0;
};

struct Issue {
  std::vector<int> stream_device;   // [stream]; 0 is the origin
  std::vector<int> event_device;    // [event]: on which it is recorded
  std::vector<Command> commands;    // in the order in which they are issued
  std::vector<std::int32_t> tasks;  // of the commands
  bool has_peer_copies = false;
  std::span<const std::int32_t> tasks_of(const Command& command) const {
    return {tasks.data() + command.first_task, static_cast<std::size_t>(command.task_count)};
  }
};

constexpr std::int32_t streams_per_device_default = 32;

struct IssueOptions {
  std::vector<int> device_of;  // [rank]
  // Whether kernels on device `from` can use the memory of device `to`. Empty: all can.
  std::function<bool(int from, int to)> reaches;
  std::int32_t streams_per_device = streams_per_device_default;  // REQUIRES: >= 1
};

// Throws DeviceError (unsupported) where a task other than a copy needs memory that its device cannot reach.
Issue issue_of(const Plan& plan, const IssueOptions& options);

}  // namespace collsim::kernels
