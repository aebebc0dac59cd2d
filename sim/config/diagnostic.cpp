#include "sim/config/diagnostic.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace collsim {
namespace {

constexpr std::size_t kept_max = 1'000;
constexpr std::size_t shown_max = 20;
constexpr std::size_t line_max = 160;    // bytes of a source line that are shown
constexpr std::size_t context_max = 60;  // of them before the caret

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// What a terminal would obey is shown as '?'.
std::string printable(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f) c = '?';
  return result;
}

// Blanks up to the caret; tabs stay tabs, and a character of several bytes is one column.
std::string caret_line(const Diagnostic& diagnostic) {
  const auto caret =
      static_cast<std::size_t>(diagnostic.caret > 0 ? diagnostic.caret : diagnostic.place.column);
  std::string result;
  for (std::size_t i = 0; i + 1 < caret; ++i) {
    if (i < diagnostic.source.size() && continues_character(diagnostic.source[i])) continue;
    result += i < diagnostic.source.size() && diagnostic.source[i] == '\t' ? '\t' : ' ';
  }
  return result + "^";
}

void append(std::string& text, const Diagnostic& diagnostic) {
  text += printable(diagnostic.place.file);
  if (diagnostic.place.line > 0)
    text += ":" + std::to_string(diagnostic.place.line) + ":" + std::to_string(diagnostic.place.column);
  text += diagnostic.severity == Severity::error ? ": error: " : ": warning: ";
  if (!diagnostic.key.empty()) text += printable(diagnostic.key) + ": ";
  text += printable(diagnostic.message) + "\n";
  if (!diagnostic.source.empty())
    text += "  " + printable(diagnostic.source) + "\n  " + caret_line(diagnostic) + "\n";
  if (!diagnostic.expected.empty()) text += "  expected " + printable(diagnostic.expected) + "\n";
  if (!diagnostic.hint.empty()) text += "  did you mean '" + printable(diagnostic.hint) + "'?\n";
}

std::string more(std::size_t count, const std::string& noun) {
  return "... and " + std::to_string(count) + " more " + noun + (count == 1 ? "" : "s") + "\n";
}

}  // namespace

void Diagnostics::add(Diagnostic diagnostic) {
  ++(diagnostic.severity == Severity::error ? errors_ : warnings_);
  if (items_.size() < kept_max) items_.push_back(std::move(diagnostic));
}

std::string Diagnostics::text() const {
  std::vector<const Diagnostic*> order;
  for (const Diagnostic& item : items_) order.push_back(&item);
  std::stable_sort(order.begin(), order.end(), [](const Diagnostic* a, const Diagnostic* b) {
    return std::tie(a->place.file, a->place.line, a->place.column) <
           std::tie(b->place.file, b->place.line, b->place.column);
  });
  std::string result;
  std::size_t errors = 0;
  std::size_t warnings = 0;
  for (const Diagnostic* item : order) {
    std::size_t& shown = item->severity == Severity::error ? errors : warnings;
    if (shown == shown_max) continue;
    ++shown;
    append(result, *item);
  }
  if (errors_ > errors) result += more(errors_ - errors, "error");
  if (warnings_ > warnings) result += more(warnings_ - warnings, "warning");
  return result;
}

void show_line(Diagnostic& diagnostic, std::string_view line, int column) {
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
  const auto at = static_cast<std::size_t>(column > 0 ? column - 1 : 0);
  std::size_t begin =
      line.size() > line_max && at > context_max ? std::min(at, line.size()) - context_max : 0;
  while (begin > 0 && continues_character(line[begin])) --begin;
  std::size_t end = std::min(line.size(), begin + line_max);
  while (end < line.size() && continues_character(line[end])) --end;
  diagnostic.source = (begin > 0 ? "..." : "") + std::string(line.substr(begin, end - begin)) +
                      (end < line.size() ? "..." : "");
  diagnostic.caret = static_cast<int>(at - begin + (begin > 0 ? 3 : 0)) + 1;
}

}  // namespace collsim
