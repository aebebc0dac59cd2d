// The machine-readable reports. Fields and their meaning are a contract: new ones may come, none changes.
//
// Integers are exact, doubles in the shortest form that reads back the same. No wall time: the same points
// give the same bytes on every run. Fingerprints are 16 hexadecimal digits in a string, because a JSON number
// above 2^53 is not safe with every reader.
//
// How a result was obtained: `messages` were represented, `events` were simulated; `executor` is "sweeps"
// (recurrences over arrays) or "events"; of `streams`, `classes` were run, each for all that behave alike.
// Of all fields only `events`, `executor` and `classes` change with the shortcuts of a run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/report/point.hpp"

namespace collsim {

// {"collsim": version, "seed": ..., "points": [...]}. `seed` is that of the first point.
std::string json_text(const std::vector<Point>& points, std::string_view version);

// RFC 4180, one row per point after a row of names. An absent value is an empty cell. Lines end in "\n".
std::string csv_text(const std::vector<Point>& points);
// A cell with a comma, a quote or a line break is quoted, and its quotes are doubled.
std::string csv_cell(std::string_view cell);

}  // namespace collsim
