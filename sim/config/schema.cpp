#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/config/reader.hpp"
#include "sim/config/table.hpp"
#include "sim/core/quantity_text.hpp"

namespace collsim {
namespace {

using config::Count;
using config::Form;
using config::Key;
using Json = nlohmann::ordered_json;

// `layered`: a preset may give what is not written, so nothing is required.
Json schema_of(const Key& key, bool layered);

std::string pattern_of(const std::vector<std::string>& units) {
  std::string alternatives;
  for (const std::string& unit : units) alternatives += (alternatives.empty() ? "" : "|") + unit;
  return "^ *[0-9]+(\\.[0-9]+)? *(" + alternatives + ") *$";
}

Json map_schema(const Key& key, bool layered) {
  Json result = {{"type", "object"}, {"properties", Json::object()}};
  Json required = Json::array();
  for (const Key& inner : key.keys) {
    if (inner.form == Form::moved) continue;
    result["properties"][inner.name] = schema_of(inner, layered || key.name == "cluster");
    if (inner.required && !layered && key.name != "cluster") required.push_back(inner.name);
  }
  if (!required.empty()) result["required"] = required;
  result["additionalProperties"] = false;
  return result;
}

Json name_schema(const Key& key) {
  Json names = key.names;
  for (const std::string& alias : key.aliases) names.push_back(alias);
  if (names.empty()) return {{"type", "string"}};
  if (key.file_suffix.empty()) return {{"enum", names}};
  return {{"anyOf", Json::array({{{"enum", names}},
                                 {{"type", "string"}, {"pattern", ".\\" + key.file_suffix + "$"}}})}};
}

Json one_schema(const Key& key, bool layered) {
  switch (key.form) {
    case Form::integer:
      return {{"type", "integer"}, {"minimum", key.minimum}, {"maximum", key.maximum}};
    case Form::size:
      return {{"type", "string"}, {"pattern", pattern_of(size_units())}};
    case Form::bandwidth:
      return {{"type", "string"}, {"pattern", pattern_of(bandwidth_units())}};
    case Form::duration:
      return {{"type", "string"}, {"pattern", pattern_of(time_units())}};
    case Form::boolean:
      return {{"type", "boolean"}};
    case Form::name:
      return name_schema(key);
    case Form::fraction:
      return {{"anyOf", Json::array({{{"type", "number"}, {"minimum", key.minimum}, {"maximum", key.maximum}},
                                     {{"type", "string"}, {"pattern", "^[0-9]+([:/][0-9]+|\\.[0-9]+)?$"}}})}};
    case Form::text:
      return {{"type", Json::array({"string", "integer"})}, {"minLength", 1}};  // a name may be of digits
    case Form::part:
      return {{"anyOf",
               Json::array({{{"type", "number"}, {"exclusiveMinimum", 0}, {"maximum", 1}},
                            {{"type", "string"}, {"pattern", "^[0-9]+([:/][0-9]+|\\.[0-9]+)?( *%)?$"}}})}};
    case Form::numbers:
      return {{"anyOf", Json::array({{{"type", "integer"}, {"minimum", 0}, {"maximum", key.maximum}},
                                     {{"type", "string"}, {"pattern", "^[0-9]+(-[0-9]+(:[0-9]+)?)?$"}}})}};
    case Form::table:
    case Form::moved:
      break;
  }
  return map_schema(key, layered);
}

// The alternatives for one value: itself, a word, a bare value for a map, a map for a bare value, a list.
Json value_schema(const Key& key, bool layered) {
  Json all = Json::array();
  if (key.form == Form::table && !key.short_form.empty())
    all.push_back(one_schema(*config::find_key(key.keys, key.short_form), layered));
  all.push_back(one_schema(key, layered));
  if (!key.word.empty()) all.push_back({{"const", key.word}});
  if (key.form != Form::table && !key.keys.empty()) all.push_back(map_schema(key, layered));
  if (!key.list.empty()) all.push_back(schema_of(key.list.front(), layered));
  return all.size() == 1 ? all.front() : Json{{"anyOf", all}};
}

// The default as JSON: a number or a truth value where it is one.
Json default_of(const Key& key) {
  if (key.form == Form::table && !key.short_form.empty()) {
    Key inner = *config::find_key(key.keys, key.short_form);
    inner.fallback = key.fallback;
    return default_of(inner);
  }
  const bool is_text = key.form == Form::name || key.form == Form::size || key.form == Form::bandwidth ||
                       key.form == Form::duration || key.fallback == key.word;
  return is_text ? Json(key.fallback) : Json::parse(key.fallback);
}

std::string description_of(const Key& key) {
  std::string text = key.description;
  if (!key.used_by.empty()) text += " (kind " + config::joined(key.used_by) + ")";
  return text;
}

Json schema_of(const Key& key, bool layered) {
  const Json one = value_schema(key, layered && key.count == Count::one);
  const Json list = {{"type", "array"}, {"items", one}, {"minItems", key.may_be_empty ? 0 : 1}};
  Json result;
  const std::string description = description_of(key);
  if (!description.empty()) result["description"] = description;
  if (!key.fallback.empty()) result["default"] = default_of(key);
  if (key.count == Count::one) result.update(one);
  if (key.count == Count::many) result.update(list);
  if (key.count == Count::one_or_many) result["anyOf"] = Json::array({one, list});
  return result;
}

}  // namespace

std::string experiment_schema(const Registries& registries) {
  const Key table = config::experiment_table(registries);
  Json result = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                 {"title", "collsim experiment"}};
  result.update(schema_of(table, false));
  // Jobs bring their own algorithm and size, and a barrier needs no size.
  result["required"] = Json::array({"cluster"});
  const Json barrier = {{"properties", {{"collective", {{"const", name_of(CollectiveKind::barrier)}}}}},
                        {"required", Json::array({"collective"})}};
  result["if"] = {{"required", Json::array({"jobs"})}};
  result["else"] = {{"required", Json::array({"algorithm"})},
                    {"if", barrier},
                    {"else", {{"required", Json::array({"size"})}}}};
  return result.dump(2) + "\n";
}

}  // namespace collsim
