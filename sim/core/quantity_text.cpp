#include "sim/core/quantity_text.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "sim/core/spelling.hpp"

namespace collsim {
namespace {

enum class Kind { size, bandwidth, time };

struct Unit {
  std::string_view name;
  std::int64_t multiplier;  // base units (bytes, bytes/s, ps) in one, times `divisor`
  std::int64_t divisor = 1;
};

constexpr std::int64_t kilo = 1'000;
constexpr std::int64_t mega = kilo * kilo;
constexpr std::int64_t giga = mega * kilo;
constexpr std::int64_t tera = giga * kilo;
constexpr std::int64_t kibi = 1'024;
constexpr std::int64_t mebi = kibi * kibi;
constexpr std::int64_t gibi = mebi * kibi;
constexpr std::int64_t tebi = gibi * kibi;

using Units = std::vector<Unit>;

const Units& units_of(Kind kind) {
  static const Units sizes = {{"B", 1},     {"kB", kilo},  {"KiB", kibi}, {"MB", mega}, {"MiB", mebi},
                              {"GB", giga}, {"GiB", gibi}, {"TB", tera},  {"TiB", tebi}};
  static const Units bandwidths = {
      {"bit/s", 1, 8},     {"B/s", 1},          {"kbit/s", kilo, 8}, {"kB/s", kilo},      {"KiB/s", kibi},
      {"Mbit/s", mega, 8}, {"MB/s", mega},      {"MiB/s", mebi},     {"Gbit/s", giga, 8}, {"GB/s", giga},
      {"GiB/s", gibi},     {"Tbit/s", tera, 8}, {"TB/s", tera},      {"TiB/s", tebi}};
  static const Units times = {{"ps", 1}, {"ns", kilo}, {"us", mega}, {"ms", giga}, {"s", tera}};
  if (kind == Kind::size) return sizes;
  return kind == Kind::bandwidth ? bandwidths : times;
}

struct Words {
  std::string_view noun;      // "a size"
  std::string_view example;   // "8 MiB"
  std::string_view fraction;  // "a fraction of a byte"
  std::string_view unit;      // of the example
};

constexpr Words words_of(Kind kind) {
  if (kind == Kind::size) return {"a size", "8 MiB", "a fraction of a byte", "MiB"};
  if (kind == Kind::bandwidth)
    return {"a bandwidth", "400 Gbit/s", "a fraction of a byte per second", "Gbit/s"};
  return {"a time", "500 ns", "a fraction of a picosecond", "ns"};
}

const Unit* find_unit(Kind kind, std::string_view name) {
  for (const Unit& unit : units_of(kind))
    if (unit.name == name) return &unit;
  return nullptr;
}

std::vector<std::string> names_of(Kind kind) {
  std::vector<std::string> names;
  for (const Unit& unit : units_of(kind)) names.emplace_back(unit.name);
  return names;
}

std::string such_as(std::string_view example) { return "such as '" + std::string(example) + "'"; }

// A decimal number: digits * 10^-decimals.
struct Number {
  Int128 digits = 0;
  int decimals = 0;
  bool too_long = false;
};

constexpr int digits_max = 24;  // 10^24 times the largest unit stays within 128 bits

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes the number off the front of `text`; nothing if there is none.
std::optional<Number> take_number(std::string_view& text) {
  std::size_t end = 0;
  std::size_t point = std::string_view::npos;
  while (end < text.size() &&
         (is_digit(text[end]) || (text[end] == '.' && point == std::string_view::npos))) {
    if (text[end] == '.') point = end;
    ++end;
  }
  std::string_view number = text.substr(0, end);
  if (number.empty() || number.front() == '.' || number.back() == '.') return std::nullopt;
  text.remove_prefix(end);
  if (point != std::string_view::npos)
    while (number.back() == '0') number.remove_suffix(1);  // stops at the point
  Number result;
  int significant = 0;
  for (std::size_t i = 0; i < number.size(); ++i) {
    if (number[i] == '.') continue;
    if (i > point && point != std::string_view::npos) ++result.decimals;
    if (significant > 0 || number[i] != '0') ++significant;
    if (significant > digits_max || result.decimals > digits_max) {
      result.too_long = true;
      break;
    }
    result.digits = result.digits * 10 + (number[i] - '0');
  }
  return result;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// "Gb/s", "Gbps", "GBps": what network people write; a small b is bits, a large one bytes.
std::string habitual_bandwidth(std::string_view name) {
  std::string_view prefix;
  if (!name.empty() && std::string_view("kKMGT").find(name.front()) != std::string_view::npos) {
    prefix = name.substr(0, 1);
    name.remove_prefix(1);
  }
  const std::string scale = prefix == "K" ? "k" : std::string(prefix);
  if (name == "b/s" || name == "bps" || name == "bit" || name == "bits/s" || name == "b")
    return scale + "bit/s";
  if (name == "Bps" || name == "B") return scale + "B/s";
  return "";
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

std::string same_but_for_case(Kind kind, std::string_view name) {
  for (const Unit& unit : units_of(kind))
    if (lower_case(unit.name) == lower_case(name)) return std::string(unit.name);
  return "";
}

QuantityError unit_error(Kind kind, std::string_view text, std::string_view name) {
  const Words words = words_of(kind);
  for (const Kind other : {Kind::size, Kind::bandwidth, Kind::time})
    if (other != kind && find_unit(other, name))
      return {quoted(text) + " is " + std::string(words_of(other).noun) + ", not " + std::string(words.noun),
              such_as(words.example), ""};
  const bool letter =
      name.size() == 1 && std::string_view("kKMGT").find(name.front()) != std::string_view::npos;
  if (letter && kind != Kind::time) {
    const std::string decimal = name == "K" ? "k" : std::string(name);
    const std::string binary = name == "k" ? "K" : std::string(name);
    return {quoted(text) + ": the unit " + quoted(name) + " is ambiguous",
            kind == Kind::size ? decimal + "B (powers of 1000) or " + binary + "iB (powers of 1024)"
                               : decimal + "B/s or " + decimal + "bit/s",
            ""};
  }
  std::string hint = kind == Kind::bandwidth ? habitual_bandwidth(name) : "";
  if (hint.empty()) hint = same_but_for_case(kind, name);
  if (hint.empty()) hint = nearest(name, names_of(kind));
  std::string expected = "one of";
  for (const Unit& unit : units_of(kind))
    expected += (expected == "one of" ? " " : ", ") + std::string(unit.name);
  return {quoted(text) + " has the unknown unit " + quoted(name), expected, hint};
}

std::variant<std::int64_t, QuantityError> parse(Kind kind, std::string_view whole) {
  const Words words = words_of(kind);
  const std::string expected = such_as(words.example);
  std::string_view text = trimmed(whole);
  const bool negative = text.size() > 1 && text.front() == '-' && is_digit(text[1]);
  if (negative) return QuantityError{quoted(whole) + " is negative", expected, ""};
  const std::optional<Number> number = take_number(text);
  if (!number) return QuantityError{quoted(whole) + " is not " + std::string(words.noun), expected, ""};
  const std::string_view digits = trimmed(whole).substr(0, trimmed(whole).size() - text.size());
  const std::string_view name = trimmed(text);
  if (name.empty()) {
    const std::string example = digits.size() <= 20 ? std::string(digits) + " " + std::string(words.unit)
                                                    : std::string(words.example);
    return QuantityError{quoted(whole) + " has no unit", such_as(example), ""};
  }
  const bool exponent = name.size() > 1 && (name.front() == 'e' || name.front() == 'E') &&
                        (is_digit(name[1]) || name[1] == '+' || name[1] == '-');
  if (exponent || name.front() == '.' || name.front() == ',' || name.front() == '_' || is_digit(name.front()))
    return QuantityError{quoted(whole) + " is not " + std::string(words.noun), expected, ""};
  const Unit* unit = find_unit(kind, name);
  if (!unit) return unit_error(kind, whole, name);
  if (number->too_long) return QuantityError{quoted(whole) + " has too many digits", expected, ""};
  Int128 divisor = unit->divisor;
  for (int i = 0; i < number->decimals; ++i) divisor *= 10;
  const Int128 product = number->digits * unit->multiplier;
  if (product / divisor > std::numeric_limits<std::int64_t>::max())
    return QuantityError{quoted(whole) + " is too large", expected, ""};
  if (product % divisor != 0)
    return QuantityError{quoted(whole) + " has " + std::string(words.fraction),
                         "a whole number of " + std::string(kind == Kind::size        ? "bytes"
                                                            : kind == Kind::bandwidth ? "bytes per second"
                                                                                      : "picoseconds"),
                         ""};
  return static_cast<std::int64_t>(product / divisor);
}

// |count| as an unsigned number; well defined for the smallest int64 too.
std::uint64_t magnitude(std::int64_t count) {
  return count < 0 ? ~static_cast<std::uint64_t>(count) + 1 : static_cast<std::uint64_t>(count);
}

struct Scale {
  std::uint64_t size;
  std::string_view name;
};

// The value in hundredths of the largest scale of which there is one, rounded; what rounds to a thousand of a
// scale is one of the next. `scales` are thousands, largest first, and end with 1.
template <std::size_t count>
std::pair<std::uint64_t, std::string_view> hundredths_of(std::uint64_t value,
                                                         const std::array<Scale, count>& scales) {
  __extension__ using Wide = unsigned __int128;
  std::size_t index = 0;
  while (index + 1 < count && value < scales[index].size) ++index;
  const auto hundredths = [&](std::size_t i) {
    return static_cast<std::uint64_t>((static_cast<Wide>(value) * 100 + scales[i].size / 2) / scales[i].size);
  };
  constexpr std::uint64_t thousand = 1'000 * 100;
  if (index > 0 && hundredths(index) >= thousand) --index;
  return {hundredths(index), scales[index].name};
}

std::string decimal_text(std::uint64_t hundredths) {
  const std::string rest = std::to_string(hundredths % 100);
  return std::to_string(hundredths / 100) + "." + (rest.size() == 1 ? "0" : "") + rest;
}

}  // namespace

std::variant<Bytes, QuantityError> bytes_from_text(std::string_view text) {
  auto result = parse(Kind::size, text);
  if (const auto* count = std::get_if<std::int64_t>(&result)) return Bytes(*count);
  return std::get<QuantityError>(std::move(result));
}

std::variant<Bandwidth, QuantityError> bandwidth_from_text(std::string_view text) {
  auto result = parse(Kind::bandwidth, text);
  if (const auto* count = std::get_if<std::int64_t>(&result)) return Bandwidth::bytes_per_second(*count);
  return std::get<QuantityError>(std::move(result));
}

std::variant<Duration, QuantityError> duration_from_text(std::string_view text) {
  auto result = parse(Kind::time, text);
  if (const auto* count = std::get_if<std::int64_t>(&result)) return Duration::picoseconds(*count);
  return std::get<QuantityError>(std::move(result));
}

const std::vector<std::string>& size_units() {
  static const std::vector<std::string> names = names_of(Kind::size);
  return names;
}
const std::vector<std::string>& bandwidth_units() {
  static const std::vector<std::string> names = names_of(Kind::bandwidth);
  return names;
}
const std::vector<std::string>& time_units() {
  static const std::vector<std::string> names = names_of(Kind::time);
  return names;
}

std::string text_from(Bytes size) {
  static constexpr std::array<Scale, 8> scales = {{{tebi, "TiB"},
                                                   {gibi, "GiB"},
                                                   {mebi, "MiB"},
                                                   {kibi, "KiB"},
                                                   {tera, "TB"},
                                                   {giga, "GB"},
                                                   {mega, "MB"},
                                                   {kilo, "kB"}}};
  const std::uint64_t count = magnitude(size.count());
  const std::string sign = size.count() < 0 ? "-" : "";
  for (const Scale& scale : scales)
    if (count != 0 && count % scale.size == 0)
      return sign + std::to_string(count / scale.size) + " " + std::string(scale.name);
  return sign + std::to_string(count) + " B";
}

std::string text_from(Duration time) {
  static constexpr std::array<Scale, 5> scales = {
      {{tera, "s"}, {giga, "ms"}, {mega, "us"}, {kilo, "ns"}, {1, "ps"}}};
  if (time == Duration()) return "0 ns";
  const auto [hundredths, name] = hundredths_of(magnitude(time.picoseconds()), scales);
  const std::string sign = time < Duration() ? "-" : "";
  if (name == "ps") return sign + std::to_string(hundredths / 100) + " ps";
  return sign + decimal_text(hundredths) + " " + std::string(name);
}

std::string text_from(Bandwidth rate) {
  static constexpr std::array<Scale, 5> scales = {
      {{tera, "TB/s"}, {giga, "GB/s"}, {mega, "MB/s"}, {kilo, "kB/s"}, {1, "B/s"}}};
  const auto [hundredths, name] = hundredths_of(magnitude(rate.bytes_per_second()), scales);
  std::string text = decimal_text(hundredths);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return (rate < Bandwidth() ? "-" : "") + text + " " + std::string(name);
}

std::string quoted(std::string_view text) {
  constexpr std::size_t length_max = 60;
  std::size_t length = text.size() > length_max ? length_max : text.size();
  const auto continues = [&](std::size_t i) { return (static_cast<unsigned char>(text[i]) & 0xc0) == 0x80; };
  while (length > 0 && length < text.size() && continues(length)) --length;  // no half character
  std::string result = "'";
  for (const char c : text.substr(0, length)) {
    const auto byte = static_cast<unsigned char>(c);
    result += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  if (length < text.size()) result += "...";
  return result + "'";
}

}  // namespace collsim
