// MscclFile: an MSCCL algorithm file as a value, and what can be said about one.
//
// The format is that of MSCCL's runtime (Azure/msccl-executor-nccl, src/misc/msccl/msccl_parser.cc; the same
// in RCCL) and of its generator (microsoft/msccl-tools, msccl/language/ir.py):
//
//     <algo name proto nchannels nchunksperloop ngpus coll inplace outofplace minBytes maxBytes>
//       <gpu id i_chunks o_chunks s_chunks>
//         <tb id send recv chan>
//           <step s type srcbuf srcoff dstbuf dstoff cnt depid deps hasdep/>
//
// The vector of a rank is nchunksperloop chunks of equal size. A thread block (tb) executes its steps in
// order; it sends to one gpu and receives from one at most, on one channel. Offsets and counts are in chunks.
//
//   type   does                                            type   does
//   s      send src                                        rrs    receive, add src, send on, store nothing
//   r      receive into dst                                rrcs   receive, add src, store in dst, send on
//   rcs    receive into dst, send it on                    cpy    dst = src on this gpu
//   rrc    receive, add src, store in dst                  re     dst = dst + src on this gpu
//   nop    nothing but a dependency
//
// A step waits until step `deps` of thread block `depid` of its gpu is done; several dependencies are nops
// before the step. hasdep=1 makes a step tell others that it is done.
//
// "NCCL" in a text means this runtime.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/id.hpp"
#include "sim/model/collective.hpp"

namespace collsim::algorithms {

enum class MscclStepType : std::uint8_t { s, r, rcs, rrc, rrs, rrcs, cpy, re, nop };
enum class MscclBuffer : std::uint8_t { i, o, s };

std::string_view name_of(MscclStepType type);
std::string_view name_of(MscclBuffer buffer);
bool sends(MscclStepType type);     // s, rcs, rrs, rrcs
bool receives(MscclStepType type);  // r, rcs, rrc, rrs, rrcs
bool stores(MscclStepType type);    // uses dst: r, rcs, rrc, rrcs, cpy, re
bool loads(MscclStepType type);     // uses src: s, rrc, rrs, rrcs, cpy, re

struct MscclStep {
  MscclStepType type = MscclStepType::nop;
  MscclBuffer source_buffer = MscclBuffer::i;
  MscclBuffer target_buffer = MscclBuffer::o;
  bool has_dependents = false;        // hasdep
  std::int32_t number = 0;            // s; NCCL goes by the place of the step, not by this
  std::int32_t source = -1;           // srcoff
  std::int32_t target = -1;           // dstoff
  std::int32_t count = 0;             // cnt
  std::int32_t dependency_tb = -1;    // depid
  std::int32_t dependency_step = -1;  // deps
  std::int32_t line = 0;
};

struct MscclThreadBlock {
  std::int32_t send = -1;  // peer, or -1
  std::int32_t receive = -1;
  std::int32_t channel = 0;
  std::int32_t line = 0;
  std::vector<MscclStep> steps;
};

struct MscclGpu {
  std::int32_t input_chunks = 0;
  std::int32_t output_chunks = 0;
  std::int32_t scratch_chunks = 0;
  std::int32_t line = 0;
  std::vector<MscclThreadBlock> tbs;  // [id]
};

// What is wrong with a file, or worth knowing. Numbers below 0: not said.
struct MscclFinding {
  enum class Severity { error, warning };
  struct Place {
    std::int32_t gpu = -1;
    std::int32_t tb = -1;
    std::int32_t step = -1;
    std::int32_t line = 0;  // 1-based; 0: the file as a whole
    friend bool operator==(const Place&, const Place&) = default;
  };
  Severity severity = Severity::error;
  Place place;
  Place other;              // the second step that it takes, for instance the sender
  std::int32_t column = 0;  // 1-based; 0: of the line as a whole
  std::string text;         // one sentence without full stop
  std::string expected;     // what would be right, or empty
  std::string hint;         // the nearest right spelling, or empty
  std::string nccl;         // what NCCL does with it, or empty
};

struct MscclFile {
  std::string name;
  std::string protocol;
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::int32_t channels = 1;
  std::int32_t chunks = 1;  // nchunksperloop
  std::int32_t ranks = 1;   // ngpus
  bool in_place = false;
  bool out_of_place = false;
  std::optional<std::int32_t> root;  // an attribute of ours; NCCL has none
  std::optional<std::int64_t> bytes_min;
  std::optional<std::int64_t> bytes_max;  // 0: no limit
  std::int32_t line = 1;
  std::vector<MscclGpu> gpus;          // [rank]
  std::vector<MscclFinding> warnings;  // of the reader

  std::int64_t steps() const;
  const MscclStep& step(Rank gpu, std::int32_t tb, std::int32_t number) const {
    return gpus[static_cast<std::size_t>(gpu)]
        .tbs[static_cast<std::size_t>(tb)]
        .steps[static_cast<std::size_t>(number)];
  }
  MscclFinding::Place place(Rank gpu, std::int32_t tb, std::int32_t number) const {
    return {gpu, tb, number, step(gpu, tb, number).line};
  }
};

// "gpu 3, tb 2, step 5", "gpu 3", or empty.
std::string text_of(const MscclFinding::Place& place);
// "o[12]", "o[12..15]"
std::string chunk_text(MscclBuffer buffer, std::int32_t offset, std::int32_t count);

}  // namespace collsim::algorithms
