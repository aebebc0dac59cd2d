// Diagnostics: what is wrong with an input, at which place, what was expected, and the nearest right
// spelling.
//
//     cluster.yaml:4:5: error: cluster.fabric.bandwith: unknown key
//           bandwith: 400 Gbit/s
//           ^
//       expected one of kind, levels, radix, oversubscription, bandwidth, latency, reduction
//       did you mean 'bandwidth'?
//
// Collected (at most 20, then a line says how many more), sorted by place. Input is bad = exit code 65.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace collsim {

enum class Severity { error, warning };

struct Place {
  std::string file;  // as the user wrote it; "--set" for an override, "<command line>" for an option
  int line = 0;      // 1-based; 0: the file as a whole
  int column = 0;    // 1-based
};

struct Diagnostic {
  Severity severity = Severity::error;
  Place place;
  std::string key;       // "cluster.fabric.links[2].bandwidth", or empty
  std::string message;   // "unknown key"
  std::string source;    // the source line, or empty
  std::string expected;  // "expected ..." without the word, or empty
  std::string hint;      // the nearest right spelling, or empty
};

class Diagnostics {
 public:
  void add(Diagnostic diagnostic);
  bool has_errors() const;
  bool empty() const { return items_.empty(); }
  const std::vector<Diagnostic>& items() const { return items_; }
  // All of them as text, sorted by place, each as shown above.
  std::string text() const;

 private:
  std::vector<Diagnostic> items_;
};

// The candidate nearest to `word` by edit distance, if it is at most max(1, length / 3) away; else "".
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace collsim
