// What the steps of a file do with the data: where a wrong result comes from, and which work is for nothing.
// Internal to the msccl files. Whether a result is wrong is decided by prove() (sim/model/proof.hpp); this
// says where.
//
// Complexity  O(chunks of all steps * ranks / 64) time; 16 bytes a chunk of a gpu, and ranks / 8 bytes for
//             each sum, at most 128 MB: beyond that nothing is said.
#pragma once

#include "algorithms/msccl_places.hpp"
#include "algorithms/msccl_run.hpp"
#include "sim/model/schedule.hpp"

namespace collsim::algorithms {

// Errors, in this order: steps at which something goes wrong, as they were executed (what is there already is
// added again, contributions of different chunks are added, a chunk that nobody has written is used, a chunk
// is overwritten before anyone has read it, a chunk is stored at the place of another), at most 8; then the
// chunks of the result that are wrong, until there are 20 errors. REQUIRES: run has ended; schedule is that
// of the file
void explain_result(const MscclIndex& index, const MscclPlaces& places, const MscclRun& run,
                    const Schedule& schedule, MscclFindings& findings);

// Warnings: steps whose result reaches no output. REQUIRES: the same
void find_unused(const MscclIndex& index, const MscclPlaces& places, const MscclRun& run,
                 const Schedule& schedule, MscclFindings& findings);

}  // namespace collsim::algorithms
