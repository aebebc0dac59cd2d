#include "algorithms/msccl_writer.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "algorithms/msccl_channels.hpp"
#include "algorithms/msccl_file.hpp"
#include "algorithms/msccl_reader.hpp"

namespace collsim::algorithms {
namespace {

bool is_send(OperationKind kind) { return kind == OperationKind::send; }
bool is_receive(OperationKind kind) {
  return kind == OperationKind::receive || kind == OperationKind::receive_reduce;
}
bool is_local(OperationKind kind) { return kind == OperationKind::copy || kind == OperationKind::reduce; }
bool has_source(const Operation& operation) { return is_local(operation.kind) || operation.from_source; }

// Where the cells of the vector lie in memory, as chunks of a file: parts in the order of their owners, the
// pieces of a part side by side.
class Memory {
 public:
  explicit Memory(const Schedule& schedule) : schedule_(schedule) {
    const Layout& layout = schedule.layout;
    regions_ = layout.regions();
    blocks_ = layout.blocks();
    in_parts_ = collsim::in_parts(schedule.collective.kind);
    chunks_ = static_cast<std::int32_t>(layout.cells());
    part_ = chunks_ / schedule.ranks;
    if (!in_parts_ || layout.cells() > MscclLimits::chunks) return;  // what is too large is not written
    const std::int32_t each = blocks_ / schedule.ranks;              // blocks of a part
    for (std::int32_t region = 0; region < regions_; ++region) {
      std::vector<std::int32_t> seen(static_cast<std::size_t>(schedule.ranks));
      for (std::int32_t block = 0; block < blocks_; ++block) {
        const Rank owner = owner_of(schedule, region, block);
        const std::int32_t piece = seen[static_cast<std::size_t>(owner)]++;
        places_.push_back((owner * regions_ + region) * each + piece);
      }
    }
  }

  std::int32_t chunks() const { return chunks_; }
  std::int32_t part() const { return part_; }
  std::int32_t place(const Chunk& chunk, std::int32_t i) const {
    const std::int32_t block = chunk.block + i;
    if (chunk.buffer == Buffer::scratch) return chunk.region * schedule_.layout.scratch_blocks() + block;
    const std::int32_t cell = chunk.region * blocks_ + block;
    return in_parts_ ? places_[static_cast<std::size_t>(cell)] : cell;
  }

 private:
  const Schedule& schedule_;
  std::int32_t regions_ = 1;
  std::int32_t blocks_ = 1;
  std::int32_t chunks_ = 1;
  std::int32_t part_ = 1;
  bool in_parts_ = false;
  std::vector<std::int32_t> places_;  // [cell]; in parts
};

// An operation of the schedule and what becomes of it.
struct Item {
  Operation operation;
  std::vector<std::int32_t> cuts;  // blocks at which a new step begins, without 0
  std::int32_t tb = -1;
  std::int32_t last_step = -1;
  bool waited_for = false;
  std::vector<Operation::Wait> waits;  // after waits have been dissolved
};

struct ThreadBlock {
  std::int32_t send = -1;
  std::int32_t receive = -1;
  std::int32_t channel = 0;
  std::vector<Item*> items;
  std::vector<Operation::Wait> trailing;  // dependencies behind the last item
};

struct Stream {
  std::vector<Item> items;
  std::vector<Operation::Wait> trailing;
};

struct Gpu {
  std::vector<Stream> streams;
  std::vector<ThreadBlock> tbs;
};

class Writer {
 public:
  Writer(const Schedule& schedule, const MscclWriting& writing)
      : schedule_(schedule), writing_(writing), memory_(schedule) {}

  std::variant<std::string, Impossible> write();

 private:
  void expand(Rank rank);
  void add(Stream& stream, Operation operation);
  void dissolve_waits(Gpu& gpu);
  std::vector<Operation::Wait> without_waits(const Gpu& gpu, const Operation::Wait& wait) const;
  bool cut_messages();
  void cut(const Item& item, std::vector<bool>& begins) const;
  static void store_cuts(const std::vector<bool>& begins, Item& item);
  void deal(Gpu& gpu);
  bool choose_channels();
  void chain(Gpu& gpu);
  static void number(Gpu& gpu);
  std::optional<Impossible> unfit() const;

  std::string head() const;
  void write_gpu(Rank rank, std::string& text);
  void write_tb(Rank rank, std::int32_t number, std::string& text);
  void write_item(Rank rank, const Item& item, std::int32_t& step, std::string& text);
  void write_nop(const Gpu& gpu, const Operation::Wait& wait, std::int32_t& step, std::string& text) const;
  std::string where(Rank rank, const char* prefix, const Chunk& chunk, std::int32_t i);
  std::string dependency(const Gpu& gpu, const Operation::Wait* wait) const;
  Item& item_of(Gpu& gpu, const Operation::Wait& wait) const {
    return gpu.streams[static_cast<std::size_t>(wait.stream)].items[static_cast<std::size_t>(wait.operation)];
  }

  const Schedule& schedule_;
  const MscclWriting& writing_;
  const Memory memory_;
  std::vector<Gpu> gpus_;
  std::int64_t operations_ = 0;
  bool outside_ = false;  // a chunk that no buffer of the format has
};

std::optional<Impossible> Writer::unfit() const {
  const CollectiveKind kind = schedule_.collective.kind;
  const Layout& layout = schedule_.layout;
  if (kind == CollectiveKind::send_recv || kind == CollectiveKind::barrier)
    return Impossible{"MSCCL has no " + std::string(name_of(kind))};
  if (schedule_.group_count > 0) return Impossible{"MSCCL has no reduction in switches"};
  if (layout.cells() > MscclLimits::chunks || layout.scratch_cells() > MscclLimits::chunks)
    return Impossible{"it has " + std::to_string(std::max(layout.cells(), layout.scratch_cells())) +
                      " chunks; a file has at most " + std::to_string(MscclLimits::chunks)};
  const std::int64_t cells = (layout.cells() + layout.scratch_cells()) * schedule_.ranks;
  if (schedule_.ranks > MscclLimits::gpus || cells > MscclLimits::cells)
    return Impossible{std::to_string(schedule_.ranks) + " ranks with " + std::to_string(cells) +
                      " chunks together are more than a file can be checked with"};
  const Bytes size = layout.size(0, 0, 1);
  for (std::int32_t region = 0; region < layout.regions(); ++region)
    if (layout.size(region, 0, 1) != size || layout.size(region, layout.blocks() - 1, 1) != size)
      return Impossible{std::to_string(schedule_.collective.elements()) +
                        " elements are no equal parts for " + std::to_string(layout.cells()) +
                        " chunks, and the chunks of a file are equal"};
  return std::nullopt;
}

// The operations of a rank, loops unrolled.
void Writer::expand(Rank rank) {
  Gpu& gpu = gpus_.emplace_back();
  const std::int32_t streams = schedule_.stream_count(rank);
  Binding binding;
  for (std::int32_t number = 0; number < streams; ++number) {
    binding.clear();
    schedule_.bind(rank, number, binding);
    Stream& stream = gpu.streams.emplace_back();
    for (const Loop& loop : schedule_.programs[static_cast<std::size_t>(binding.program)].loops)
      for (std::int64_t trip = 0; trip < loop.trips; ++trip)
        for (const OperationTemplate& from : loop.body) {
          if (++operations_ > MscclLimits::steps) return;
          Operation operation;
          operation.kind = from.kind;
          operation.from_source = from.from_source;
          if (is_send(from.kind) || is_receive(from.kind))
            operation.peer = binding.peers[static_cast<std::size_t>(from.peer)];
          operation.chunk = resolve(from.chunk, binding.bases.data(), trip);
          operation.source = resolve(from.source, binding.bases.data(), trip);
          for (const Dependency& dependency : from.dependencies)
            operation.waits.push_back({binding.streams[static_cast<std::size_t>(dependency.stream_slot)],
                                       dependency.offset + trip * dependency.stride});
          add(stream, std::move(operation));
        }
  }
}

void Writer::add(Stream& stream, Operation operation) {
  Item& item = stream.items.emplace_back();
  item.operation = std::move(operation);
}

// What waiting for a wait means: for the operation before it, and for what it waits for.
std::vector<Operation::Wait> Writer::without_waits(const Gpu& gpu, const Operation::Wait& wait) const {
  std::vector<Operation::Wait> result;
  std::vector<Operation::Wait> open = {wait};
  for (std::size_t next = 0; next < open.size(); ++next) {
    const Operation::Wait at = open[next];
    const Stream& stream = gpu.streams[static_cast<std::size_t>(at.stream)];
    const Operation& operation = stream.items[static_cast<std::size_t>(at.operation)].operation;
    if (operation.kind != OperationKind::wait) {
      result.push_back(at);
      continue;
    }
    if (at.operation > 0) open.push_back({at.stream, at.operation - 1});
    open.insert(open.end(), operation.waits.begin(), operation.waits.end());
  }
  return result;
}

void Writer::dissolve_waits(Gpu& gpu) {
  for (Stream& stream : gpu.streams) {
    std::vector<Operation::Wait> pending;
    for (Item& item : stream.items) {
      for (const Operation::Wait& wait : item.operation.waits)
        for (const Operation::Wait& each : without_waits(gpu, wait)) pending.push_back(each);
      if (item.operation.kind != OperationKind::wait) item.waits = std::exchange(pending, {});
    }
    stream.trailing = std::move(pending);
  }
}

// Marks the blocks of an operation whose chunks do not follow those before in memory.
void Writer::cut(const Item& item, std::vector<bool>& begins) const {
  begins.resize(static_cast<std::size_t>(item.operation.chunk.span));
  const auto mark = [&](const Chunk& chunk) {
    for (std::int32_t i = 1; i < chunk.span; ++i)
      if (memory_.place(chunk, i) != memory_.place(chunk, i - 1) + 1)
        begins[static_cast<std::size_t>(i)] = true;
  };
  mark(item.operation.chunk);
  if (has_source(item.operation)) mark(item.operation.source);
}

void Writer::store_cuts(const std::vector<bool>& begins, Item& item) {
  for (std::size_t i = 1; i < begins.size(); ++i)
    if (begins[i]) item.cuts.push_back(static_cast<std::int32_t>(i));
}

// Both ends of a message are cut alike. False: sends and receives do not pair up.
bool Writer::cut_messages() {
  std::map<std::tuple<Rank, Rank, std::int32_t>, std::array<std::vector<Item*>, 2>> connections;
  for (std::size_t rank = 0; rank < gpus_.size(); ++rank)
    for (Stream& stream : gpus_[rank].streams)
      for (Item& item : stream.items) {
        const auto here = static_cast<Rank>(rank);
        const Peer& peer = item.operation.peer;
        if (is_send(item.operation.kind)) connections[{here, peer.rank, peer.channel}][0].push_back(&item);
        if (is_receive(item.operation.kind)) connections[{peer.rank, here, peer.channel}][1].push_back(&item);
        if (!is_local(item.operation.kind) || item.operation.chunk.span == 1) continue;
        std::vector<bool> begins;
        cut(item, begins);
        store_cuts(begins, item);
      }
  for (auto& connection : connections) {
    auto& [sent, received] = connection.second;
    if (sent.size() != received.size()) return false;
    for (std::size_t i = 0; i < sent.size(); ++i) {
      if (sent[i]->operation.chunk.span != received[i]->operation.chunk.span) return false;
      if (sent[i]->operation.chunk.span == 1) continue;
      std::vector<bool> begins;
      cut(*sent[i], begins);
      cut(*received[i], begins);
      store_cuts(begins, *sent[i]);
      store_cuts(begins, *received[i]);
    }
  }
  return true;
}

// Streams to thread blocks. Local operations stay with the operation before them.
void Writer::deal(Gpu& gpu) {
  for (Stream& stream : gpu.streams) {
    std::vector<Peer> senders;
    std::vector<Peer> receivers;
    for (const Item& item : stream.items) {
      std::vector<Peer>& peers = is_send(item.operation.kind) ? senders : receivers;
      if (!is_send(item.operation.kind) && !is_receive(item.operation.kind)) continue;
      if (std::find(peers.begin(), peers.end(), item.operation.peer) == peers.end())
        peers.push_back(item.operation.peer);
    }
    const bool one = senders.size() <= 1 && receivers.size() <= 1 &&
                     (senders.empty() || receivers.empty() || senders[0].channel == receivers[0].channel);
    const std::size_t first = gpu.tbs.size();
    std::vector<Peer> of_tb;  // [tb - first]
    std::size_t at = first;
    for (Item& item : stream.items) {
      const OperationKind kind = item.operation.kind;
      if (kind == OperationKind::wait) continue;
      if (is_send(kind) || is_receive(kind)) {
        const auto known = std::find(of_tb.begin(), of_tb.end(), item.operation.peer);
        at = first + (one ? 0 : static_cast<std::size_t>(known - of_tb.begin()));
        if (known == of_tb.end()) of_tb.push_back(item.operation.peer);
      }
      if (at >= gpu.tbs.size()) gpu.tbs.resize(at + 1);
      ThreadBlock& tb = gpu.tbs[at];
      item.tb = static_cast<std::int32_t>(at);
      tb.items.push_back(&item);
      if (is_send(kind)) tb.send = item.operation.peer.rank;
      if (is_receive(kind)) tb.receive = item.operation.peer.rank;
      if (is_send(kind) || is_receive(kind)) tb.channel = item.operation.peer.channel;
    }
    if (stream.trailing.empty()) continue;
    if (at >= gpu.tbs.size()) gpu.tbs.resize(at + 1);
    gpu.tbs[at].trailing = stream.trailing;
  }
}

bool Writer::choose_channels() {
  std::vector<MscclEnds> ends;
  for (std::size_t rank = 0; rank < gpus_.size(); ++rank)
    for (const ThreadBlock& tb : gpus_[rank].tbs)
      ends.push_back({static_cast<Rank>(rank), tb.send, tb.receive, tb.channel});
  if (!fit_channels(ends)) return false;
  auto next = ends.begin();
  for (Gpu& gpu : gpus_)
    for (ThreadBlock& tb : gpu.tbs) tb.channel = (next++)->channel;
  return true;
}

// Operations of one stream in different thread blocks keep their order, those in one need no dependency. Then
// marks what is waited for.
void Writer::chain(Gpu& gpu) {
  for (std::size_t number = 0; number < gpu.streams.size(); ++number) {
    const auto own = static_cast<std::int32_t>(number);
    const Item* before = nullptr;
    std::int64_t before_index = 0;
    std::vector<Item>& items = gpu.streams[number].items;
    for (std::size_t i = 0; i < items.size(); ++i) {
      Item& item = items[i];
      if (item.operation.kind == OperationKind::wait) continue;
      std::erase_if(item.waits, [own](const Operation::Wait& wait) { return wait.stream == own; });
      if (before != nullptr && before->tb != item.tb)
        item.waits.insert(item.waits.begin(), {own, before_index});
      before = &item;
      before_index = static_cast<std::int64_t>(i);
    }
  }
  for (ThreadBlock& tb : gpu.tbs) {
    for (const Item* item : tb.items)
      for (const Operation::Wait& wait : item->waits) item_of(gpu, wait).waited_for = true;
    for (const Operation::Wait& wait : tb.trailing) item_of(gpu, wait).waited_for = true;
  }
}

void Writer::number(Gpu& gpu) {
  for (ThreadBlock& tb : gpu.tbs) {
    std::int32_t step = 0;
    for (Item* item : tb.items) {
      step += std::max(static_cast<std::int32_t>(item->waits.size()) - 1, 0);
      step += static_cast<std::int32_t>(item->cuts.size()) + 1;
      item->last_step = step - 1;
    }
  }
}

void attribute(std::string& text, const char* name, std::int64_t value) {
  text += ' ';
  text += name;
  text += "=\"";
  text += std::to_string(value);
  text += '"';
}

void attribute(std::string& text, const char* name, std::string_view value) {
  text += ' ';
  text += name;
  text += "=\"";
  for (const char c : value) {
    if (c == '&')
      text += "&amp;";
    else if (c == '<')
      text += "&lt;";
    else if (c == '"')
      text += "&quot;";
    else
      text += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  text += '"';
}

const char* coll_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::reduce_scatter:
      return "reducescatter";
    case CollectiveKind::all_gather:
      return "allgather";
    case CollectiveKind::broadcast:
      return "broadcast";
    case CollectiveKind::reduce:
      return "reduce";
    case CollectiveKind::scatter:
      return "scatter";
    case CollectiveKind::gather:
      return "gather";
    case CollectiveKind::all_to_all:
      return "alltoall";
    default:
      return "allreduce";
  }
}

MscclStepType type_of(OperationKind kind) {
  switch (kind) {
    case OperationKind::send:
      return MscclStepType::s;
    case OperationKind::receive:
      return MscclStepType::r;
    case OperationKind::receive_reduce:
      return MscclStepType::rrc;
    case OperationKind::copy:
      return MscclStepType::cpy;
    default:
      return MscclStepType::re;
  }
}

bool input_in_parts(CollectiveKind kind) {
  return kind == CollectiveKind::all_gather || kind == CollectiveKind::gather;
}
bool output_in_parts(CollectiveKind kind) {
  return kind == CollectiveKind::reduce_scatter || kind == CollectiveKind::scatter;
}

// ' srcbuf="i" srcoff="3"' of block i of the chunk. In place all is one buffer, named as in the public files:
// o where the output is the whole vector alone, else i.
std::string Writer::where(Rank rank, const char* prefix, const Chunk& chunk, std::int32_t i) {
  const CollectiveKind kind = schedule_.collective.kind;
  std::int32_t place = memory_.place(chunk, i);
  const char* name = "s";
  if (chunk.buffer != Buffer::scratch && schedule_.in_place) {
    name = input_in_parts(kind) ? "o" : "i";
  } else if (chunk.buffer != Buffer::scratch) {
    const bool input = chunk.buffer == Buffer::input;
    name = input ? "i" : "o";
    if (input ? input_in_parts(kind) : output_in_parts(kind)) {
      place -= rank * memory_.part();
      outside_ = outside_ || place < 0 || place >= memory_.part();
    }
  }
  std::string text;
  attribute(text, (std::string(prefix) + "buf").c_str(), std::string_view(name));
  attribute(text, (std::string(prefix) + "off").c_str(), place);
  return text;
}

std::string Writer::dependency(const Gpu& gpu, const Operation::Wait* wait) const {
  std::string text;
  std::int32_t tb = -1;
  std::int32_t step = -1;
  if (wait != nullptr) {
    const Item& item =
        gpu.streams[static_cast<std::size_t>(wait->stream)].items[static_cast<std::size_t>(wait->operation)];
    tb = item.tb;
    step = item.last_step;
  }
  attribute(text, "depid", tb);
  attribute(text, "deps", step);
  return text;
}

void Writer::write_nop(const Gpu& gpu, const Operation::Wait& wait, std::int32_t& step,
                       std::string& text) const {
  text += "      <step";
  attribute(text, "s", step++);
  text += R"( type="nop" srcbuf="i" srcoff="-1" dstbuf="o" dstoff="-1" cnt="0")";
  text += dependency(gpu, &wait);
  attribute(text, "hasdep", 0);
  text += "/>\n";
}

void Writer::write_item(Rank rank, const Item& item, std::int32_t& step, std::string& text) {
  const Gpu& gpu = gpus_[static_cast<std::size_t>(rank)];
  const Operation& operation = item.operation;
  for (std::size_t i = 0; i + 1 < item.waits.size(); ++i) write_nop(gpu, item.waits[i], step, text);
  const Operation::Wait* wait = item.waits.empty() ? nullptr : &item.waits.back();
  const Chunk& source = has_source(operation) ? operation.source : operation.chunk;
  for (std::size_t piece = 0; piece <= item.cuts.size(); ++piece) {
    const std::int32_t first = piece == 0 ? 0 : item.cuts[piece - 1];
    const std::int32_t end = piece < item.cuts.size() ? item.cuts[piece] : operation.chunk.span;
    text += "      <step";
    attribute(text, "s", step++);
    attribute(text, "type", name_of(type_of(operation.kind)));
    text += where(rank, "src", source, first) + where(rank, "dst", operation.chunk, first);
    attribute(text, "cnt", end - first);
    text += dependency(gpu, piece == 0 ? wait : nullptr);
    attribute(text, "hasdep", piece == item.cuts.size() && item.waited_for ? 1 : 0);
    text += "/>\n";
  }
}

void Writer::write_tb(Rank rank, std::int32_t number, std::string& text) {
  const Gpu& gpu = gpus_[static_cast<std::size_t>(rank)];
  const ThreadBlock& tb = gpu.tbs[static_cast<std::size_t>(number)];
  text += "    <tb";
  attribute(text, "id", number);
  attribute(text, "send", tb.send);
  attribute(text, "recv", tb.receive);
  attribute(text, "chan", tb.channel);
  text += ">\n";
  std::int32_t step = 0;
  for (const Item* item : tb.items) write_item(rank, *item, step, text);
  for (const Operation::Wait& wait : tb.trailing) write_nop(gpu, wait, step, text);
  text += "    </tb>\n";
}

void Writer::write_gpu(Rank rank, std::string& text) {
  const CollectiveKind kind = schedule_.collective.kind;
  const std::int32_t chunks = memory_.chunks();
  std::int32_t input = input_in_parts(kind) ? memory_.part() : chunks;
  std::int32_t output = output_in_parts(kind) ? memory_.part() : chunks;
  if (schedule_.in_place) (input_in_parts(kind) ? input : output) = 0;
  text += "  <gpu";
  attribute(text, "id", rank);
  attribute(text, "i_chunks", input);
  attribute(text, "o_chunks", output);
  attribute(text, "s_chunks", schedule_.layout.scratch_cells());
  text += ">\n";
  const auto tbs = static_cast<std::int32_t>(gpus_[static_cast<std::size_t>(rank)].tbs.size());
  for (std::int32_t number = 0; number < tbs; ++number) write_tb(rank, number, text);
  text += "  </gpu>\n";
}

std::string Writer::head() const {
  std::int32_t channels = 1;
  for (const Gpu& gpu : gpus_)
    for (const ThreadBlock& tb : gpu.tbs) channels = std::max(channels, tb.channel + 1);
  std::string text = "<algo";
  attribute(text, "name", std::string_view(writing_.name.empty() ? schedule_.algorithm : writing_.name));
  attribute(text, "proto", std::string_view(writing_.protocol));
  attribute(text, "nchannels", channels);
  attribute(text, "nchunksperloop", memory_.chunks());
  attribute(text, "ngpus", schedule_.ranks);
  attribute(text, "coll", std::string_view(coll_of(schedule_.collective.kind)));
  attribute(text, "inplace", schedule_.in_place ? 1 : 0);
  attribute(text, "outofplace", schedule_.in_place ? 0 : 1);
  attribute(text, "minBytes", writing_.bytes_min);
  attribute(text, "maxBytes", writing_.bytes_max);
  if (has_root(schedule_.collective.kind)) attribute(text, "root", schedule_.collective.root);
  return text + ">\n";
}

std::variant<std::string, Impossible> Writer::write() {
  if (auto reason = unfit()) return *std::move(reason);
  for (Rank rank = 0; rank < schedule_.ranks; ++rank) {
    expand(rank);
    if (operations_ > MscclLimits::steps)
      return Impossible{"it has more than " + std::to_string(MscclLimits::steps) + " operations"};
  }
  for (Gpu& gpu : gpus_) dissolve_waits(gpu);
  if (!cut_messages()) return Impossible{"its sends and receives do not pair up"};
  for (Gpu& gpu : gpus_) deal(gpu);
  if (!choose_channels())
    return Impossible{"its connections need more than the " + std::to_string(msccl_channels_max) +
                      " channels of NCCL, with " + std::to_string(msccl_tbs_a_channel) +
                      " thread blocks of a gpu on each"};
  for (Gpu& gpu : gpus_) {
    chain(gpu);
    number(gpu);
  }
  std::string text = head();
  for (Rank rank = 0; rank < schedule_.ranks; ++rank) write_gpu(rank, text);
  text += "</algo>\n";
  if (static_cast<std::int64_t>(text.size()) > MscclLimits::text_bytes)
    return Impossible{"the file would be larger than can be read back"};
  if (outside_) return Impossible{"it keeps other parts of the vector in a buffer that is a part in MSCCL"};
  return text;
}

}  // namespace

std::variant<std::string, Impossible> write_msccl(const Schedule& schedule, const MscclWriting& writing) {
  return Writer(schedule, writing).write();
}

}  // namespace collsim::algorithms
