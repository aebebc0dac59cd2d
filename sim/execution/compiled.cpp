#include "sim/execution/compiled.hpp"

#include "sim/core/check.hpp"

namespace collsim {
namespace {

// Whether the blocks of every region have one size, each region its own.
bool uniform_by_region(const Layout& layout) {
  for (std::int32_t region = 0; region < layout.regions(); ++region)
    if (layout.size(region, 0, layout.blocks()).count() !=
        layout.size(region, 0, 1).count() * layout.blocks())
      return false;
  return true;
}

bool stays_in_region(const OperationTemplate& operation) {
  return operation.chunk.region_stride == 0 || operation.kind == OperationKind::wait;
}

void note_peer(std::vector<bool>& slots, std::int32_t peer) {
  COLLSIM_CHECK(peer >= 0);
  const auto index = static_cast<std::size_t>(peer);
  if (slots.size() <= index) slots.resize(index + 1);
  slots[index] = true;
}

void note(CompiledProgram& program, const OperationTemplate& operation) {
  switch (operation.kind) {
    case OperationKind::send:
      return note_peer(program.sends_to, operation.peer);
    case OperationKind::receive_reduce:
      program.reduces = true;
      return note_peer(program.receives_from, operation.peer);
    case OperationKind::receive:
      return note_peer(program.receives_from, operation.peer);
    case OperationKind::reduce:
      program.reduces = true;
      return;
    case OperationKind::copy:
      program.copies = true;
      return;
    case OperationKind::aggregate:
    case OperationKind::collect:
    case OperationKind::wait:
      return;
  }
}

}  // namespace

bool uniform(const Layout& layout) {
  const std::int64_t first = layout.size(0, 0, 1).count();
  for (std::int32_t region = 0; region < layout.regions(); ++region) {
    const std::int64_t all = layout.size(region, 0, layout.blocks()).count();
    if (all != first * layout.blocks() || layout.size(region, 0, 1).count() != first) return false;
  }
  return true;
}

std::uint32_t CompiledPrograms::add(const Schedule& schedule) {
  const auto first = static_cast<std::uint32_t>(programs.size());
  const bool same_size = uniform(schedule.layout);
  const bool same_in_region = uniform_by_region(schedule.layout);
  for (const Program& program : schedule.programs) {
    CompiledProgram compiled;
    compiled.uniform = same_size;
    compiled.by_region = same_in_region;
    compiled.first_loop = static_cast<std::uint32_t>(loops.size());
    for (const Loop& loop : program.loops) {
      if (loop.trips <= 0 || loop.body.empty()) continue;
      const auto begin = static_cast<std::uint32_t>(operations.size());
      for (const OperationTemplate& operation : loop.body) {
        CompiledOperation flat;
        flat.kind = operation.kind;
        flat.peer = operation.peer;
        flat.chunk = operation.chunk;
        if (same_size) flat.bytes = schedule.layout.size(0, 0, 1).count() * operation.chunk.span;
        flat.first_wait = static_cast<std::uint32_t>(waits.size());
        flat.wait_count = static_cast<std::uint32_t>(operation.dependencies.size());
        waits.insert(waits.end(), operation.dependencies.begin(), operation.dependencies.end());
        operations.push_back(flat);
        note(compiled, operation);
        compiled.by_region = compiled.by_region && stays_in_region(operation);
        if (operation.kind == OperationKind::send) compiled.send_count += loop.trips;
      }
      loops.push_back({loop.trips, begin, static_cast<std::uint32_t>(operations.size())});
    }
    compiled.loop_end = static_cast<std::uint32_t>(loops.size());
    programs.push_back(std::move(compiled));
  }
  return first;
}

}  // namespace collsim
