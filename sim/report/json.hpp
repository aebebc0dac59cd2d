// The machine-readable reports. Fields and their meaning are a contract: new ones may come, none changes.
//
// Integers are exact, doubles in the shortest form that reads back the same. No wall time: the same points
// give the same bytes on every run. Fingerprints are 16 hexadecimal digits in a string, because a JSON number
// above 2^53 is not safe with every reader.
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

}  // namespace collsim
