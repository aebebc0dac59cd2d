#include "sim/model/symmetry.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/model/contract.hpp"
#include "sim/model/program_facts.hpp"

namespace collsim {
namespace {

bool turns(const Rotation& rotation) { return rotation.shift != 0; }

// A permutation of [0, count) that leaves everything outside [least, end) alone.
bool permutes(const Rotation& rotation, std::int64_t least, std::int64_t end) {
  if (!turns(rotation)) return true;
  constexpr std::int64_t most = std::int64_t{1} << 31;
  return rotation.begin >= least && rotation.begin <= rotation.end && rotation.end <= end &&
         rotation.unit >= 1 && rotation.unit < most && rotation.modulus >= 1 && rotation.modulus < most &&
         rotation.shift > 0 && rotation.shift < rotation.modulus &&
         (rotation.end - rotation.begin) % (rotation.unit * rotation.modulus) == 0;
}

std::int64_t base_of(const std::int64_t* bases, std::int8_t slot) { return slot < 0 ? 0 : bases[slot]; }

// The block at which the image of the blocks [first, first + span) begins, or -1 where it is no range.
std::int64_t image_of(const Rotation& digit, std::int64_t first, std::int64_t span) {
  if (!turns(digit)) return first;
  if (first < 0 || first + span > digit.end) return -1;
  if ((digit.unit == 1 ? 0 : first % digit.unit) + span <= digit.unit) return digit(first);
  const std::int64_t turn = digit.unit * digit.modulus;
  return first % turn == 0 && span % turn == 0 ? first : -1;
}

// Whether chunk `chunk` with the bases `to` is the image of that with `from`, in all of `trips` trips.
bool maps_blocks(const Rotation& digit, const ChunkExpression& chunk, std::int64_t trips,
                 const std::int64_t* from, const std::int64_t* to) {
  const std::int64_t modulus = chunk.block_modulus;
  const std::int64_t unit = chunk.block_unit;
  const std::int64_t origin = base_of(from, chunk.origin_base);
  const std::int64_t origin_image = base_of(to, chunk.origin_base);
  const std::int64_t at = modulo(base_of(from, chunk.block_base) + chunk.block_offset, modulus);
  const std::int64_t at_image = modulo(base_of(to, chunk.block_base) + chunk.block_offset, modulus);
  if (trips == 1 || chunk.block_stride % modulus == 0) {
    const std::int64_t image = image_of(digit, origin + at * unit, chunk.span);
    return (image >= 0 || !turns(digit)) && origin_image + at_image * unit == image;
  }
  if (!turns(digit)) return origin_image == origin && at_image == at;
  if (origin < 0 || origin + (modulus - 1) * unit + chunk.span > digit.end) return false;
  const std::int64_t turn = digit.unit * digit.modulus;
  if (unit == digit.unit && modulus == digit.modulus && origin % turn == 0 && chunk.span <= unit)
    return origin_image == origin && at_image == (at + digit.shift) % modulus;
  if (at_image != at) return false;
  if (origin % digit.unit + (modulus - 1) * unit + chunk.span <= digit.unit)
    return origin_image == digit(origin);
  const bool whole = origin % turn == 0 && unit % turn == 0 && chunk.span % turn == 0;
  return whole && origin_image == origin;
}

bool maps(const Symmetry& symmetry, const ChunkExpression& chunk, std::int64_t trips,
          const std::int64_t* from, const std::int64_t* to) {
  const std::int64_t region = base_of(from, chunk.region_base) + chunk.region_offset;
  const std::int64_t image = base_of(to, chunk.region_base) + chunk.region_offset;
  const bool wanders = chunk.region_stride != 0 && trips > 1;
  if (turns(symmetry.region) ? wanders || image != symmetry.region(region) : image != region) return false;
  return maps_blocks(symmetry.block, chunk, trips, from, to);
}

// Whether the chunk is the same with both bases, in all trips.
bool stays(const ChunkExpression& chunk, std::int64_t trips, const std::int64_t* from,
           const std::int64_t* to) {
  return base_of(from, chunk.region_base) == base_of(to, chunk.region_base) &&
         maps_blocks(Rotation{}, chunk, trips, from, to);
}

class Verifier {
 public:
  Verifier(const Schedule& schedule, const Symmetry& symmetry)
      : schedule_(schedule), symmetry_(symmetry), facts_(facts_of_programs(schedule)) {}

  std::optional<std::string> run() {
    if (!check_claim() || !map_ranks()) return text_;
    const auto width = static_cast<std::size_t>(symmetry_.stream_count);
    std::vector<Binding> here(width);
    std::vector<Binding> there(width);
    std::vector<char> visited(images_.size());
    used_groups_.resize(static_cast<std::size_t>(std::max(schedule_.group_count, 0)));
    for (Rank start = 0; start < schedule_.ranks; ++start) {
      if (visited[static_cast<std::size_t>(start)]) continue;
      if (!bind_all(start, here)) return text_;
      Rank rank = start;
      do {  // along the cycle, so that every stream is bound once (the first of a cycle twice)
        visited[static_cast<std::size_t>(rank)] = 1;
        const Rank image = images_[static_cast<std::size_t>(rank)];
        if (!bind_all(image, there) || !compare_rank(rank, here, there)) return text_;
        std::swap(here, there);
        rank = image;
      } while (rank != start);
    }
    check_groups();
    return text_;
  }

 private:
  bool refuse(const std::string& text) {
    text_ = symmetry_.name + ": " + text;
    return false;
  }
  bool refuse_at(Rank rank, std::int32_t stream, const std::string& text) {
    return refuse("rank " + std::to_string(rank) + ", stream " + std::to_string(stream) + ": " + text);
  }

  bool check_claim() {
    const std::int64_t regions = schedule_.layout.regions();
    if (symmetry_.first_stream < 0 || symmetry_.stream_count < 1 || symmetry_.first_region < 0 ||
        symmetry_.region_count < 0 || std::int64_t{symmetry_.first_region} + symmetry_.region_count > regions)
      return refuse("its streams or regions do not exist");
    const Rotation& block = symmetry_.block;
    constexpr std::int64_t channels_end = std::int64_t{1} << 31;
    if (!symmetry_.rank || !permutes(symmetry_.channel, 0, channels_end) ||
        !permutes(symmetry_.region, symmetry_.first_region,
                  std::int64_t{symmetry_.first_region} + symmetry_.region_count) ||
        !permutes(block, 0, schedule_.layout.blocks()) ||
        (turns(block) && (block.begin != 0 || block.end != schedule_.layout.blocks())))
      return refuse("it is no permutation of regions, blocks and channels");
    for (const ProgramFacts& facts : facts_)
      if (!facts.well_formed) return refuse("a program is malformed");
    return true;
  }

  bool map_ranks() {
    std::vector<char> hit(static_cast<std::size_t>(schedule_.ranks));
    for (Rank rank = 0; rank < schedule_.ranks; ++rank) {
      const Rank image = symmetry_.rank(rank);
      if (image < 0 || image >= schedule_.ranks || hit[static_cast<std::size_t>(image)]++)
        return refuse("it does not permute the ranks");
      images_.push_back(image);
      const std::int64_t end = std::int64_t{symmetry_.first_stream} + symmetry_.stream_count;
      if (schedule_.stream_count(rank) < end)
        return refuse("rank " + std::to_string(rank) + " lacks some of its streams");
    }
    return true;
  }

  bool bind_all(Rank rank, std::vector<Binding>& bindings) {
    for (std::size_t i = 0; i < bindings.size(); ++i) {
      const std::int32_t stream = symmetry_.first_stream + static_cast<std::int32_t>(i);
      bindings[i].clear();
      schedule_.bind(rank, stream, bindings[i]);
      const std::int32_t program = bindings[i].program;
      if (program < 0 || static_cast<std::size_t>(program) >= facts_.size() ||
          !facts_[static_cast<std::size_t>(program)].fits(bindings[i]))
        return refuse_at(rank, stream, "its binding does not fit a program");
    }
    return true;
  }

  // The stream of the image rank, -1 where the symmetry leads out of its own streams.
  std::int32_t image_of_stream(Rank rank, std::int32_t stream) const {
    const std::int32_t image = symmetry_.stream ? symmetry_.stream(rank, stream) : stream;
    const std::int64_t place = std::int64_t{image} - symmetry_.first_stream;
    return place >= 0 && place < symmetry_.stream_count ? image : -1;
  }

  bool compare_rank(Rank rank, const std::vector<Binding>& here, const std::vector<Binding>& there) {
    hit_.assign(symmetry_.stream ? here.size() : 0, 0);
    for (std::size_t i = 0; i < here.size(); ++i) {
      const std::int32_t stream = symmetry_.first_stream + static_cast<std::int32_t>(i);
      const std::int32_t image = image_of_stream(rank, stream);
      const auto place = static_cast<std::size_t>(image - symmetry_.first_stream);
      if (image < 0 || (symmetry_.stream && hit_[place]++))
        return refuse_at(rank, stream, "it does not permute the streams");
      if (!compare(rank, stream, here[i], there[place])) return false;
    }
    return true;
  }

  bool compare(Rank rank, std::int32_t stream, const Binding& from, const Binding& to) {
    const auto number = static_cast<std::size_t>(from.program);
    if (to.program != from.program) return refuse_at(rank, stream, "its image has another program");
    const ProgramFacts& facts = facts_[number];
    for (std::size_t i = 0; i < facts.peers.size(); ++i) {
      const Peer& peer = from.peers[i];
      const bool exists = peer.rank >= 0 && peer.rank < schedule_.ranks && peer.channel >= 0;
      if (!exists || to.peers[i].rank != images_[static_cast<std::size_t>(peer.rank)] ||
          to.peers[i].channel != symmetry_.channel(peer.channel))
        return refuse_at(rank, stream, "its image has other peers");
    }
    for (std::size_t i = 0; i < facts.streams; ++i) {
      const std::int64_t place = std::int64_t{from.streams[i]} - symmetry_.first_stream;
      if (place < 0 || place >= symmetry_.stream_count ||
          to.streams[i] != image_of_stream(rank, from.streams[i]))
        return refuse_at(rank, stream, "its image depends on other streams");
    }
    for (std::size_t i = 0; i < facts.groups; ++i) {
      const std::int32_t group = from.groups[i];
      if (group < 0 || group >= schedule_.group_count || to.groups[i] != image_of_group(group))
        return refuse_at(rank, stream, "its image is in other groups");
      used_groups_[static_cast<std::size_t>(group)] = 1;
    }
    return compare_chunks(rank, stream, from, to);
  }

  bool compare_chunks(Rank rank, std::int32_t stream, const Binding& from, const Binding& to) {
    for (const Loop& loop : schedule_.programs[static_cast<std::size_t>(from.program)].loops) {
      if (loop.trips == 0) continue;
      for (const OperationTemplate& operation : loop.body) {
        const auto moves = [&](const ChunkExpression& chunk) {
          if (chunk.block_unit < 1 || chunk.span < 1) return false;
          const bool moved = maps(symmetry_, chunk, loop.trips, from.bases.data(), to.bases.data());
          if (chunk.buffer != Buffer::scratch) return moved;
          scratch_moves_ = scratch_moves_ && moved;
          scratch_stays_ = scratch_stays_ && stays(chunk, loop.trips, from.bases.data(), to.bases.data());
          return scratch_moves_ || scratch_stays_;
        };
        if (operation.kind == OperationKind::wait) continue;
        if (!moves(operation.chunk) || (reads_source(operation) && !moves(operation.source)))
          return refuse_at(rank, stream, "its image touches other cells");
      }
    }
    return true;
  }

  std::int32_t image_of_group(std::int32_t group) const {
    return symmetry_.group ? symmetry_.group(group) : group;
  }

  // The image of a group has the images of its members, and of its root where the root matters.
  bool check_groups() {
    std::vector<char> hit(used_groups_.size());
    for (std::size_t number = 0; number < used_groups_.size(); ++number) {
      if (!used_groups_[number]) continue;
      AggregationGroup group = schedule_.group(static_cast<std::int32_t>(number));
      const std::int32_t image = image_of_group(static_cast<std::int32_t>(number));
      if (image < 0 || image >= schedule_.group_count || hit[static_cast<std::size_t>(image)]++)
        return refuse("it does not permute the groups");
      AggregationGroup other = schedule_.group(image);
      const std::string text = "group " + std::to_string(number) + " is not mapped onto group ";
      bool alike = group.scope == other.scope && group.mode == other.mode &&
                   group.members.size() == other.members.size() && group.root >= 0 && other.root >= 0 &&
                   static_cast<std::size_t>(std::max(group.root, other.root)) < group.members.size();
      for (Rank& member : group.members) {
        alike = alike && member >= 0 && member < schedule_.ranks;
        if (alike) member = images_[static_cast<std::size_t>(member)];
      }
      const bool rooted = group.mode != AggregationMode::all_reduce;
      alike = alike && (!rooted || group.members[static_cast<std::size_t>(group.root)] ==
                                       other.members[static_cast<std::size_t>(other.root)]);
      std::sort(group.members.begin(), group.members.end());
      std::sort(other.members.begin(), other.members.end());
      if (!alike || group.members != other.members) return refuse(text + std::to_string(image));
    }
    return true;
  }

  const Schedule& schedule_;
  const Symmetry& symmetry_;
  std::vector<ProgramFacts> facts_;
  std::vector<Rank> images_;
  std::vector<char> hit_;
  std::vector<char> used_groups_;
  bool scratch_moves_ = true;  // all its chunks so far
  bool scratch_stays_ = true;
  std::optional<std::string> text_;
};

}  // namespace

std::vector<ProgramFacts> facts_of_programs(const Schedule& schedule) {
  std::vector<ProgramFacts> facts;
  facts.reserve(schedule.programs.size());
  for (const Program& program : schedule.programs) facts.emplace_back(program);
  return facts;
}

std::optional<std::string> verify_contract(const Schedule& schedule, const Symmetry& symmetry) {
  const CollectiveKind kind = Contract(schedule).kind();
  const auto refuse = [&](const std::string& text) { return symmetry.name + ": " + text; };
  if (has_root(kind) && symmetry.rank(schedule.collective.root) != schedule.collective.root)
    return refuse("it moves the root");
  for (Rank rank = 0; kind == CollectiveKind::send_recv && rank < schedule.ranks; ++rank)
    if (symmetry.rank((rank + 1) % schedule.ranks) != (symmetry.rank(rank) + 1) % schedule.ranks)
      return refuse("the image of rank " + std::to_string(rank) + " does not come before that of the next");
  if (!in_parts(kind)) return std::nullopt;
  const std::int32_t in_part = schedule.layout.blocks() / schedule.ranks;
  for (std::int32_t i = 0; i < symmetry.region_count; ++i) {
    const std::int32_t region = symmetry.first_region + i;
    const auto image = static_cast<std::int32_t>(symmetry.region(region));
    for (std::int32_t block = 0; block < schedule.layout.blocks(); ++block) {
      const auto moved = static_cast<std::int32_t>(symmetry.block(block));
      const bool in_order = kind != CollectiveKind::all_to_all || moved % in_part == block % in_part;
      if (!in_order || owner_of(schedule, image, moved) != symmetry.rank(owner_of(schedule, region, block)))
        return refuse("block " + std::to_string(block) + " of region " + std::to_string(region) +
                      " does not move with its owner");
    }
  }
  return std::nullopt;
}

std::optional<std::string> verify_symmetry(const Schedule& schedule, const Symmetry& symmetry) {
  return Verifier(schedule, symmetry).run();
}

}  // namespace collsim
