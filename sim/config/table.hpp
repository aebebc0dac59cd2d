// The table of keys: everything that an experiment file may say. One table drives the reader, the texts of
// its errors and the JSON Schema.
//
// A Key is one line of the table: name, form of its value, description, default, limits. A key whose form is
// `table` has keys of its own. Defaults are text and are read like the user's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
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
  text,      // any words
  fraction,  // 2, 1.5 or "3:2"
  part,      // more than 0, at most 1: 0.5, 1/2 or 50 %
  numbers,   // 3, "0-7" or "0-62:2"
  table,     // a map of `keys`
  moved      // it stood here in an earlier version
};
enum class Count { one, many, one_or_many };

struct Key {
  std::string name;
  Form form = Form::table;
  std::string description;
  std::string fallback;  // the default as it would be written; "" = none
  Count count = Count::one;
  bool required = false;
  std::string word;          // a number or quantity: a word that is a value too, such as "auto"
  std::int64_t minimum = 0;  // integers; sizes in bytes, bandwidths in bytes/s, times in ps
  std::int64_t maximum = 0;
  std::size_t items_max = 0;         // of a list; 0 = any number
  bool may_be_empty = false;         // many: [] is a value, so that an override can take everything out
  std::string noun;                  // name: what it names; "" = the key's name. text: "a path"; "" = a name
  std::vector<std::string> names;    // name: the values
  std::vector<std::string> aliases;  // name: other spellings that are accepted
  // name: what may be looked for here, and what to write in its place
  std::vector<std::pair<std::string, std::string>> mistaken;
  bool open = false;        // name: the binder knows which of `names` fit, and says so
  std::string file_suffix;  // name: a path that ends so is a value too
  std::vector<Key> keys;    // table; for another form: a map that may stand for the value (size)
  std::string short_form;   // table: a bare value stands for this key of it
  std::vector<Key> list;    // none, or one: what a list holds that may stand for the value
  // The values of the neighbouring key `kind` with which this key has an effect (none listed: all), and those
  // with which it must be given.
  std::vector<std::string> used_by;
  std::vector<std::string> required_by;
  bool strict = false;  // written beside a kind that does not use it: an error
  std::string instead;  // moved: where it is now
};

// The whole file: a key of form table without a name.
Key experiment_table(const Registries& registries);
// Its parts.
Key cluster_table(const Registries& registries);
Key routing_table();
Key network_table();
Key algorithm_table(const Registries& registries);
Key placement_key();
Key jobs_table(const Registries& registries);
Key faults_table(const Registries& registries);
Key skew_table();
Key jitter_table();
Key background_table();

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
constexpr std::size_t groups_max = 1'000;
constexpr std::size_t jobs_max = 1'000;
constexpr std::size_t faults_max = 1'000;
constexpr std::size_t background_max = 10'000;
constexpr std::int64_t sites_max = 1'024;
constexpr std::int64_t repeat_max = 10'000;
constexpr std::int64_t parts_max = 1'000'000;  // denominators of parts

}  // namespace collsim::config
