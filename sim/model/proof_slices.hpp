// Proof by the first slice: where all trips of a schedule do the same, each in regions of its own, one trip
// is executed. Internal to sim/model.
//
// Alike       A number T > 1 of trips, such that (1) every stream has one loop, of T trips, or none; (2)
//             trip k of every stream touches only regions k modulo T of the vector, always the same blocks:
//             region = q * T + k; (3) every dependency of trip k names an operation of trip k; and the parts
//             of all slices belong to the same ranks. Verified on the programs and on every binding.
//             first_slice() is trip 0 alone, with region q * T called q.
// Executed    All cells of the first slice (proof.hpp). Beside that it must be proven, (4) what is sent,
//             posted, received and collected must be the same chunk, not only as large, and (5) no message
//             and no result of an aggregation is left at the end.
// Pairing     By (4) and (5) a trip sends as much on every connection as it receives, and the same for
//             groups. So the messages of trip k are received in trip k, and by (2) and (4) their chunks are
//             equal.
// Deadlock    Trip 0 of all streams has a run that ends. It is the beginning of a run of the schedule,
//             because by (3) it waits for nothing else. After it connections and aggregations are empty by
//             (5), and every stream stands before trip 1: the state at the start, by (2) but for the names
//             of the regions. So trip 1 has such a run as well, and so on to the end. If one run of the
//             schedule ends, all do (Kahn, 1974).
// Values      By (2) and the pairing, the accesses to a cell of slice k and their order are those to its
//             cell of slice 0, T * bytes apart in name only: same values, and what shows that accesses are
//             ordered (streams, dependencies, messages of one trip) holds in every trip.
// Refusals    Scratch; chunks that move; schedules that are only in part alike. Then all cells are executed.
// Complexity  O(streams) to verify; one trip's operations to execute.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/model/proof.hpp"
#include "sim/model/schedule.hpp"

namespace collsim {

struct FirstSlice {
  Schedule schedule;       // uses the bind, stream_count and group of the whole
  std::int64_t trips = 1;  // slices of the whole
};

// Nothing if the trips are not alike.
std::optional<FirstSlice> first_slice(const Schedule& schedule);

// Of the whole schedule, by its first slice. If not proven, the whole may still be right.
// Adds what it finds to `numerics`, if that is given.
Proof prove_first_slice(const FirstSlice& slice, Numerics* numerics = nullptr);

}  // namespace collsim
