#include "algorithms/msccl_reader.hpp"

#include <expat.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "sim/core/spelling.hpp"

namespace collsim::algorithms {
namespace {

constexpr std::size_t kept_max = 20;
constexpr std::size_t word_max = 40;  // bytes of a word that a text repeats

const std::vector<std::string> attributes_of_algo = {
    "name",       "proto",    "nchannels", "nchunksperloop", "ngpus", "coll",     "inplace",
    "outofplace", "minBytes", "maxBytes",  "redop",          "root",  "maxcount", "nthreadblocks"};
const std::vector<std::string> attributes_of_gpu = {"id", "i_chunks", "o_chunks", "s_chunks"};
const std::vector<std::string> attributes_of_tb = {"id", "send", "recv", "chan"};
const std::vector<std::string> attributes_of_step = {"s",      "type", "srcbuf", "srcoff", "dstbuf",
                                                     "dstoff", "cnt",  "depid",  "deps",   "hasdep"};

struct CollectiveName {
  const char* name;
  CollectiveKind kind;
};
constexpr CollectiveName collective_names[] = {{"allreduce", CollectiveKind::all_reduce},
                                               {"reducescatter", CollectiveKind::reduce_scatter},
                                               {"allgather", CollectiveKind::all_gather},
                                               {"broadcast", CollectiveKind::broadcast},
                                               {"reduce", CollectiveKind::reduce},
                                               {"scatter", CollectiveKind::scatter},
                                               {"gather", CollectiveKind::gather},
                                               {"alltoall", CollectiveKind::all_to_all},
                                               {"reduce_scatter", CollectiveKind::reduce_scatter}};

std::string shown(std::string_view word) {
  std::string text = "'" + std::string(word.substr(0, word_max));
  return text + (word.size() > word_max ? "...'" : "'");
}

std::string list_of(const std::vector<std::string>& words) {
  std::string text = "one of ";
  for (std::size_t i = 0; i < words.size(); ++i) text += (i > 0 ? ", " : "") + words[i];
  return text;
}

struct ParserDeleter {
  void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
};

// Follows the elements in the order in which expat reports them.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text), parser_(XML_ParserCreate(nullptr)) {
    if (parser_ == nullptr) throw std::bad_alloc();
  }

  std::variant<MscclFile, std::vector<MscclFinding>> read();

 private:
  enum class Level { document, algo, gpu, tb, step };

  // The attributes of the element that begins: name, value, name, value, ..., null.
  void start(std::string_view element, const char** attributes);
  void end();
  void text(std::string_view characters);
  void declaration();
  void document_type();

  void start_algo();
  void start_gpu();
  void start_tb();
  void start_step();
  void end_gpu();
  void finish();
  void stop(std::string text, std::string expected);

  std::optional<std::string_view> value_of(std::string_view name) const;
  std::optional<std::string_view> required(const std::string& name);
  std::int64_t number(const std::string& name, std::int64_t least, std::int64_t most);
  std::int32_t small(const std::string& name, std::int64_t least, std::int64_t most) {
    return static_cast<std::int32_t>(number(name, least, most));
  }
  std::optional<bool> flag(const std::string& name);
  std::optional<std::size_t> word(const std::string& name, const std::vector<std::string>& words);
  MscclBuffer buffer(const std::string& name);
  void know(const std::vector<std::string>& known);
  bool first_time(const std::string& name);

  MscclFinding& report(MscclFinding::Severity severity, std::string text, std::string_view attribute = {});
  void fail(std::string text, std::string expected = {}, std::string hint = {},
            std::string_view attribute = {});
  void warn(std::string text, std::string nccl, std::string_view attribute = {});
  void locate(MscclFinding& finding, std::string_view attribute) const;

  std::string_view text_;
  std::unique_ptr<std::remove_pointer_t<XML_Parser>, ParserDeleter> parser_;
  MscclFile file_;
  std::vector<MscclFinding> errors_;
  MscclFinding dropped_;  // where findings beyond the last that is kept are written
  Level level_ = Level::document;
  std::int64_t ignored_depth_ = 0;  // elements open inside an ignored one
  std::int64_t steps_ = 0;
  std::int64_t tb_count_ = 0;
  bool seen_ = false;  // an algo
  bool stopped_ = false;
  MscclFinding::Place place_;
  const char** attributes_ = nullptr;
  std::string_view element_;
  std::vector<std::string> unknown_;                            // elements and attributes that were warned of
  std::vector<bool> gpu_seen_;                                  // [id]
  std::vector<std::pair<std::int32_t, MscclThreadBlock>> tbs_;  // of the open gpu, as they come
};

std::variant<MscclFile, std::vector<MscclFinding>> Reader::read() {
  if (static_cast<std::int64_t>(text_.size()) > MscclLimits::text_bytes) {
    fail("the file has " + std::to_string(text_.size()) + " bytes",
         "at most " + std::to_string(MscclLimits::text_bytes) + " bytes");
    return std::move(errors_);
  }
  XML_Parser parser = parser_.get();
  XML_SetUserData(parser, this);
  XML_SetElementHandler(
      parser,
      [](void* data, const char* name, const char** attributes) {
        static_cast<Reader*>(data)->start(name, attributes);
      },
      [](void* data, const char*) { static_cast<Reader*>(data)->end(); });
  XML_SetCharacterDataHandler(parser, [](void* data, const char* characters, int length) {
    static_cast<Reader*>(data)->text({characters, static_cast<std::size_t>(length)});
  });
  XML_SetXmlDeclHandler(
      parser, [](void* data, const char*, const char*, int) { static_cast<Reader*>(data)->declaration(); });
  XML_SetStartDoctypeDeclHandler(parser, [](void* data, const char*, const char*, const char*, int) {
    static_cast<Reader*>(data)->document_type();
  });
  const XML_Status status = XML_Parse(parser, text_.data(), static_cast<int>(text_.size()), XML_TRUE);
  if (status == XML_STATUS_ERROR && !stopped_) {
    place_ = {};
    fail(std::string("no well-formed XML: ") + XML_ErrorString(XML_GetErrorCode(parser)),
         seen_ ? "" : "an MSCCL algorithm, <algo ...>");
  } else if (!stopped_) {
    finish();
  }
  if (!errors_.empty()) return std::move(errors_);
  return std::move(file_);
}

void Reader::start(std::string_view element, const char** attributes) {
  if (stopped_) return;
  if (ignored_depth_ > 0) {
    if (++ignored_depth_ > MscclLimits::depth)
      stop("elements are nested too deeply", "at most " + std::to_string(MscclLimits::depth) + " levels");
    return;
  }
  element_ = element;
  attributes_ = attributes;
  place_.line = static_cast<std::int32_t>(XML_GetCurrentLineNumber(parser_.get()));
  constexpr std::array<std::string_view, 4> names = {"algo", "gpu", "tb", "step"};
  const auto wanted = static_cast<std::size_t>(level_);
  if (level_ == Level::step || element != names[wanted]) {
    ignored_depth_ = 1;
    if (level_ == Level::document)
      return fail("it begins with " + shown(element) + ", which is no MSCCL algorithm", "<algo ...>");
    const bool misplaced = std::find(names.begin(), names.end(), element) != names.end();
    if (misplaced) {
      const std::string inside = level_ == Level::step ? "step" : std::string(names[wanted - 1]);
      fail("<" + std::string(element) + "> inside <" + inside + ">",
           level_ == Level::step ? "nothing inside a step" : "<" + std::string(names[wanted]) + " ...>");
    } else {
      if (first_time("<" + std::string(element.substr(0, word_max))))
        warn("unknown element " + shown(element), "ignores it");
    }
    return;
  }
  level_ = static_cast<Level>(wanted + 1);
  switch (level_) {
    case Level::algo:
      return start_algo();
    case Level::gpu:
      return start_gpu();
    case Level::tb:
      return start_tb();
    default:
      return start_step();
  }
}

void Reader::end() {
  if (stopped_) return;
  if (ignored_depth_ > 0) {
    --ignored_depth_;
    return;
  }
  if (level_ == Level::document) return;
  level_ = static_cast<Level>(static_cast<int>(level_) - 1);
  if (level_ == Level::algo) end_gpu();
  if (level_ == Level::gpu) place_.tb = -1;
  if (level_ <= Level::tb) place_.step = -1;
}

void Reader::text(std::string_view characters) {
  if (stopped_ || ignored_depth_ > 0 || characters.find_first_not_of(" \t\r\n") == characters.npos) return;
  place_.line = static_cast<std::int32_t>(XML_GetCurrentLineNumber(parser_.get()));
  fail("text between the elements: " + shown(characters), "elements alone");
}

void Reader::declaration() {
  place_.line = 1;
  warn("an XML declaration <?xml ...?>", "cannot read it and refuses the file");
}

void Reader::document_type() {
  place_ = {};
  stop("a document type declaration (<!DOCTYPE ...>)", "none: entities are not expanded");
}

void Reader::start_algo() {
  seen_ = true;
  know(attributes_of_algo);
  file_.line = place_.line;
  file_.name = std::string(value_of("name").value_or(""));
  if (const auto protocol = word("proto", {"Simple", "LL", "LL128"}))
    file_.protocol = std::array{"Simple", "LL", "LL128"}[*protocol];
  file_.channels = small("nchannels", 1, 1 << 20);
  file_.chunks = small("nchunksperloop", 1, MscclLimits::chunks);
  file_.ranks = small("ngpus", 1, MscclLimits::gpus);
  std::vector<std::string> names;
  for (const CollectiveName& each : collective_names) names.emplace_back(each.name);
  if (const auto kind = word("coll", names)) {
    file_.kind = collective_names[*kind].kind;
    if (std::string_view(collective_names[*kind].name) == "reduce_scatter")
      warn("coll is 'reduce_scatter'", "knows it as 'reducescatter' and refuses the file", "coll");
  }
  const std::optional<bool> in_place = flag("inplace");
  const std::optional<bool> out_of_place = flag("outofplace");
  file_.in_place = in_place.value_or(false);
  file_.out_of_place = out_of_place.value_or(!file_.in_place);
  if (value_of("root")) file_.root = small("root", 0, std::int64_t{file_.ranks} - 1);
  constexpr std::int64_t bytes_max = std::int64_t{1} << 62;
  if (value_of("minBytes")) file_.bytes_min = number("minBytes", 0, bytes_max);
  if (value_of("maxBytes")) file_.bytes_max = number("maxBytes", 0, bytes_max);
  if (!file_.bytes_min || !file_.bytes_max)
    warn(std::string("no ") + (file_.bytes_min   ? "maxBytes"
                               : file_.bytes_max ? "minBytes"
                                                 : "minBytes and maxBytes"),
         "ignores the file: without a range of sizes it never takes it");
  if (!in_place || !out_of_place)
    warn(std::string("no ") + (in_place       ? "outofplace"
                               : out_of_place ? "inplace"
                                              : "inplace and outofplace"),
         "ignores the file: it does not know which calls may use it");
  if (in_place && out_of_place && !*in_place && !*out_of_place)
    warn("neither inplace nor outofplace is 1", "never takes the file");
}

void Reader::start_gpu() {
  place_ = {-1, -1, -1, place_.line};
  know(attributes_of_gpu);
  MscclGpu gpu;
  gpu.line = place_.line;
  const std::int32_t id = small("id", 0, std::int64_t{file_.ranks} - 1);
  place_.gpu = id;
  gpu.input_chunks = small("i_chunks", 0, MscclLimits::chunks);
  gpu.output_chunks = small("o_chunks", 0, MscclLimits::chunks);
  gpu.scratch_chunks = small("s_chunks", 0, MscclLimits::chunks);
  const auto count = static_cast<std::size_t>(file_.ranks);
  file_.gpus.resize(count);
  gpu_seen_.resize(count);
  const auto place = static_cast<std::size_t>(id);
  if (gpu_seen_[place]) fail("gpu " + std::to_string(id) + " is there twice", "one <gpu> a gpu", {}, "id");
  gpu_seen_[place] = true;
  file_.gpus[place] = std::move(gpu);
  tbs_.clear();
}

void Reader::start_tb() {
  place_.tb = -1;
  if (++tb_count_ > MscclLimits::tbs)
    return stop("there are more thread blocks than can be checked",
                "at most " + std::to_string(MscclLimits::tbs) + " in a file");
  know(attributes_of_tb);
  MscclThreadBlock tb;
  tb.line = place_.line;
  const std::int32_t id = small("id", 0, 1 << 20);
  place_.tb = id;
  tb.send = small("send", -1, std::int64_t{file_.ranks} - 1);
  tb.receive = small("recv", -1, std::int64_t{file_.ranks} - 1);
  tb.channel = small("chan", 0, 1 << 20);
  if (tb.send == place_.gpu || tb.receive == place_.gpu)
    fail("its peer is gpu " + std::to_string(place_.gpu) + " itself", "another gpu, or -1", {},
         tb.send == place_.gpu ? "send" : "recv");
  tbs_.emplace_back(id, std::move(tb));
}

void Reader::start_step() {
  MscclThreadBlock& tb = tbs_.back().second;
  place_.step = static_cast<std::int32_t>(tb.steps.size());
  if (++steps_ > MscclLimits::steps)
    return stop("there are more steps than can be checked",
                "at most " + std::to_string(MscclLimits::steps) + " in a file");
  know(attributes_of_step);
  MscclStep step;
  step.line = place_.line;
  step.number = small("s", 0, 1 << 30);
  static const std::vector<std::string> types = {"s", "r", "rcs", "rrc", "rrs", "rrcs", "cpy", "re", "nop"};
  if (const auto type = word("type", types)) step.type = static_cast<MscclStepType>(*type);
  step.source_buffer = buffer("srcbuf");
  step.target_buffer = buffer("dstbuf");
  constexpr std::int64_t far = 1 << 30;
  step.source = small("srcoff", -far, far);
  step.target = small("dstoff", -far, far);
  step.count = step.type == MscclStepType::nop ? small("cnt", 0, far) : small("cnt", 1, MscclLimits::chunks);
  step.dependency_tb = small("depid", -1, far);
  step.dependency_step = small("deps", -1, far);
  step.has_dependents = flag("hasdep").value_or(false);
  if (!value_of("hasdep")) required("hasdep");
  if (step.number != place_.step)
    warn("it says s=" + std::to_string(step.number) + " and is step " + std::to_string(place_.step),
         "numbers steps by their place", "s");
  tb.steps.push_back(step);
}

void Reader::end_gpu() {
  std::stable_sort(tbs_.begin(), tbs_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<MscclThreadBlock>& tbs = file_.gpus[static_cast<std::size_t>(place_.gpu)].tbs;
  place_.tb = place_.step = -1;
  for (auto& numbered : tbs_) {
    const auto expected = static_cast<std::int32_t>(tbs.size());
    place_.line = numbered.second.line;
    if (numbered.first < expected)
      return fail("tb " + std::to_string(numbered.first) + " is there twice", "one <tb> a thread block");
    if (numbered.first > expected)
      return fail("tb " + std::to_string(expected) + " is missing", "ids from 0 on without gaps");
    tbs.push_back(std::move(numbered.second));
  }
}

// What can be said only when everything has been read.
void Reader::finish() {
  place_ = {-1, -1, -1, file_.line};
  for (std::size_t id = 0; id < static_cast<std::size_t>(file_.ranks); ++id)
    if (id >= gpu_seen_.size() || !gpu_seen_[id]) {
      fail("gpu " + std::to_string(id) + " is missing", "a <gpu> for each of " + std::to_string(file_.ranks));
      break;
    }
  std::int64_t scratch = 0;
  for (const MscclGpu& gpu : file_.gpus) scratch = std::max<std::int64_t>(scratch, gpu.scratch_chunks);
  if ((file_.chunks + scratch) * file_.ranks > MscclLimits::cells)
    fail(std::to_string(file_.chunks) + " chunks and " + std::to_string(scratch) + " of scratch on " +
             std::to_string(file_.ranks) + " gpus are more than can be checked",
         "at most " + std::to_string(MscclLimits::cells) + " together");
  if (in_parts(file_.kind) && file_.chunks % file_.ranks != 0)
    fail("nchunksperloop is " + std::to_string(file_.chunks) + ", which is no equal part for each of " +
             std::to_string(file_.ranks) + " gpus",
         "a multiple of ngpus");
}

std::optional<std::string_view> Reader::value_of(std::string_view name) const {
  for (const char** at = attributes_; *at != nullptr; at += 2)
    if (name == at[0]) return at[1];
  return std::nullopt;
}

std::optional<std::string_view> Reader::required(const std::string& name) {
  const auto value = value_of(name);
  if (value) return value;
  fail("<" + std::string(element_) + "> has no " + name, "the attribute " + name);
  return std::nullopt;
}

// A number of the range even where it is wrong, so that reading can go on.
std::int64_t Reader::number(const std::string& name, std::int64_t least, std::int64_t most) {
  const std::int64_t fallback = std::max<std::int64_t>(least, 0);
  const auto value = required(name);
  if (!value) return fallback;
  std::int64_t result = 0;
  const auto [last, error] = std::from_chars(value->data(), value->data() + value->size(), result);
  const bool whole = last == value->data() + value->size() && !value->empty();
  const std::string range = std::to_string(least) + " to " + std::to_string(most);
  if (!whole || error == std::errc::invalid_argument) {
    fail(name + " is " + shown(*value) + ", which is no whole number", range, {}, name);
    return fallback;
  }
  if (error != std::errc() || result < least || result > most) {
    fail(name + " is " + std::string(value->substr(0, word_max)), range, {}, name);
    return fallback;
  }
  return result;
}

// Nothing if it is not there.
std::optional<bool> Reader::flag(const std::string& name) {
  if (!value_of(name)) return std::nullopt;
  return number(name, 0, 1) == 1;
}

std::optional<std::size_t> Reader::word(const std::string& name, const std::vector<std::string>& words) {
  const auto value = required(name);
  if (!value) return std::nullopt;
  const auto found = std::find(words.begin(), words.end(), *value);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  fail(name + " is " + shown(*value), list_of(words), nearest(*value, words), name);
  return std::nullopt;
}

MscclBuffer Reader::buffer(const std::string& name) {
  static const std::vector<std::string> buffers = {"i", "o", "s"};
  const auto found = word(name, buffers);
  return found ? static_cast<MscclBuffer>(*found) : MscclBuffer::i;
}

// Whether `name` is not known and was not met before.
bool Reader::first_time(const std::string& name) {
  if (unknown_.size() >= kept_max || std::find(unknown_.begin(), unknown_.end(), name) != unknown_.end())
    return false;
  unknown_.push_back(name);
  return true;
}

// Warns once of each attribute that is not known.
void Reader::know(const std::vector<std::string>& known) {
  for (const char** at = attributes_; *at != nullptr; at += 2) {
    const std::string_view name = at[0];
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    if (!first_time(std::string(name.substr(0, word_max)))) continue;
    MscclFinding& finding = report(MscclFinding::Severity::warning, "unknown attribute " + shown(name), name);
    finding.nccl = "ignores it";
    finding.hint = nearest(name, known);
  }
}

MscclFinding& Reader::report(MscclFinding::Severity severity, std::string text, std::string_view attribute) {
  auto& list = severity == MscclFinding::Severity::error ? errors_ : file_.warnings;
  if (list.size() < kept_max) list.emplace_back();
  MscclFinding& finding = list.size() < kept_max || list.back().text.empty() ? list.back() : dropped_;
  finding = {};
  finding.severity = severity;
  finding.place = place_;
  finding.text = std::move(text);
  locate(finding, attribute);
  return finding;
}

void Reader::fail(std::string text, std::string expected, std::string hint, std::string_view attribute) {
  MscclFinding& finding = report(MscclFinding::Severity::error, std::move(text), attribute);
  finding.expected = std::move(expected);
  finding.hint = std::move(hint);
  if (errors_.size() < kept_max || stopped_) return;
  stopped_ = true;
  XML_StopParser(parser_.get(), XML_FALSE);
}

// The last finding.
void Reader::stop(std::string text, std::string expected) {
  fail(std::move(text), std::move(expected));
  stopped_ = true;
  XML_StopParser(parser_.get(), XML_FALSE);
}

void Reader::warn(std::string text, std::string nccl, std::string_view attribute) {
  report(MscclFinding::Severity::warning, std::move(text), attribute).nccl = std::move(nccl);
}

// Line and column of the element, or of the attribute's name inside it.
void Reader::locate(MscclFinding& finding, std::string_view attribute) const {
  XML_Parser parser = parser_.get();
  if (finding.place.line == 0) {
    finding.place.line = static_cast<std::int32_t>(XML_GetCurrentLineNumber(parser));
    finding.column = static_cast<std::int32_t>(XML_GetCurrentColumnNumber(parser)) + 1;
    return;
  }
  const XML_Index begin = XML_GetCurrentByteIndex(parser);
  const auto current = static_cast<std::int32_t>(XML_GetCurrentLineNumber(parser));
  if (begin < 0 || current != finding.place.line) return;
  finding.column = static_cast<std::int32_t>(XML_GetCurrentColumnNumber(parser)) + 1;
  if (attribute.empty()) return;
  const std::string_view element = text_.substr(static_cast<std::size_t>(begin),
                                                static_cast<std::size_t>(XML_GetCurrentByteCount(parser)));
  for (std::size_t at = element.find(attribute); at != element.npos; at = element.find(attribute, at + 1)) {
    const char before = at > 0 ? element[at - 1] : '<';
    const std::size_t after = at + attribute.size();
    if (std::string_view(" \t\r\n").find(before) == std::string_view::npos || after >= element.size() ||
        std::string_view("= \t\r\n").find(element[after]) == std::string_view::npos)
      continue;
    const std::string_view head = element.substr(0, at);
    const std::size_t line_end = head.rfind('\n');
    finding.place.line += static_cast<std::int32_t>(std::count(head.begin(), head.end(), '\n'));
    finding.column = line_end == head.npos ? finding.column + static_cast<std::int32_t>(at)
                                           : static_cast<std::int32_t>(at - line_end);
    return;
  }
}

}  // namespace

std::variant<MscclFile, std::vector<MscclFinding>> read_msccl(std::string_view text) {
  return Reader(text).read();
}

}  // namespace collsim::algorithms
