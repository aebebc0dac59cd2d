// LinkNames: from the names that a user writes to the vertices and links of a topology.
//
// "leaf0 -> spine1" is the link, "leaf0 <-> spine1" both; of parallel links "#2" at the end takes the second,
// and without it all are meant. In a pattern '*' stands for any characters of a vertex name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "sim/model/topology.hpp"

namespace collsim::topologies {

struct NameError {
  std::string message;
  std::string expected;
  std::string hint;  // the nearest right spelling of the whole text, or empty
};

class LinkNames {
 public:
  // Keeps a reference. O(vertices)
  explicit LinkNames(const Topology& topology);

  std::variant<VertexId, NameError> vertex(std::string_view name) const;
  // At least one link, increasing. O(links)
  std::variant<std::vector<LinkId>, NameError> links(std::string_view text, bool is_pattern) const;

 private:
  struct Ends {
    std::string from;
    std::string to;
    bool both = false;
    int number = 0;  // of parallel links; 0: all
  };
  static std::optional<Ends> ends_of(std::string_view text);
  std::vector<bool> matching(const std::string& name, bool is_pattern) const;

  const Topology& topology_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, VertexId> ids_;  // looked up only
};

// Whether '*' in the pattern can be filled in to give the name. O(pattern * name)
bool matches(std::string_view pattern, std::string_view name);

}  // namespace collsim::topologies
