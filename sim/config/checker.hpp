// Checker: a tree of nodes against the table of keys, giving typed values or diagnostics.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "sim/config/document.hpp"
#include "sim/config/table.hpp"

namespace collsim::config {

// A checked value. Which fields count follows from the form of its key.
struct Value {
  bool given = false;       // written or defaulted; a value in error is not given
  bool automatic = false;   // the word of its key, such as `auto`
  std::int64_t number = 0;  // integer, boolean, size, bandwidth, duration; numerator of a fraction or part
  std::int64_t denominator = 1;
  std::int64_t last = 0;  // numbers: number, number + step, ..., at most last
  std::int64_t step = 1;
  std::string text;                   // name, text; the user's spelling
  std::vector<Value> items;           // list
  std::map<std::string, Value> keys;  // table: every key of the table
  NodePtr node;                       // null if the value is a default

  // The value of a key. REQUIRES: this is a table with that key
  const Value& operator[](const std::string& key) const;
};

// Where each key was written, by path.
using Places = std::map<std::string, Where, std::less<>>;

class Checker {
 public:
  Checker(Diagnostics& diagnostics, Places& places) : diagnostics_(diagnostics), places_(places) {}
  // `where` is the place of the key (or entry) that holds `node`.
  Value check(const NodePtr& node, const Key& key, const std::string& path, const Where& where);

 private:
  Value check_one(const NodePtr& node, const Key& key, const std::string& path, const Where& where);
  Value check_list(const NodePtr& node, const Key& key, const std::string& path);
  Value check_scalar(const NodePtr& node, const Key& key, const std::string& path);
  Value check_integer(const NodePtr& node, const Key& key, const std::string& path);
  Value check_quantity(const NodePtr& node, const Key& key, const std::string& path);
  Value check_boolean(const NodePtr& node, const Key& key, const std::string& path);
  Value check_name(const NodePtr& node, const Key& key, const std::string& path);
  Value check_text(const NodePtr& node, const Key& key, const std::string& path);
  Value check_fraction(const NodePtr& node, const Key& key, const std::string& path);
  Value check_part(const NodePtr& node, const Key& key, const std::string& path);
  Value check_numbers(const NodePtr& node, const Key& key, const std::string& path);
  Value check_map(const NodePtr& node, const Key& key, const std::string& path, const Where& where);
  Value from_short_form(const NodePtr& node, const Key& key, const std::string& path);
  void check_unknown(const Entry& entry, const Key& table, const std::string& path,
                     const std::vector<std::string>& known);
  void add_missing(Value& value, const Key& table, const std::string& path, const Where& where,
                   const std::vector<std::string>& mistyped);
  void drop_all_unused(const NodePtr& node, Value& value, const Key& table, const std::string& path);
  void drop_unused(Value& value, const Entry& entry, const Key& key, const std::string& path,
                   const Value& kind);
  void add_needed(const Key& key, const std::string& path, const Where& where, const std::string& kind);
  Value default_of(const Key& key);
  Value error(const Where& where, const std::string& path, std::string message, std::string expected,
              std::string hint = "");
  void warn(const Where& where, const std::string& path, std::string message);

  Diagnostics& diagnostics_;
  Places& places_;
  // The errors so far that have a place of their own: place, last key, message. What several keys share (an
  // alias, cluster.node in its groups) is said once.
  std::set<std::tuple<const Source*, int, int, std::string, std::string>> said_;
};

// `count` in the unit of a key, as it would be written: "1 TiB", "1000.00 s".
std::string limit_text(const Key& key, std::int64_t count);

}  // namespace collsim::config
