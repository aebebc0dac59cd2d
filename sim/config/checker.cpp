#include "sim/config/checker.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <variant>

#include "sim/core/check.hpp"
#include "sim/core/quantity_text.hpp"

namespace collsim::config {
namespace {

constexpr std::size_t suggestions_max = 100;  // keys of one map that are looked up in the list of right ones

Value fraction_value(std::int64_t numerator, std::int64_t denominator) {
  Value value;
  value.given = true;
  value.number = numerator;
  value.denominator = denominator;
  return value;
}

// The number that `text` writes in decimal digits; nothing if there is anything else in it.
struct Digits {
  std::int64_t number = 0;
  bool overflow = false;
};
std::optional<Digits> digits_from(std::string_view text) {
  if (text.empty()) return std::nullopt;
  Digits result;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    const std::int64_t digit = c - '0';
    if (result.number > (std::numeric_limits<std::int64_t>::max() - digit) / 10) result.overflow = true;
    if (!result.overflow) result.number = result.number * 10 + digit;
  }
  return result;
}

bool has_leading_zero(std::string_view text) {
  return text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9';
}

// "3:2", "3/2", "1.5" or "2" as a reduced fraction; nothing if it is none.
std::optional<std::pair<std::int64_t, std::int64_t>> fraction_from(std::string_view text) {
  constexpr std::size_t digits_max = 9;
  if (text.size() > digits_max || text.empty()) return std::nullopt;
  const std::size_t mark = text.find_first_of(":/.");
  const std::optional<Digits> first = digits_from(text.substr(0, mark));
  if (!first || has_leading_zero(text)) return std::nullopt;
  std::int64_t numerator = first->number;
  std::int64_t denominator = 1;
  if (mark != std::string_view::npos) {
    const std::string_view rest = text.substr(mark + 1);
    const std::optional<Digits> second = digits_from(rest);
    if (!second) return std::nullopt;
    if (text[mark] != '.') {
      if (has_leading_zero(rest)) return std::nullopt;
      denominator = second->number;
    } else {
      for (std::size_t i = 0; i < rest.size(); ++i) denominator *= 10;
      numerator = numerator * denominator + second->number;
    }
  }
  if (denominator == 0) return std::nullopt;
  const std::int64_t divisor = std::gcd(numerator, denominator);
  return std::pair{numerator / divisor, denominator / divisor};
}

// The same, or a percentage such as "20 %".
std::optional<std::pair<std::int64_t, std::int64_t>> part_from(std::string_view text) {
  const bool percent = text.ends_with('%');
  if (percent) {
    text.remove_suffix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
  }
  auto fraction = fraction_from(text);
  if (!fraction || !percent) return fraction;
  const std::int64_t hundred = 100;
  const std::int64_t divisor = std::gcd(fraction->first, hundred * fraction->second);
  return std::pair{fraction->first / divisor, hundred * fraction->second / divisor};
}

std::variant<std::int64_t, QuantityError> quantity_from(Form form, const std::string& text) {
  std::variant<std::int64_t, QuantityError> result;
  const auto take = [&](auto parsed, auto count) {
    if (const auto* problem = std::get_if<QuantityError>(&parsed))
      result = *problem;
    else
      result = count(std::get<0>(parsed));
  };
  if (form == Form::size) take(bytes_from_text(text), [](Bytes size) { return size.count(); });
  if (form == Form::bandwidth)
    take(bandwidth_from_text(text), [](Bandwidth rate) { return rate.bytes_per_second(); });
  if (form == Form::duration)
    take(duration_from_text(text), [](Duration time) { return time.picoseconds(); });
  return result;
}

std::string noun_of(const Node& node) { return node.kind == Node::Kind::list ? "a list" : "a map"; }

bool from_preset(const Where& where) { return where.source && where.source->layer == Layer::preset; }

}  // namespace

const Value& Value::operator[](const std::string& key) const {
  const auto found = keys.find(key);
  COLLSIM_CHECK_MSG(found != keys.end(), key);
  return found->second;
}

std::string limit_text(const Key& key, std::int64_t count) {
  if (key.form == Form::size) return text_from(Bytes(count));
  if (key.form == Form::bandwidth) return text_from(Bandwidth::bytes_per_second(count));
  if (key.form == Form::duration) return text_from(Duration::picoseconds(count));
  return std::to_string(count);
}

Value Checker::error(const Where& where, const std::string& path, std::string message, std::string expected,
                     std::string hint) {
  const std::string last_key = path.substr(path.find_last_of('.') + 1);
  if (where.line > 0 &&
      !said_.emplace(where.source.get(), where.line, where.column, last_key, message).second)
    return {};
  diagnostics_.add(diagnostic_at(where, path, std::move(message), std::move(expected), std::move(hint)));
  return {};
}

void Checker::warn(const Where& where, const std::string& path, std::string message) {
  Diagnostic diagnostic = diagnostic_at(where, path, std::move(message));
  diagnostic.severity = Severity::warning;
  diagnostics_.add(std::move(diagnostic));
}

Value Checker::check(const NodePtr& node, const Key& key, const std::string& path, const Where& where) {
  if (node->kind == Node::Kind::null) {
    places_[path] = where;
    return error(where, path, "has no value", form_text(key));
  }
  places_[path] = node->where;
  const bool is_list = node->kind == Node::Kind::list;
  if (key.count == Count::many && !is_list) return error(node->where, path, "is not a list", form_text(key));
  if (is_list && !key.list.empty()) return check_list(node, key.list.front(), path);
  if (key.count == Count::one && is_list) return error(node->where, path, "is a list", form_text(key));
  return is_list ? check_list(node, key, path) : check_one(node, key, path, where);
}

Value Checker::check_list(const NodePtr& node, const Key& key, const std::string& path) {
  if (node->items.empty() && !key.may_be_empty)
    return error(node->where, path, "the list is empty", form_text(key));
  if (key.items_max > 0 && node->items.size() > key.items_max)
    return error(node->where, path, "the list is too long",
                 "at most " + std::to_string(key.items_max) + " entries");
  Key element = key;
  element.count = Count::one;
  Value value;
  value.given = true;
  value.node = node;
  value.items.reserve(node->items.size());
  for (std::size_t i = 0; i < node->items.size(); ++i)
    value.items.push_back(check(node->items[i], element, indexed_path(path, i), node->items[i]->where));
  return value;
}

Value Checker::check_one(const NodePtr& node, const Key& key, const std::string& path, const Where& where) {
  if (node->kind == Node::Kind::scalar)
    return key.form == Form::table ? from_short_form(node, key, path) : check_scalar(node, key, path);
  if (key.keys.empty()) return error(node->where, path, "is " + noun_of(*node), form_text(key));
  return check_map(node, key, path, where);
}

Value Checker::from_short_form(const NodePtr& node, const Key& key, const std::string& path) {
  if (key.short_form.empty())
    return error(node->where, path, quoted(node->text) + " is not a map", form_text(key));
  Value value;
  value.given = true;
  value.node = node;
  for (const Key& inner : key.keys)
    value.keys[inner.name] =
        inner.name == key.short_form ? check(node, inner, path, node->where) : default_of(inner);
  if (const auto kind = value.keys.find("kind"); kind != value.keys.end())
    for (const Key& inner : key.keys)
      if (inner.name != key.short_form) add_needed(inner, path, node->where, kind->second.text);
  return value;
}

Value Checker::check_scalar(const NodePtr& node, const Key& key, const std::string& path) {
  Value value;
  if (!key.word.empty() && node->text == key.word) {
    value.given = value.automatic = true;
    value.node = node;
    return value;
  }
  switch (key.form) {
    case Form::integer:
      value = check_integer(node, key, path);
      break;
    case Form::size:
    case Form::bandwidth:
    case Form::duration:
      value = check_quantity(node, key, path);
      break;
    case Form::boolean:
      value = check_boolean(node, key, path);
      break;
    case Form::name:
      value = check_name(node, key, path);
      break;
    case Form::text:
      value = check_text(node, key, path);
      break;
    case Form::fraction:
      value = check_fraction(node, key, path);
      break;
    case Form::part:
      value = check_part(node, key, path);
      break;
    case Form::numbers:
      value = check_numbers(node, key, path);
      break;
    case Form::table:
    case Form::moved:
      COLLSIM_CHECK_MSG(false, "a table or a moved key is no scalar");
  }
  value.node = node;
  return value;
}

Value Checker::check_integer(const NodePtr& node, const Key& key, const std::string& path) {
  const std::string& text = node->text;
  Value value;
  const std::string expected = form_text(key);
  if (text.size() > 1 && text[0] == '-' && digits_from(std::string_view(text).substr(1)))
    return error(node->where, path, quoted(text) + " is negative", expected);
  const std::optional<Digits> digits = digits_from(text);
  if (!digits) return error(node->where, path, quoted(text) + " is not a whole number", expected);
  if (has_leading_zero(text))
    return error(node->where, path, quoted(text) + " starts with a zero, which could be read as octal",
                 expected);
  if (digits->overflow || digits->number > key.maximum)
    return error(node->where, path, quoted(text) + " is too large", expected);
  value.given = true;
  value.number = digits->number;
  if (value.number < key.minimum) return error(node->where, path, quoted(text) + " is too small", expected);
  return value;
}

Value Checker::check_quantity(const NodePtr& node, const Key& key, const std::string& path) {
  const std::variant<std::int64_t, QuantityError> result = quantity_from(key.form, node->text);
  if (const auto* problem = std::get_if<QuantityError>(&result))
    return error(node->where, path, problem->message, problem->expected, problem->hint);
  Value value;
  value.given = true;
  value.number = std::get<std::int64_t>(result);
  if (value.number < key.minimum)
    return error(node->where, path, quoted(node->text) + " is too small",
                 "at least " + limit_text(key, key.minimum));
  if (value.number > key.maximum)
    return error(node->where, path, quoted(node->text) + " is too large",
                 "at most " + limit_text(key, key.maximum));
  return value;
}

Value Checker::check_boolean(const NodePtr& node, const Key& key, const std::string& path) {
  if (node->text != "true" && node->text != "false")
    return error(node->where, path, quoted(node->text) + " is neither true nor false", form_text(key));
  Value value;
  value.given = true;
  value.number = node->text == "true" ? 1 : 0;
  return value;
}

Value Checker::check_name(const NodePtr& node, const Key& key, const std::string& path) {
  const std::string& text = node->text;
  const std::string& suffix = key.file_suffix;
  const bool is_file = !suffix.empty() && text.size() > suffix.size() && text.ends_with(suffix);
  if (key.open || is_file || contains(key.names, text) || contains(key.aliases, text)) {
    Value value;
    value.given = true;
    value.text = text;
    return value;
  }
  const std::string noun = key.noun.empty() ? key.name : key.noun;
  for (const auto& [word, right] : key.mistaken)
    if (text == word) return error(node->where, path, "there is no " + noun + " " + quoted(text), right);
  std::vector<std::string> candidates = key.names;
  candidates.insert(candidates.end(), key.aliases.begin(), key.aliases.end());
  return error(node->where, path, "there is no " + noun + " " + quoted(text), form_text(key),
               nearest(text, candidates));
}

Value Checker::check_text(const NodePtr& node, const Key& key, const std::string& path) {
  constexpr std::size_t length_max = 1'000;
  const std::string& text = node->text;
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (text.empty()) return error(node->where, path, "is empty", form_text(key));
  if (text.size() > length_max)
    return error(node->where, path, "is too long", "at most " + std::to_string(length_max) + " bytes");
  if (std::any_of(text.begin(), text.end(), is_control))
    return error(node->where, path, quoted(text) + " has a control character", form_text(key));
  Value value;
  value.given = true;
  value.text = text;
  return value;
}

Value Checker::check_fraction(const NodePtr& node, const Key& key, const std::string& path) {
  const auto fraction = fraction_from(node->text);
  if (!fraction) return error(node->where, path, quoted(node->text) + " is not a ratio", form_text(key));
  const auto [numerator, denominator] = *fraction;
  const std::string expected = "at least " + std::to_string(key.minimum) + " and at most " +
                               std::to_string(key.maximum) + ", in parts of at most " +
                               std::to_string(key.maximum);
  if (numerator < denominator * key.minimum)
    return error(node->where, path, quoted(node->text) + " is too small", expected);
  if (numerator > denominator * key.maximum || denominator > key.maximum)
    return error(node->where, path, quoted(node->text) + " is out of range", expected);
  return fraction_value(numerator, denominator);
}

Value Checker::check_part(const NodePtr& node, const Key& key, const std::string& path) {
  const auto part = part_from(node->text);
  if (!part) return error(node->where, path, quoted(node->text) + " is not a part", form_text(key));
  const auto [numerator, denominator] = *part;
  const std::string expected =
      "more than 0 and at most 1, with a denominator of at most " + std::to_string(key.maximum);
  if (numerator == 0) return error(node->where, path, quoted(node->text) + " is too small", expected);
  if (numerator > denominator || denominator > key.maximum)
    return error(node->where, path, quoted(node->text) + " is out of range", expected);
  return fraction_value(numerator, denominator);
}

// "3", "0-7" or "0-62:2".
Value Checker::check_numbers(const NodePtr& node, const Key& key, const std::string& path) {
  const std::string_view text = node->text;
  const std::size_t dash = text.find('-');
  const std::size_t colon = text.find(':');
  const auto number = [](std::string_view part) -> std::optional<std::int64_t> {
    const std::optional<Digits> digits = digits_from(part);
    if (!digits || has_leading_zero(part)) return std::nullopt;
    return digits->overflow ? std::numeric_limits<std::int64_t>::max() : digits->number;
  };
  const std::string_view last_text = dash == std::string_view::npos || colon < dash
                                         ? std::string_view()
                                         : text.substr(dash + 1, colon - dash - 1);
  const auto first = number(text.substr(0, std::min(dash, colon)));
  const auto last = dash == std::string_view::npos ? first : number(last_text);
  const auto step =
      colon == std::string_view::npos ? std::optional<std::int64_t>(1) : number(text.substr(colon + 1));
  const bool step_alone = colon != std::string_view::npos && dash == std::string_view::npos;
  if (!first || !last || !step || *step == 0 || step_alone)
    return error(node->where, path, quoted(text) + " is no number and no range of numbers", form_text(key));
  if (*last < *first)
    return error(node->where, path, quoted(text) + " ends before it begins", form_text(key));
  if (*last > key.maximum)
    return error(node->where, path, quoted(text) + " is too large",
                 "numbers up to " + std::to_string(key.maximum));
  Value value;
  value.given = true;
  value.number = *first;
  value.last = *last;
  value.step = *step;
  return value;
}

Value Checker::default_of(const Key& key) {
  Value value;
  if (key.form == Form::table && key.short_form.empty()) {
    for (const Key& inner : key.keys) value.keys[inner.name] = default_of(inner);
    return value;
  }
  if (key.fallback.empty()) return value;
  Node node;
  node.kind = Node::Kind::scalar;
  node.text = key.fallback;
  Diagnostics none;
  Places nowhere;
  value = Checker(none, nowhere).check_one(std::make_shared<const Node>(std::move(node)), key, key.name, {});
  COLLSIM_CHECK_MSG(none.empty(), none.text());
  value.node = nullptr;
  return value;
}

Value Checker::check_map(const NodePtr& node, const Key& key, const std::string& path, const Where& where) {
  Value value;
  value.given = true;
  value.node = node;
  std::vector<std::string> known;
  for (const Key& inner : key.keys)
    if (inner.form != Form::moved) known.push_back(inner.name);
  std::vector<std::string> mistyped;  // right spellings of keys that are not known
  for (const Entry& entry : node->entries) {
    const std::string inner_path = joined_path(path, entry.key);
    const Key* inner = find_key(key.keys, entry.key);
    if (inner && inner->form != Form::moved) {
      value.keys[inner->name] = check(entry.value, *inner, inner_path, entry.where);
      continue;
    }
    check_unknown(entry, key, inner_path, known);
    if (mistyped.size() < suggestions_max) mistyped.push_back(nearest(entry.key, known));
  }
  drop_all_unused(node, value, key, path);
  add_missing(value, key, path, where, mistyped);
  return value;
}

void Checker::check_unknown(const Entry& entry, const Key& table, const std::string& path,
                            const std::vector<std::string>& known) {
  if (const Key* moved = find_key(table.keys, entry.key))
    error(entry.where, path, "unknown key", moved->instead);
  else
    error(entry.where, path, "unknown key", "one of " + joined(known), nearest(entry.key, known));
}

void Checker::drop_all_unused(const NodePtr& node, Value& value, const Key& table, const std::string& path) {
  const Key* kind_key = find_key(table.keys, "kind");
  if (!kind_key) return;
  const auto written = value.keys.find("kind");
  const Value kind = written == value.keys.end() ? default_of(*kind_key) : written->second;
  if (!kind.given) return;
  for (const Entry& entry : node->entries)
    if (const Key* inner = find_key(table.keys, entry.key); inner && !inner->used_by.empty())
      drop_unused(value.keys[inner->name], entry, *inner, joined_path(path, entry.key), kind);
}

void Checker::drop_unused(Value& value, const Entry& entry, const Key& key, const std::string& path,
                          const Value& kind) {
  if (contains(key.used_by, kind.text)) return;
  const bool says_no = entry.value->kind == Node::Kind::scalar && entry.value->text == "false";
  const std::string message = "has no effect with kind " + kind.text;
  const bool chosen_elsewhere = kind.node && kind.node->where.source != entry.where.source;
  if (key.strict && value.given && !says_no && !chosen_elsewhere)
    error(entry.where, path, message,
          "kind: " + std::string(key.used_by.size() > 1 ? "one of " : "") + joined(key.used_by));
  else if (!from_preset(entry.where) && value.given && !says_no)
    warn(entry.where, path, message);
  value = default_of(key);
}

void Checker::add_missing(Value& value, const Key& table, const std::string& path, const Where& where,
                          const std::vector<std::string>& mistyped) {
  const auto kind = value.keys.find("kind");
  const std::string kind_name = kind == value.keys.end() ? "" : kind->second.text;
  for (const Key& key : table.keys) {
    if (key.form == Form::moved || value.keys.count(key.name)) continue;
    value.keys[key.name] = default_of(key);
    if (contains(mistyped, key.name)) continue;
    if (key.required)
      error(where, joined_path(path, key.name), "missing", form_text(key));
    else
      add_needed(key, path, where, kind_name);
  }
}

// Of a key that is not written, but that `kind` needs.
void Checker::add_needed(const Key& key, const std::string& path, const Where& where,
                         const std::string& kind) {
  if (contains(key.required_by, kind))
    error(where, joined_path(path, key.name), "missing", form_text(key) + "; kind " + kind + " needs it");
}

}  // namespace collsim::config
