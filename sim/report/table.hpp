// Text for people: the table of all points, the use of links, where the time goes, and who waits for whom.
//
// Every function returns whole lines. The same points give the same bytes.
#pragma once

#include <string>
#include <vector>

#include "sim/report/point.hpp"

namespace collsim {

// One line per point in the columns of nccl-tests, with the algorithm before the time, then bound, percentage
// and bottleneck. Repeated points have the median, and 5th and 95th percentile. Jobs that ran together have a
// table of their own (jobs_table.hpp). The root is shown where the collective has one; a barrier has no
// columns of data. A heading for each run of points that share cluster, collective and network; after its
// rows, the reason of each point that is not ok, with what blocks it, and which algorithm wins where
// (winners.hpp).
std::string table_text(const std::vector<Point>& points);

// For each point with conditions: its time without any, with each of them by itself, and with all.
std::string costs_text(const std::vector<Point>& points);

// For each point, its busiest links: bytes, bandwidth and utilization, highest first.
// REQUIRES: points with a time have `links`.
std::string links_text(const std::vector<Point>& points);

// For each point with a critical path: where its time goes, what limits it, and its bound in a sentence.
std::string explanation_text(const std::vector<Point>& points);

// "node0/gpu3->nvswitch0": the name of a link without spaces and without the part that both ends share.
std::string short_link_name(const std::string& name);

}  // namespace collsim
