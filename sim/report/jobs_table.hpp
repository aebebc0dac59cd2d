// The table of jobs that ran together, and what tables say of a run beside its algorithms.
#pragma once

#include <string>
#include <vector>

#include "sim/report/point.hpp"

namespace collsim {

// A heading and a line per job: what it is, when it began, its time, and how many times as long that is as
// the job by itself takes on the healthy cluster. REQUIRES: at least one point; all are jobs of one run
std::string jobs_rows_text(const std::vector<Point>& jobs);

// "network packet, routing ecmp, seed 1", "network fluid, 20 seeds from 1"
std::string setting_text(const Point& point);

}  // namespace collsim
