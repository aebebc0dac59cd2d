// MscclPlaces: where the chunks of a file lie in memory, with the aliases of a call in place or out of place.
// Internal to the msccl files.
//
//   collective                               chunks of i  chunks of o   in place
//   allreduce, reduce, broadcast, alltoall   n            n             i and o are the same
//   allgather, gather                        n / ngpus    n             i of gpu g is o[g * n / ngpus ...]
//   reducescatter, scatter                   n            n / ngpus     o of gpu g is i[g * n / ngpus ...]
// with n = nchunksperloop. A file may declare fewer (0 in place: the part of the other buffer); NCCL compares
// offsets with what is declared, data lies as above.
//
// A schedule has the vector as Buffer::output; out of place, Buffer::input holds the contribution beside it.
// Block b of both is chunk b of the whole vector, so a part of it begins at its owner's.
#pragma once

#include "algorithms/msccl_file.hpp"
#include "sim/model/schedule.hpp"

namespace collsim::algorithms {

class MscclPlaces {
 public:
  MscclPlaces(const MscclFile& file, bool in_place)
      : file_(file),
        in_place_(in_place),
        input_in_parts_(file.kind == CollectiveKind::all_gather || file.kind == CollectiveKind::gather),
        output_in_parts_(file.kind == CollectiveKind::reduce_scatter || file.kind == CollectiveKind::scatter),
        part_(file.chunks / file.ranks) {}

  bool in_place() const { return in_place_; }
  // Chunks that the buffer of a gpu has.
  std::int32_t size(Rank gpu, MscclBuffer buffer) const {
    if (buffer == MscclBuffer::s) return gpu_of(gpu).scratch_chunks;
    return part_of(buffer) ? part_ : file_.chunks;
  }
  // Chunks that the file says it has.
  std::int32_t declared(Rank gpu, MscclBuffer buffer) const {
    if (buffer == MscclBuffer::s) return gpu_of(gpu).scratch_chunks;
    return buffer == MscclBuffer::i ? gpu_of(gpu).input_chunks : gpu_of(gpu).output_chunks;
  }
  // REQUIRES: 0 <= offset < size
  Chunk chunk(Rank gpu, MscclBuffer buffer, std::int32_t offset, std::int32_t count) const {
    Chunk chunk;
    chunk.span = count;
    chunk.block = offset + (part_of(buffer) ? gpu * part_ : 0);
    chunk.buffer = buffer == MscclBuffer::s                 ? Buffer::scratch
                   : buffer == MscclBuffer::i && !in_place_ ? Buffer::input
                                                            : Buffer::output;
    return chunk;
  }
  Chunk source(Rank gpu, const MscclStep& step) const {
    return chunk(gpu, step.source_buffer, step.source, step.count);
  }
  Chunk target(Rank gpu, const MscclStep& step) const {
    return chunk(gpu, step.target_buffer, step.target, step.count);
  }
  // The file's name of a chunk of a schedule: "o[12]". A part has the name of the whole vector's buffer.
  std::string name(Buffer buffer, std::int32_t block, std::int32_t span, Rank gpu) const {
    if (buffer == Buffer::scratch) return chunk_text(MscclBuffer::s, block, span);
    MscclBuffer named = buffer == Buffer::input ? MscclBuffer::i : MscclBuffer::o;
    if (in_place_ && (output_in_parts_ || (!input_in_parts_ && gpu_of(gpu).output_chunks == 0)))
      named = MscclBuffer::i;
    const bool own = part_of(named) && block >= gpu * part_ && block + span <= (gpu + 1) * part_;
    return chunk_text(named, own ? block - gpu * part_ : block, span);
  }

 private:
  const MscclGpu& gpu_of(Rank gpu) const { return file_.gpus[static_cast<std::size_t>(gpu)]; }
  bool part_of(MscclBuffer buffer) const {
    return (buffer == MscclBuffer::i && input_in_parts_) || (buffer == MscclBuffer::o && output_in_parts_);
  }

  const MscclFile& file_;
  const bool in_place_;
  const bool input_in_parts_;   // i is a part of the vector
  const bool output_in_parts_;  // o is
  const std::int32_t part_;
};

}  // namespace collsim::algorithms
