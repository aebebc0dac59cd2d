#include "algorithms/binary_trees.hpp"

namespace collsim::algorithms {
namespace {

void add_child(TreeVertex& vertex, std::int32_t child) {
  vertex.child[static_cast<std::size_t>(vertex.child_count++)] = child;
}

TreeVertex vertex_of_first(std::int32_t count, std::int32_t number) {
  TreeVertex vertex;
  std::int32_t bit = 1;
  while (bit < count && (bit & number) == 0) bit <<= 1;
  if (number == 0) {
    if (count > 1) add_child(vertex, bit >> 1);
    return vertex;
  }
  vertex.parent = (number ^ bit) | (bit << 1);
  if (vertex.parent >= count) vertex.parent = number ^ bit;
  std::int32_t offset = bit >> 1;
  if (offset > 0) add_child(vertex, number - offset);
  while (offset > 0 && number + offset >= count) offset >>= 1;
  if (offset > 0) add_child(vertex, number + offset);
  return vertex;
}

TreeVertex vertex_of_second(std::int32_t count, std::int32_t number, std::int32_t fixed) {
  const std::int32_t moved = count - fixed;
  const bool mirror = moved % 2 == 0;
  const auto back = [=](std::int32_t other) {
    if (other < fixed) return other;
    return fixed + (mirror ? moved - 1 - (other - fixed) : (other - fixed + 1) % moved);
  };
  const auto to = [=](std::int32_t other) {
    if (other < fixed || mirror) return back(other);
    return fixed + (other - fixed + moved - 1) % moved;
  };
  TreeVertex vertex = vertex_of_first(count, to(number));
  if (vertex.parent >= 0) vertex.parent = back(vertex.parent);
  for (std::int32_t i = 0; i < vertex.child_count; ++i) {
    std::int32_t& child = vertex.child[static_cast<std::size_t>(i)];
    child = back(child);
  }
  return vertex;
}

}  // namespace

TreeVertex vertex_of_tree(std::int32_t tree, std::int32_t count, std::int32_t number, std::int32_t fixed) {
  return tree == 0 ? vertex_of_first(count, number) : vertex_of_second(count, number, fixed);
}

}  // namespace collsim::algorithms
