// Lines of the table of keys: one function a form, and what can be said of any form.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/config/table.hpp"

namespace collsim::config::parts {

Key integer(std::string name, std::int64_t minimum, std::int64_t maximum, std::string description);
Key bandwidth(std::string name, std::string description);
Key duration(std::string name, std::string description);  // default: 0 ns
Key size(std::string name, std::int64_t minimum, std::string description);
Key boolean(std::string name, std::string fallback, std::string description);
Key choice(std::string name, std::vector<std::string> names, std::string description);
Key text(std::string name, std::string description);
Key part(std::string name, std::string description);
Key numbers(std::string name, std::int64_t maximum, std::string description);
Key table(std::string name, std::string description, std::vector<Key> keys);
Key moved(std::string name, std::string instead);

Key with_default(Key key, std::string fallback);
Key required(Key key);
Key automatic(Key key);  // `auto` is a value too, and the default
Key list_of(Key key, std::size_t items_max = 0);
Key one_or_list_of(Key key);
Key used_by(Key key, std::vector<std::string> kinds);    // a warning beside another kind
Key only_with(Key key, std::vector<std::string> kinds);  // an error beside another kind
Key needed_by(Key key, std::vector<std::string> kinds);  // used by these kinds, and needed by them

template <class Enum>
std::vector<std::string> enum_names(const std::vector<Enum>& values) {
  std::vector<std::string> names;
  for (const Enum value : values) names.emplace_back(name_of(value));
  return names;
}

}  // namespace collsim::config::parts
