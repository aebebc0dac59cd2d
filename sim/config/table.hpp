// The table of keys: everything that an experiment file may say. One table drives the reader, the texts of
// its errors and the JSON Schema.
//
// A Key is one line of the table: name, form of its value, description, default, limits. A key whose form is
// `table` has keys of its own. Defaults are text and are read like the user's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/reader.hpp"
#include "sim/core/units.hpp"

namespace collsim::config {

enum class Form {
  integer,
  size,       // "8 MiB"
  bandwidth,  // "400 Gbit/s"
  duration,   // "500 ns"
  boolean,
  name,      // one of `names`
  fraction,  // 2, 1.5 or "3:2"
  table,     // a map of `keys`
  later      // named in the contract; the feature is not there yet
};
enum class Count { one, many, one_or_many };

struct Key {
  std::string name;
  Form form = Form::table;
  std::string description;
  std::string fallback;  // the default as it would be written; "" = none
  Count count = Count::one;
  bool required = false;
  bool automatic = false;    // integer: `auto` is a value too
  bool list_later = false;   // a list is in the contract, but not there yet
  std::int64_t minimum = 0;  // integers; sizes in bytes, bandwidths in bytes/s, times in ps
  std::int64_t maximum = 0;
  std::vector<std::string> names;    // name: the values
  std::vector<std::string> aliases;  // name: other spellings that are accepted
  std::vector<std::string> later;    // name: in the contract, not there yet
  bool open = false;                 // name: the binder knows which of `names` fit, and says so
  std::string file_suffix;           // name: a path that ends so is a value too
  std::vector<Key> keys;             // table; for another form: a map that may stand for the value (size)
  std::string short_form;            // table: a bare value stands for this key of it
  // The values of the neighbouring key `kind` with which this key has an effect (none listed: all), and those
  // with which it must be given.
  std::vector<std::string> used_by;
  std::vector<std::string> required_by;
  std::string instead;  // later: what to do
};

// The whole file: a key of form table without a name.
Key experiment_table(const Registries& registries);

// Null if there is none.
const Key* find_key(const std::vector<Key>& keys, std::string_view name);

// "kind, levels, radix": those that can be used.
std::string names_of(const std::vector<Key>& keys);
std::string joined(const std::vector<std::string>& words);  // "a, b, c"
bool contains(const std::vector<std::string>& words, std::string_view word);

// What the key takes, for "expected ...": "a whole number from 1 to 64", "a size such as '8 MiB'".
std::string form_text(const Key& key);

// Limits that keep every later sum within int64.
constexpr std::int64_t ranks_max = std::int64_t{1} << 24;
constexpr std::int64_t bytes_max = std::int64_t{1} << 50;
constexpr std::int64_t bandwidth_max = std::int64_t{1} << 60;
constexpr std::int64_t duration_max = 1'000 * picoseconds_per_second;
constexpr std::int64_t sizes_max = 10'000;
constexpr std::int64_t algorithms_max = 1'000;

}  // namespace collsim::config
