#include "sim/config/document.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <cstdint>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "sim/core/quantity_text.hpp"

namespace collsim::config {
namespace {

constexpr std::size_t depth_max = 64;
constexpr std::size_t values_max = 1'000'000;
constexpr std::int64_t open_brackets_max = 10'000;
constexpr std::size_t key_length_max = 256;
constexpr std::size_t bytes_max = std::size_t{16} << 20;

constexpr const char* too_deep = "the values are nested too deeply";
std::string too_deep_expected() { return "at most " + std::to_string(depth_max) + " levels"; }

// Leaves the parser early; never leaves this file.
struct Stop {
  Diagnostic diagnostic;
};

struct Frame {
  Node node;
  std::string path;
  std::optional<Entry> pending;     // map: a key that waits for its value
  std::map<std::string, int> keys;  // map: the keys so far, with their lines
  YAML::anchor_t anchor = 0;
  bool skip_value = false;  // the key is in error: read its value and forget it
};

// Turns the parser's events into nodes.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::shared_ptr<const Source> source, std::string path, Diagnostics& diagnostics)
      : source_(std::move(source)), root_path_(std::move(path)), diagnostics_(diagnostics) {}

  NodePtr root() const { return root_; }
  // A key that is no name. Reported only if the text is YAML: what is not closed looks like such a key, too.
  const std::optional<Diagnostic>& bad_key() const { return bad_key_; }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Node node;
    node.where = where(mark);
    add(std::move(node), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end())
      throw Stop{diagnostic_at(where(mark), path(), "the alias stands for a value that contains it")};
    Node node = *found->second;
    node.where = where(mark);
    values_ += node.items.size() + node.entries.size();  // they are copied
    add(std::move(node), 0);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_tag(mark, tag);
    Node node;
    node.kind = Node::Kind::scalar;
    node.where = where(mark);
    node.text = value;
    add(std::move(node), anchor, tag == "!");
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Node::Kind::list, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Node::Kind::map, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  Where where(const YAML::Mark& mark) const {
    if (source_->line_start.empty()) return {source_, 0, 0};
    return {source_, mark.line + 1, mark.column + 1};
  }

  // The path of what comes next.
  std::string path() const {
    if (frames_.empty()) return root_path_;
    const Frame& frame = frames_.back();
    if (frame.node.kind == Node::Kind::list) return indexed_path(frame.path, frame.node.items.size());
    return frame.pending ? joined_path(frame.path, frame.pending->key) : frame.path;
  }

  bool expects_key() const {
    return !frames_.empty() && frames_.back().node.kind == Node::Kind::map && !frames_.back().pending;
  }

  void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    diagnostics_.add(
        diagnostic_at(where(mark), path(), "the tag " + quoted(tag) + " is not supported", "a plain value"));
  }

  void open(Node::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    refuse_tag(mark, tag);
    if (frames_.size() == depth_max)
      throw Stop{diagnostic_at(where(mark), "", too_deep, too_deep_expected())};
    Frame frame;
    frame.node.kind = kind;
    frame.node.where = where(mark);
    frame.path = path();
    frame.anchor = anchor;
    frames_.push_back(std::move(frame));
  }

  void close() {
    Node node = std::move(frames_.back().node);
    const YAML::anchor_t anchor = frames_.back().anchor;
    frames_.pop_back();
    add(std::move(node), anchor);
  }

  void add(Node node, YAML::anchor_t anchor, bool in_quotes = false) {
    if (++values_ > values_max)
      throw Stop{diagnostic_at(node.where, "", "there are too many values",
                               "at most " + std::to_string(values_max))};
    if (expects_key()) return add_key(node, in_quotes);
    if (!frames_.empty() && node.kind == Node::Kind::null) node.where = place_of_null();
    auto shared = std::make_shared<const Node>(std::move(node));
    if (anchor != 0) anchors_[anchor] = shared;
    if (frames_.empty()) {
      root_ = std::move(shared);
      return;
    }
    Frame& frame = frames_.back();
    if (frame.node.kind == Node::Kind::list) {
      frame.node.items.push_back(std::move(shared));
      return;
    }
    if (!frame.skip_value) {
      frame.pending->value = std::move(shared);
      frame.node.entries.push_back(std::move(*frame.pending));
    }
    frame.pending.reset();
  }

  Where place_of_null() const {
    const Frame& frame = frames_.back();
    return frame.pending ? frame.pending->where : frame.node.where;
  }

  void add_key(const Node& node, bool in_quotes) {
    Frame& frame = frames_.back();
    if (node.kind != Node::Kind::scalar) {
      if (!bad_key_) bad_key_ = diagnostic_at(node.where, frame.path, "a key is not a name", "a name");
      frame.pending = Entry{"", node.where, nullptr};
      frame.skip_value = true;
      return;
    }
    if (node.text.size() > key_length_max)
      throw Stop{diagnostic_at(node.where, frame.path, "a key is too long",
                               "at most " + std::to_string(key_length_max) + " bytes")};
    frame.pending = Entry{node.text, node.where, nullptr};
    const auto [first, is_new] = frame.keys.emplace(node.text, node.where.line);
    frame.skip_value = !is_new;
    const bool merge = node.text == "<<" && !in_quotes;
    if (merge) {
      diagnostics_.add(diagnostic_at(node.where, frame.path, "the merge key '<<' is not supported",
                                     "every key written out"));
      frame.skip_value = true;
    } else if (frame.skip_value) {
      const std::string line =
          first->second > 0 ? "; the first is on line " + std::to_string(first->second) : "";
      diagnostics_.add(diagnostic_at(node.where, path(), "repeated key", "it once" + line));
    }
  }

  std::shared_ptr<const Source> source_;
  std::string root_path_;
  Diagnostics& diagnostics_;
  std::vector<Frame> frames_;
  std::map<YAML::anchor_t, NodePtr> anchors_;  // of complete nodes only
  std::size_t values_ = 0;
  NodePtr root_;
  std::optional<Diagnostic> bad_key_;
};

// What the parser would misread or be slow on: it takes byte 4 for the end of the text, NUL is in no YAML
// text, and millions of open brackets (counted roughly: quotes and comments are not looked at) cost it a
// minute.
bool has_bad_bytes(const std::shared_ptr<const Source>& source, Diagnostics& diagnostics) {
  if (source->text.size() > bytes_max) {
    diagnostics.add(diagnostic_at({source, 0, 0}, "", "the file is too large", "at most 16 MiB"));
    return true;
  }
  int line = 1;
  int column = 1;
  std::int64_t open_brackets = 0;
  for (const char c : source->text) {
    const auto byte = static_cast<unsigned char>(c);
    open_brackets += (c == '[' || c == '{' ? 1 : 0) - (c == ']' || c == '}' ? 1 : 0);
    if (open_brackets > open_brackets_max) {
      diagnostics.add(diagnostic_at({source, 0, 0}, "", too_deep, too_deep_expected()));
      return true;
    }
    if (byte < 0x20 && c != '\t' && c != '\n' && c != '\r') {
      const bool shown = !source->line_start.empty();
      diagnostics.add(diagnostic_at({source, shown ? line : 0, shown ? column : 0}, "",
                                    "not YAML: a control character (byte " + std::to_string(byte) + ")",
                                    "text in UTF-8"));
      return true;
    }
    ++column;
    if (c == '\n') {
      ++line;
      column = 1;
    }
  }
  return false;
}

void parse_all(const std::shared_ptr<const Source>& source, TreeBuilder& builder, Diagnostics& diagnostics) {
  std::istringstream stream(source->text);
  YAML::Parser parser(stream);
  if (!parser.HandleNextDocument(builder)) return;
  // A second document would replace the first in the builder.
  TreeBuilder rest(source, "", diagnostics);
  if (parser.HandleNextDocument(rest))
    diagnostics.add(diagnostic_at(rest.root() ? rest.root()->where : Where{source, 0, 0}, "",
                                  "the file holds several documents", "one document, without '---' between"));
}

// Line `line` (1-based) with its line end; empty if there is none.
std::string_view line_of(const Source& source, int line) {
  const auto index = static_cast<std::size_t>(line) - 1;
  if (line < 1 || index >= source.line_start.size()) return {};
  const std::size_t begin = source.line_start[index];
  const std::size_t end =
      index + 1 < source.line_start.size() ? source.line_start[index + 1] : source.text.size();
  return std::string_view(source.text).substr(begin, end - begin);
}

// What the parser's message means. It stumbles over tabs without naming them.
Diagnostic diagnostic_from(const YAML::Exception& error, const std::shared_ptr<const Source>& source,
                           const std::string& key) {
  if (source->line_start.empty() || error.mark.is_null())
    return diagnostic_at({source, 0, 0}, key, "not YAML: " + error.msg);
  for (const int line : {error.mark.line + 1, error.mark.line}) {
    const std::string_view text = line_of(*source, line);
    const std::size_t tab = text.find('\t');
    if (tab != std::string_view::npos && text.find_first_not_of(" \t") > tab)
      return diagnostic_at({source, line, static_cast<int>(tab) + 1}, key,
                           "not YAML: a tab in the indentation", "spaces");
  }
  return diagnostic_at({source, error.mark.line + 1, error.mark.column + 1}, key, "not YAML: " + error.msg);
}

}  // namespace

Diagnostic diagnostic_at(const Where& where, std::string key, std::string message, std::string expected,
                         std::string hint) {
  Diagnostic result;
  result.key = std::move(key);
  result.message = std::move(message);
  result.expected = std::move(expected);
  result.hint = std::move(hint);
  if (!where.source) return result;
  result.place = {where.source->name, where.line, where.column};
  if (where.line > 0) show_line(result, line_of(*where.source, where.line), where.column);
  return result;
}

std::shared_ptr<const Source> make_source(std::string name, Layer layer, std::string_view text) {
  auto source = std::make_shared<Source>();
  source->name = std::move(name);
  source->layer = layer;
  if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);  // byte order mark
  source->text = std::string(text);
  if (layer == Layer::override_) return source;
  source->line_start.push_back(0);
  for (std::size_t i = 0; i < source->text.size(); ++i)
    if (source->text[i] == '\n') source->line_start.push_back(i + 1);
  return source;
}

NodePtr parse_document(const std::shared_ptr<const Source>& source, const std::string& key,
                       Diagnostics& diagnostics) {
  if (has_bad_bytes(source, diagnostics)) return nullptr;
  TreeBuilder builder(source, key, diagnostics);
  try {
    parse_all(source, builder, diagnostics);
  } catch (const Stop& stop) {
    diagnostics.add(stop.diagnostic);
    return nullptr;
  } catch (const YAML::Exception& error) {
    diagnostics.add(diagnostic_from(error, source, key));
    return nullptr;
  }
  if (builder.bad_key()) diagnostics.add(*builder.bad_key());
  return builder.root();
}

std::string joined_path(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : path + "." + std::string(key);
}

std::string indexed_path(const std::string& path, std::size_t index) {
  return path + "[" + std::to_string(index) + "]";
}

}  // namespace collsim::config
