#include "algorithms/pipelined_tree.hpp"

#include <algorithm>
#include <utility>

#include "sim/core/check.hpp"

namespace collsim::algorithms {
namespace {

constexpr std::int64_t slice_bytes = 512 * 1024;  // a step of NCCL's Simple protocol buffers
constexpr std::int64_t slices_automatic_max = 256;

// Numbers of the programs; the last three are followed by one for each number of children.
constexpr std::int32_t program_receive = 0;
constexpr std::int32_t program_send = 1;
constexpr std::int32_t program_send_received = 2;
constexpr std::int32_t program_counted = 3;
// Of the programs for one number of children: adds what they send; sends the sum.
constexpr std::int32_t program_add = 0;
constexpr std::int32_t program_send_sum = 1;

}  // namespace

TreeFlow tree_flow_of(CollectiveKind kind) {
  return {kind != CollectiveKind::broadcast, kind != CollectiveKind::reduce};
}

TreeStreams::TreeStreams(TreeFlow flow, std::int32_t slices, std::vector<std::int32_t> child_counts)
    : flow_(flow), slices_(slices), child_counts_(std::move(child_counts)) {
  std::sort(child_counts_.begin(), child_counts_.end());
  child_counts_.erase(std::unique(child_counts_.begin(), child_counts_.end()), child_counts_.end());
}

std::vector<Program> TreeStreams::programs() const {
  ChunkExpression slice;
  slice.region_base = 0;
  slice.region_stride = 1;
  const auto single = [&](OperationKind kind) {
    return Program{{Loop{slices_, {make_operation(kind, 0, slice)}}}};
  };
  const auto after = [](Program program, std::int32_t operations) {
    program.loops[0].body[0].dependencies.push_back(Dependency{0, std::int64_t{operations} - 1, operations});
    return program;
  };
  const Program send = single(OperationKind::send);
  std::vector<Program> programs = {single(OperationKind::receive), send, after(send, 1)};
  for (const std::int32_t children : child_counts_) {
    Loop loop{slices_, {}};
    for (std::int32_t child = 0; child < children; ++child)
      loop.body.push_back(make_operation(OperationKind::receive_reduce, child, slice));
    programs.push_back(Program{{loop}});
    programs.push_back(after(send, children));
  }
  return programs;
}

std::int32_t TreeStreams::index_of(std::int32_t children) const {
  const auto found = std::lower_bound(child_counts_.begin(), child_counts_.end(), children);
  COLLSIM_CHECK(found != child_counts_.end() && *found == children);
  return program_counted + 2 * static_cast<std::int32_t>(found - child_counts_.begin());
}

void TreeStreams::bind(const TreePlace& place, std::int32_t tree, std::int32_t first, std::int32_t role,
                       Binding& binding) const {
  const auto children = static_cast<std::int32_t>(place.children.size());
  const bool has_parent = place.parent >= 0;
  const bool adds = flow_.up && children > 0;
  binding.bases.push_back(std::int64_t{tree} * slices_);
  std::int32_t next = first;  // the stream of the role that is asked for next
  if (adds && next++ == first + role) {
    binding.program = index_of(children) + program_add;
    for (const Rank child : place.children) binding.peers.push_back(Peer{child, tree});
    return;
  }
  if (flow_.up && has_parent && next++ == first + role) {
    binding.program = adds ? index_of(children) + program_send_sum : program_send;
    binding.peers.push_back(Peer{place.parent, tree});
    if (adds) binding.streams.push_back(first);
    return;
  }
  if (flow_.down && has_parent && next++ == first + role) {
    binding.program = program_receive;
    binding.peers.push_back(Peer{place.parent, tree});
    return;
  }
  const auto child = static_cast<std::size_t>(first + role - next);
  COLLSIM_CHECK(flow_.down && child < place.children.size());
  binding.peers.push_back(Peer{place.children[child], tree});
  binding.program = program_send;
  if (has_parent) {
    binding.program = program_send_received;
    binding.streams.push_back(next - 1);
  } else if (adds) {
    binding.program = index_of(children) + program_send_sum;
    binding.streams.push_back(first);
  }
}

std::int32_t tree_slices_automatic(const Collective& collective, std::int32_t parts) {
  const std::int64_t part = (collective.bytes.count() + parts - 1) / parts;
  return static_cast<std::int32_t>(
      std::clamp<std::int64_t>((part + slice_bytes - 1) / slice_bytes, 1, slices_automatic_max));
}

}  // namespace collsim::algorithms
