#include "sim/config/table.hpp"

namespace collsim::config {

const Key* find_key(const std::vector<Key>& keys, std::string_view name) {
  for (const Key& key : keys)
    if (key.name == name) return &key;
  return nullptr;
}

std::string joined(const std::vector<std::string>& words) {
  std::string result;
  for (const std::string& word : words) result += (result.empty() ? "" : ", ") + word;
  return result;
}

std::string names_of(const std::vector<Key>& keys) {
  std::vector<std::string> names;
  for (const Key& key : keys)
    if (key.form != Form::moved) names.push_back(key.name);
  return joined(names);
}

bool contains(const std::vector<std::string>& words, std::string_view word) {
  for (const std::string& candidate : words)
    if (candidate == word) return true;
  return false;
}

std::string form_text(const Key& key) {
  std::string one;
  switch (key.form) {
    case Form::integer:
      one = "a whole number from " + std::to_string(key.minimum) + " to " + std::to_string(key.maximum);
      break;
    case Form::size:
      one = "a size such as '8 MiB'";
      break;
    case Form::bandwidth:
      one = "a bandwidth such as '400 Gbit/s'";
      break;
    case Form::duration:
      one = "a time such as '500 ns'";
      break;
    case Form::boolean:
      one = "true or false";
      break;
    case Form::name:
      one = key.names.empty() ? "a name" : (key.names.size() > 1 ? "one of " : "") + joined(key.names);
      if (!key.file_suffix.empty()) one += ", or a file whose name ends in " + key.file_suffix;
      break;
    case Form::text:
      one = key.noun.empty() ? "a name" : key.noun;
      break;
    case Form::fraction:
      one = "a ratio such as 2, 1.5 or '3:2'";
      break;
    case Form::part:
      one = "a part such as 0.5, 1/2 or 50 %";
      break;
    case Form::numbers:
      one = "a number such as 3, or several such as 0-7 or 0-62:2";
      break;
    case Form::table:
      one = "a map with " + names_of(key.keys);
      break;
    case Form::moved:
      return key.instead;
  }
  if (!key.word.empty()) one += ", or " + key.word;
  if (key.form == Form::table && !key.short_form.empty())
    one = form_text(*find_key(key.keys, key.short_form)) + ", or " + one;
  if (key.form != Form::table && !key.keys.empty()) one += ", or a map with " + names_of(key.keys);
  if (!key.list.empty()) one += ", or " + form_text(key.list.front());
  if (key.count == Count::many) return "a list of: " + one;
  if (key.count == Count::one_or_many) return one + ", or a list of these";
  return one;
}

}  // namespace collsim::config
