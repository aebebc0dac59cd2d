#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "sim/report/description.hpp"
#include "sim/report/ratio.hpp"

namespace collsim {

namespace {

// The links between two vertices, lower vertex first.
struct Bundle {
  std::vector<LinkId> forward;
  std::vector<LinkId> backward;
};

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char each : text) {
    if (each == '"' || each == '\\') result += '\\';
    result += each;
  }
  return result + '"';
}

std::string trimmed(std::string text) {
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string link_label(const Link& link) {
  return trimmed(decimal_text({link.bandwidth.bytes_per_second(), 1'000'000'000}, 3)) + " GB/s, " +
         trimmed(decimal_text({link.latency.picoseconds(), 1'000}, 3)) + " ns";
}

const char* shape_of(VertexKind kind) {
  switch (kind) {
    case VertexKind::gpu:
      return "box";
    case VertexKind::nic:
      return "cds";
    case VertexKind::node_switch:
      return "hexagon";
    case VertexKind::fabric_switch:
      return "ellipse";
  }
  return "box";
}

std::string vertex_line(const Topology& topology, VertexId id) {
  return fmt::format("{} [shape={}];\n", quoted(topology.vertex_name(id)),
                     shape_of(topology.vertex(id).kind));
}

// One edge a cable. A link without its way back is drawn as an arrow.
std::string edges_text(const Topology& topology, const Bundle& bundle) {
  std::string text;
  const std::size_t count = std::max(bundle.forward.size(), bundle.backward.size());
  for (std::size_t i = 0; i < count; ++i) {
    const bool forward = i < bundle.forward.size();
    const bool backward = i < bundle.backward.size();
    const Link& link = topology.link(forward ? bundle.forward[i] : bundle.backward[i]);
    std::string label = link_label(link);
    if (forward && backward) {
      const std::string other = link_label(topology.link(bundle.backward[i]));
      if (other != label) label += " / " + other;
    }
    text += fmt::format("  {} -- {} [label={}{}];\n", quoted(topology.vertex_name(link.source)),
                        quoted(topology.vertex_name(link.target)), quoted(label),
                        forward && backward ? "" : ", dir=forward");
  }
  return text;
}

}  // namespace

std::string dot_text(const Topology& topology) {
  std::string text = "graph " + quoted(topology.name()) + " {\n";
  std::map<std::int32_t, std::vector<VertexId>> by_node;
  for (std::size_t i = 0; i < topology.vertex_count(); ++i) {
    by_node[topology.vertex(VertexId(i)).node].push_back(VertexId(i));
  }
  for (const auto& [node, vertices] : by_node) {
    if (node >= 0) text += fmt::format("  subgraph \"cluster_node{0}\" {{\n    label=\"node{0}\";\n", node);
    for (const VertexId id : vertices) text += (node >= 0 ? "    " : "  ") + vertex_line(topology, id);
    if (node >= 0) text += "  }\n";
  }
  std::map<std::pair<VertexId, VertexId>, Bundle> bundles;
  for (std::size_t i = 0; i < topology.link_count(); ++i) {
    const Link& link = topology.link(LinkId(i));
    if (link.source < link.target) {
      bundles[{link.source, link.target}].forward.push_back(LinkId(i));
    } else {
      bundles[{link.target, link.source}].backward.push_back(LinkId(i));
    }
  }
  for (const auto& [ends, bundle] : bundles) text += edges_text(topology, bundle);
  return text + "}\n";
}

}  // namespace collsim
