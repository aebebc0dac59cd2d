#include "sim/config/table_parts.hpp"

#include <utility>

namespace collsim::config::parts {

Key integer(std::string name, std::int64_t minimum, std::int64_t maximum, std::string description) {
  Key key;
  key.name = std::move(name);
  key.form = Form::integer;
  key.minimum = minimum;
  key.maximum = maximum;
  key.description = std::move(description);
  return key;
}

Key bandwidth(std::string name, std::string description) {
  Key key = integer(std::move(name), 1, bandwidth_max, std::move(description));
  key.form = Form::bandwidth;
  return key;
}

Key duration(std::string name, std::string description) {
  Key key = integer(std::move(name), 0, duration_max, std::move(description));
  key.form = Form::duration;
  key.fallback = "0 ns";
  return key;
}

Key size(std::string name, std::int64_t minimum, std::string description) {
  Key key = integer(std::move(name), minimum, bytes_max, std::move(description));
  key.form = Form::size;
  return key;
}

Key boolean(std::string name, std::string fallback, std::string description) {
  Key key = integer(std::move(name), 0, 1, std::move(description));
  key.form = Form::boolean;
  key.fallback = std::move(fallback);
  return key;
}

Key choice(std::string name, std::vector<std::string> names, std::string description) {
  Key key = integer(std::move(name), 0, 0, std::move(description));
  key.form = Form::name;
  key.names = std::move(names);
  return key;
}

Key table(std::string name, std::string description, std::vector<Key> keys) {
  Key key = integer(std::move(name), 0, 0, std::move(description));
  key.form = Form::table;
  key.keys = std::move(keys);
  return key;
}

Key moved(std::string name, std::string instead) {
  Key key = integer(std::move(name), 0, 0, "");
  key.form = Form::moved;
  key.instead = std::move(instead);
  return key;
}

Key text(std::string name, std::string description) {
  Key key = integer(std::move(name), 0, 0, std::move(description));
  key.form = Form::text;
  return key;
}

Key part(std::string name, std::string description) {
  Key key = integer(std::move(name), 1, parts_max, std::move(description));
  key.form = Form::part;
  return key;
}

Key numbers(std::string name, std::int64_t maximum, std::string description) {
  Key key = integer(std::move(name), 0, maximum, std::move(description));
  key.form = Form::numbers;
  return key;
}

Key with_default(Key key, std::string fallback) {
  key.fallback = std::move(fallback);
  return key;
}
Key required(Key key) {
  key.required = true;
  return key;
}
Key automatic(Key key) {
  key.word = key.fallback = "auto";
  return key;
}
Key one_or_list_of(Key key) {
  key.count = Count::one_or_many;
  return key;
}
Key used_by(Key key, std::vector<std::string> kinds) {
  key.used_by = std::move(kinds);
  return key;
}
Key only_with(Key key, std::vector<std::string> kinds) {
  key.used_by = std::move(kinds);
  key.strict = true;
  return key;
}
Key list_of(Key key, std::size_t items_max) {
  key.count = Count::many;
  key.items_max = items_max;
  return key;
}
// Used by these kinds, and needed by them.
Key needed_by(Key key, std::vector<std::string> kinds) {
  key.used_by = kinds;
  key.required_by = std::move(kinds);
  return key;
}

}  // namespace collsim::config::parts
