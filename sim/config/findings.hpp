// Findings: what is wrong with values that are right one by one, said at the places where they were written.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/checker.hpp"
#include "sim/core/check.hpp"
#include "sim/core/units.hpp"

namespace collsim::config {

class Findings {
 public:
  Findings(const Places& places, Diagnostics& diagnostics) : places_(places), diagnostics_(diagnostics) {}

  // At the place of `key`, or of the nearest one around it that was written.
  void error(const std::string& key, std::string message, std::string expected = "", std::string hint = "");
  void error_at(const Where& where, std::string key, std::string message, std::string expected = "",
                std::string hint = "");
  // Only for what a person wrote.
  void warn(const std::string& key, std::string message);

  // Where `key` was written; nowhere if it was not.
  const Where& place(const std::string& key) const;
  bool is_written(const std::string& key) const { return place(key).source != nullptr; }

 private:
  const Places& places_;
  Diagnostics& diagnostics_;
};

inline int int_of(const Value& value) { return static_cast<int>(value.number); }
inline Bandwidth bandwidth_of(const Value& value) { return Bandwidth::bytes_per_second(value.number); }
inline Duration duration_of(const Value& value) { return Duration::picoseconds(value.number); }
inline Bytes bytes_of(const Value& value) { return Bytes(value.number); }

template <class Result, class Convert>
std::optional<Result> optional_of(const Value& value, Convert convert) {
  if (!value.given || value.automatic) return std::nullopt;
  return convert(value);
}
inline std::optional<int> optional_int(const Value& value) { return optional_of<int>(value, int_of); }
inline std::optional<Bandwidth> optional_bandwidth(const Value& value) {
  return optional_of<Bandwidth>(value, bandwidth_of);
}
inline std::optional<Duration> optional_duration(const Value& value) {
  return optional_of<Duration>(value, duration_of);
}
inline std::optional<Bytes> optional_bytes(const Value& value) { return optional_of<Bytes>(value, bytes_of); }

// The enumerator of that name; `none` if no kind was given.
template <class Enum, std::size_t count>
Enum kind_of(const Value& kind, const std::array<Enum, count>& all, Enum none) {
  if (!kind.given) return none;
  for (const Enum candidate : all)
    if (kind.text == name_of(candidate)) return candidate;
  COLLSIM_CHECK_MSG(false, "a kind of the table has no enumerator: " + kind.text);
}

// The values of a key that takes one or a list, with their paths.
std::vector<std::pair<std::string, const Value*>> each(const Value& value, const std::string& path);

// What a file says of another file: its path, which is relative to the folder of the file that names it.
std::string path_of(const Value& name);
std::string path_of(const Node& name);

// "there is no rank 9", expected "a rank from 0 to 7", if there are `ranks`. True if there is.
bool exists(std::int64_t rank, std::int64_t ranks, const std::string& key, Findings& findings);

// The numbers of a value of the form `numbers`, one or a list: distinct and below `count`, `noun` each
// ("rank", "GPU"). Stops at the first error of an entry. At most `count` numbers.
std::vector<std::int32_t> distinct_numbers(const Value& value, const std::string& path, std::int64_t count,
                                           const std::string& noun, Findings& findings);

}  // namespace collsim::config
