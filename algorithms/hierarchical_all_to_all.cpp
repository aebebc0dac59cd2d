// Hierarchical all-to-all, rail-aligned as NCCL's PXN (P x N) makes it: what goes to GPU g of other nodes is
// first gathered on the own node's GPU g, then one message a pair of nodes takes it along rail g, so that no
// message changes rails inside the fabric.
//
// Rank (m, g) is GPU g of node m. Streams of a rank, in this order:
//   pack     its own blocks for (m', g), m' = m + 1, m + 2, ..., to scratch; its own block to the output
//   gather   a stream each GPU g - 1, g - 2, ... of the node: its blocks for (m', g) to scratch, the one for
//            (m, g) to the output
//   give     a stream each GPU g + 1, g + 2, ...: the blocks for (m', g'), nearest node first, (m, g') last
//   send     to (m + 1, g), (m + 2, g), ...: the G blocks of the node for it, when they are there
//   receive  from (m - 1, g), (m - 2, g), ...: the output's blocks of that node's GPUs
// Scratch has as many blocks as there are ranks: block m' G + g' is what GPU g' of the own node has for
// (m', g). With one GPU a node nothing is gathered and messages leave the input. With one node there is no
// send and no receive.
#include "algorithms/common.hpp"
#include "algorithms/hierarchical.hpp"

namespace collsim::algorithms {
namespace {

constexpr std::int8_t base_node = 0;   // Binding::bases: the own node
constexpr std::int8_t base_gpu = 1;    // the own GPU
constexpr std::int8_t base_other = 2;  // the GPU that is given to or gathered from

// Block (node + ahead + trip) mod nodes, of GPU bases[gpu]; `span` blocks.
ChunkExpression block_of(Buffer buffer, std::int8_t gpu, std::int32_t ahead, std::int32_t nodes,
                         std::int32_t gpus, std::int32_t span = 1) {
  ChunkExpression chunk;
  chunk.buffer = buffer;
  chunk.origin_base = gpu;
  chunk.block_base = base_node;
  chunk.block_offset = ahead;
  chunk.block_stride = 1;
  chunk.block_modulus = nodes;
  chunk.block_unit = gpus;
  chunk.span = span;
  return chunk;
}

OperationTemplate copy_of(const ChunkExpression& from, const ChunkExpression& to) {
  OperationTemplate copy = make_operation(OperationKind::copy, -1, to);
  copy.source = from;
  return copy;
}

// Numbers of the programs, and of the streams that come first.
enum Role : std::int32_t { pack, gather, give, send, receive };

struct Shape {
  std::int32_t nodes = 1;
  std::int32_t gpus = 1;

  std::int32_t streams() const { return 1 + 2 * (gpus - 1) + (nodes > 1 ? 2 : 0); }

  std::vector<Program> programs() const {
    // The last trip of three is the own node's, and goes to the output.
    const auto both = [&](const OperationTemplate& others, const OperationTemplate& own) {
      return Program{{Loop{std::int64_t{nodes} - 1, {others}}, Loop{1, {own}}}};
    };
    const auto chunk = [&](Buffer buffer, std::int8_t gpu, std::int32_t ahead) {
      return block_of(buffer, gpu, ahead, nodes, gpus);
    };
    std::vector<Program> programs(receive + 1);
    const OperationTemplate keep =
        copy_of(chunk(Buffer::input, base_gpu, 0), chunk(Buffer::output, base_gpu, 0));
    const OperationTemplate packed =
        copy_of(chunk(Buffer::input, base_gpu, 1), chunk(Buffer::scratch, base_gpu, 1));
    programs[pack] = gpus > 1 ? both(packed, keep) : Program{{Loop{1, {keep}}}};
    programs[gather] = both(make_operation(OperationKind::receive, 0, chunk(Buffer::scratch, base_other, 1)),
                            make_operation(OperationKind::receive, 0, chunk(Buffer::output, base_other, 0)));
    programs[give] = both(make_operation(OperationKind::send, 0, chunk(Buffer::input, base_other, 1)),
                          make_operation(OperationKind::send, 0, chunk(Buffer::input, base_other, 0)));
    Loop sends;
    Loop receives;
    const Buffer from = gpus > 1 ? Buffer::scratch : Buffer::input;
    for (std::int32_t i = 0; i + 1 < nodes; ++i) {
      sends.body.push_back(
          make_operation(OperationKind::send, i, block_of(from, -1, 1 + i, nodes, gpus, gpus)));
      for (std::int32_t stream = 0; gpus > 1 && stream < gpus; ++stream)
        sends.body.back().dependencies.push_back(Dependency{stream, i, 0});
      receives.body.push_back(
          make_operation(OperationKind::receive, i, block_of(Buffer::output, -1, -1 - i, nodes, gpus, gpus)));
    }
    programs[send] = Program{{sends}};
    programs[receive] = Program{{receives}};
    return programs;
  }

  void bind(Rank rank, std::int32_t stream, Binding& binding) const {
    const std::int32_t node = rank / gpus;
    const std::int32_t gpu = rank % gpus;
    const std::int32_t peers = gpus - 1;
    binding.bases = {node, gpu};
    if (stream == 0) return;
    if (stream <= 2 * peers) {
      const std::int32_t index = (stream - 1) % peers;
      const bool gives = stream > peers;
      const std::int32_t other = (gives ? gpu + 1 + index : gpu + peers - index) % gpus;
      binding.program = gives ? give : gather;
      binding.peers.push_back(Peer{node * gpus + other, 0});
      binding.bases.push_back(other);
      return;
    }
    const bool sends = stream == 2 * peers + 1;
    binding.program = sends ? send : receive;
    for (std::int32_t i = 0; i + 1 < nodes; ++i) {
      const std::int32_t other = (sends ? node + 1 + i : node + nodes - 1 - i) % nodes;
      binding.peers.push_back(Peer{other * gpus + gpu, 0});
    }
    for (std::int32_t first = 0; sends && gpus > 1 && first < gpus; ++first) binding.streams.push_back(first);
  }
};

}  // namespace

Schedule rail_aligned_all_to_all(const Collective& collective, const Placement& placement,
                                 const AlgorithmOptions& options) {
  const Shape shape{placement.nodes, placement.gpus_per_node};
  Schedule schedule = schedule_frame("hierarchical", collective, placement, options, {}, placement.ranks());
  schedule.in_place = false;
  if (shape.gpus > 1 && shape.nodes > 1) schedule.layout.set_scratch_regions(1);
  schedule.programs = shape.programs();
  schedule.stream_count = [shape](Rank) { return shape.streams(); };
  schedule.bind = [shape](Rank rank, std::int32_t stream, Binding& binding) {
    shape.bind(rank, stream, binding);
  };
  return schedule;
}

}  // namespace collsim::algorithms
