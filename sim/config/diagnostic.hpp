// Diagnostics: what is wrong with an input, at which place, what was expected, and the nearest right
// spelling.
//
//     cluster.yaml:4:5: error: cluster.fabric.bandwith: unknown key
//           bandwith: 400 Gbit/s
//           ^
//       expected one of kind, levels, radix, oversubscription, bandwidth, latency, reduction
//       did you mean 'bandwidth'?
//
// Collected, sorted by place; the text shows at most 20 errors and 20 warnings, then a line says how many
// more. Input is bad = exit code 65. Nothing here depends on the length of the input: lines are cut, and
// beyond 1,000 diagnostics only their number is kept.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/spelling.hpp"  // nearest()

namespace collsim {

enum class Severity { error, warning };

struct Place {
  std::string
      file;        // as the user wrote it; "--set key=value" for an override, "<command line>" for an option
  int line = 0;    // 1-based; 0: the file as a whole
  int column = 0;  // 1-based
};

struct Diagnostic {
  Severity severity = Severity::error;
  Place place;
  std::string key;       // "cluster.fabric.links[2].bandwidth", or empty
  std::string message;   // "unknown key"
  std::string source;    // the source line, or empty
  std::string expected;  // "expected ..." without the word, or empty
  std::string hint;      // the nearest right spelling, or empty
  int caret = 0;         // 1-based place in `source` of what is meant; 0: place.column
};

class Diagnostics {
 public:
  void add(Diagnostic diagnostic);
  bool has_errors() const { return errors_ > 0; }
  bool empty() const { return items_.empty(); }
  const std::vector<Diagnostic>& items() const { return items_; }
  // All of them as text, sorted by place, each as shown above.
  std::string text() const;

 private:
  std::vector<Diagnostic> items_;
  std::size_t errors_ = 0;  // added, kept or not
  std::size_t warnings_ = 0;
};

// `line` without its line end, cut around `column` if it is long; fills source and caret of `diagnostic`.
void show_line(Diagnostic& diagnostic, std::string_view line, int column);

}  // namespace collsim
