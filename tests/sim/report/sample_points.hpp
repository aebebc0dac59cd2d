// Points made by hand, with figures that can be followed on paper.
#pragma once

#include "sim/report/point.hpp"

namespace collsim {

// Ring, 8 ranks on one NVSwitch, 100 GB/s and 500 ns a link, 8 MiB: 14 steps of 1 MiB, 160,800,640 ps.
Point ring_point();
// The same cluster, an algorithm that it cannot run.
Point impossible_point(Bytes size);
// A ring of three ranks that waits for itself.
Point deadlock_point();
// Two ranks on one direct cable, 1 GB/s and 100 ns.
Topology cable_topology();

}  // namespace collsim
