#include "kernels/values.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <utility>

#include "kernels/elements.hpp"
#include "sim/core/check.hpp"
#include "sim/core/random.hpp"

namespace collsim::kernels {
namespace {

constexpr std::int64_t rows_min = 16;
constexpr std::int64_t rows_max = 4096;
// Expected values are made and compared so much at a time.
constexpr std::int64_t piece_bytes = 16 << 10;

std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }

std::span<const std::byte> part(std::span<const std::byte> whole, std::int64_t begin, std::int64_t end) {
  return whole.subspan(size(begin), size(end - begin));
}

bool rounds(const Collective& collective) {
  return is_float(collective.datatype) && collective.reduction != ReductionOp::min &&
         collective.reduction != ReductionOp::max;
}

std::int64_t rows_for(const Layout& layout) {
  const std::int64_t elements =
      layout.offset_bytes(layout.regions() - 1, layout.blocks()) / layout.element_bytes();
  return std::clamp<std::int64_t>(
      static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(elements))), rows_min, rows_max);
}

// table[row of element], for the elements from number `first` on. Rows are a power of two.
template <class Word>
void gather(const std::byte* table, std::size_t rows, std::uint64_t key, std::int64_t first,
            std::span<std::byte> out) {
  std::uint64_t number = key + static_cast<std::uint64_t>(first);
  for (std::size_t at = 0; at < out.size(); at += sizeof(Word)) {
    const std::size_t row = static_cast<std::size_t>(mix64(number++)) & (rows - 1);
    std::memcpy(out.data() + at, table + row * sizeof(Word), sizeof(Word));
  }
}

// Bytes of an endless sequence of random ones, from number `begin` on.
void random_bytes(std::uint64_t key, std::int64_t begin, std::span<std::byte> out) {
  std::uint64_t number = key + static_cast<std::uint64_t>(begin / 8);
  std::size_t skip = static_cast<std::size_t>(begin % 8);
  for (std::size_t at = 0; at < out.size(); skip = 0) {
    const std::uint64_t word = mix64(number++) >> (8 * skip);
    const std::size_t count = std::min(8 - skip, out.size() - at);
    std::memcpy(out.data() + at, &word, count);
    at += count;
  }
}

std::int64_t unlike_elements(std::span<const std::byte> a, std::span<const std::byte> b, int bytes) {
  if (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0) return 0;
  const std::size_t width = static_cast<std::size_t>(bytes);
  std::int64_t count = 0;
  for (std::size_t at = 0; at < a.size(); at += width)
    if (std::memcmp(a.data() + at, b.data() + at, width) != 0) ++count;
  return count;
}

std::string hexadecimal(const std::byte* element, int bytes) {
  std::string text = " (0x";
  char digits[3];
  for (int i = bytes; i-- > 0;) {
    std::snprintf(digits, sizeof digits, "%02x", std::to_integer<unsigned>(element[i]));
    text += digits;
  }
  return text + ")";
}

std::string text_within(long double value, long double tolerance) {
  char text[80];
  std::snprintf(text, sizeof text, "%.9Lg within %.3Lg", value, tolerance);
  return text;
}

}  // namespace

Values::Values(const Schedule& schedule, InputKind kind, std::uint64_t seed, std::optional<double> bound)
    : schedule_(schedule), contract_(schedule), seed_(mix64(seed)), bound_(bound) {
  COLLSIM_CHECK(!contract_.problem());
  if (!contract_.sums()) return;
  const Collective& collective = schedule.collective;
  COLLSIM_CHECK(element_bytes(collective.datatype) == schedule.layout.element_bytes());
  const bool random = kind == InputKind::random && bound && rounds(collective);
  rows_.emplace(collective, schedule.ranks, random, seed_, rows_for(schedule.layout));
  const int width = element_bytes(collective.datatype);
  expected_.resize(size(rows_->count() * width));
  for (std::int64_t row = 0; row < rows_->count(); ++row)
    store_word(rows_->expected(row), width, expected_.data() + row * width);
}

std::byte Values::pattern() const {
  const Collective& collective = schedule_.collective;
  if (!contract_.sums()) return std::byte{0xa5};
  const bool min = collective.reduction == ReductionOp::min;
  if (!min && collective.reduction != ReductionOp::max) return std::byte{0xff};
  if (is_float(collective.datatype)) return min ? std::byte{0xfb} : std::byte{0x7b};
  if (is_signed(collective.datatype)) return min ? std::byte{0x80} : std::byte{0x7f};
  return min ? std::byte{0x00} : std::byte{0xff};
}

Values::Run Values::run_of(std::int64_t cell) const {
  const Layout& layout = schedule_.layout;
  const std::int32_t region = static_cast<std::int32_t>(cell / layout.blocks());
  const std::int32_t block = static_cast<std::int32_t>(cell % layout.blocks());
  return {layout.offset_bytes(region, block), layout.offset_bytes(region, block + 1)};
}

// What the rank gives, for each row.
std::vector<std::byte> Values::table_of(Rank rank) const {
  const int width = schedule_.layout.element_bytes();
  std::vector<std::byte> table(expected_.size());
  for (std::int64_t row = 0; row < rows_->count(); ++row)
    store_word(rows_->input(rank, row), width, table.data() + row * width);
  return table;
}

void Values::look_up(std::span<const std::byte> table, std::int64_t begin, std::span<std::byte> out) const {
  const int width = schedule_.layout.element_bytes();
  const std::size_t rows = size(rows_->count());
  const std::int64_t first = begin / width;
  if (width == 1) return gather<std::uint8_t>(table.data(), rows, seed_, first, out);
  if (width == 2) return gather<std::uint16_t>(table.data(), rows, seed_, first, out);
  if (width == 4) return gather<std::uint32_t>(table.data(), rows, seed_, first, out);
  return gather<std::uint64_t>(table.data(), rows, seed_, first, out);
}

std::uint64_t Values::key_of(Rank rank) const { return mix64(seed_ + static_cast<std::uint64_t>(rank)); }

// What the rank must hold in `out.size()` bytes of a cell, from `begin` of the cell on.
void Values::expect(Rank rank, std::int64_t cell, std::int64_t begin, std::span<std::byte> out) const {
  if (contract_.sums()) return look_up(expected_, run_of(cell).begin + begin, out);
  const Contract::Origin origin = contract_.origin(rank, cell);
  random_bytes(key_of(origin.rank), run_of(origin.cell).begin + begin, out);
}

std::vector<std::byte> Values::before(Rank rank, Buffer buffer) const {
  const Layout& layout = schedule_.layout;
  std::vector<std::byte> result(size(layout.offset_bytes(layout.regions() - 1, layout.blocks())));
  write_before(rank, buffer, result);
  return result;
}

void Values::write_before(Rank rank, Buffer buffer, std::span<std::byte> whole) const {
  COLLSIM_CHECK(buffer == Buffer::input || buffer == Buffer::output);
  const std::vector<std::byte> table = contract_.sums() ? table_of(rank) : std::vector<std::byte>();
  const bool holds_inputs = (buffer == Buffer::output) == schedule_.in_place;
  for (std::int64_t cell = 0; cell < schedule_.layout.cells(); ++cell) {
    const Run run = run_of(cell);
    const std::span<std::byte> out = whole.subspan(size(run.begin), size(run.end - run.begin));
    if (holds_inputs && contract_.gives(rank, cell)) {
      if (contract_.sums())
        look_up(table, run.begin, out);
      else
        random_bytes(key_of(rank), run.begin, out);
    } else if (buffer == Buffer::output && contract_.wants(rank, cell) != Contract::Wants::nothing) {
      poison(rank, cell, out);
    } else {
      std::fill(out.begin(), out.end(), pattern());
    }
  }
}

void Values::poison(Rank rank, std::int64_t cell, std::span<std::byte> out) const {
  if (kind() == InputKind::random) {
    std::fill(out.begin(), out.end(), std::byte{0xff});  // a NaN in every format
    return;
  }
  expect(rank, cell, 0, out);
  for (std::byte& each : out) each = ~each;
}

void Values::check(Rank rank, std::span<const std::byte> output, ValueReport& report) const {
  report.inputs = kind();
  const Layout& layout = schedule_.layout;
  for (std::int64_t cell = 0; cell < layout.cells(); ++cell) {
    if (contract_.wants(rank, cell) == Contract::Wants::nothing) continue;
    const Run run = run_of(cell);
    const std::span<const std::byte> found = part(output, run.begin, run.end);
    report.checked += (run.end - run.begin) / layout.element_bytes();
    if (kind() == InputKind::random)
      check_bounds(rank, cell, found, report);
    else
      check_bits(rank, cell, found, report);
  }
}

void Values::check_bits(Rank rank, std::int64_t cell, std::span<const std::byte> found,
                        ValueReport& report) const {
  const int width = schedule_.layout.element_bytes();
  const Datatype datatype = schedule_.collective.datatype;
  std::byte buffer[piece_bytes];
  const std::int64_t bytes = static_cast<std::int64_t>(found.size());
  for (std::int64_t begin = 0; begin < bytes; begin += piece_bytes) {
    const std::int64_t count = std::min(piece_bytes, bytes - begin);
    expect(rank, cell, begin, {buffer, size(count)});
    const std::byte* piece = found.data() + begin;
    if (std::memcmp(buffer, piece, size(count)) == 0) continue;
    for (std::int64_t at = 0; at < count; at += width) {
      if (std::memcmp(buffer + at, piece + at, size(width)) == 0) continue;
      ++report.wrong;
      if (report.first.size() >= wrong_elements_max) continue;
      std::string wanted = text_of_element(datatype, buffer + at);
      std::string seen = text_of_element(datatype, piece + at);
      if (wanted == seen) {
        wanted += hexadecimal(buffer + at, width);
        seen += hexadecimal(piece + at, width);
      }
      note(rank, cell, begin + at, std::move(wanted), std::move(seen), report);
    }
  }
}

void Values::check_bounds(Rank rank, std::int64_t cell, std::span<const std::byte> found,
                          ValueReport& report) const {
  const int width = schedule_.layout.element_bytes();
  const Datatype datatype = schedule_.collective.datatype;
  const std::uint64_t rows = static_cast<std::uint64_t>(rows_->count());
  std::uint64_t number = seed_ + static_cast<std::uint64_t>(run_of(cell).begin / width);
  for (std::size_t at = 0; at < found.size(); at += size(width)) {
    const auto row = static_cast<std::int64_t>(mix64(number++) & (rows - 1));
    const Rows::Reference& reference = rows_->reference(row);
    const long double tolerance = *bound_ * reference.magnitude;
    const long double error = std::fabs(element_value(datatype, found.data() + at) - reference.value);
    if (error <= tolerance) {
      if (error > 0)
        report.error_of_bound = std::max(report.error_of_bound, static_cast<double>(error / tolerance));
      continue;
    }
    ++report.wrong;
    if (report.first.size() >= wrong_elements_max) continue;
    note(rank, cell, static_cast<std::int64_t>(at), text_within(reference.value, tolerance),
         text_of_element(datatype, found.data() + at), report);
  }
}

void Values::note(Rank rank, std::int64_t cell, std::int64_t byte, std::string expected, std::string found,
                  ValueReport& report) const {
  const Layout& layout = schedule_.layout;
  WrongElement wrong;
  wrong.rank = rank;
  wrong.region = static_cast<std::int32_t>(cell / layout.blocks());
  wrong.block = static_cast<std::int32_t>(cell % layout.blocks());
  wrong.element = byte / layout.element_bytes();
  wrong.expected = std::move(expected);
  wrong.found = std::move(found);
  report.first.push_back(std::move(wrong));
}

std::int64_t Values::unlike(Rank rank, std::span<const std::byte> output, Rank other,
                            std::span<const std::byte> output_of_other) const {
  if (contract_.differs_by_rank()) return 0;
  const Layout& layout = schedule_.layout;
  std::int64_t count = 0;
  for (std::int64_t cell = 0; cell < layout.cells(); ++cell) {
    if (contract_.wants(rank, cell) == Contract::Wants::nothing) continue;
    if (contract_.wants(other, cell) == Contract::Wants::nothing) continue;
    const Run run = run_of(cell);
    count += unlike_elements(part(output, run.begin, run.end), part(output_of_other, run.begin, run.end),
                             layout.element_bytes());
  }
  return count;
}

namespace {

void upload(Execution& execution, std::int32_t area, std::span<const std::byte> data) {
  if (!data.empty()) execution.upload(area, 0, data);
}

void download(Execution& execution, const Plan& plan, std::int32_t area, std::vector<std::byte>& data) {
  data.resize(size(plan.areas[size(area)].bytes));
  if (!data.empty()) execution.download(area, 0, data);
}

void upload_before(Execution& execution, const Plan& plan, const Values& values, Rank rank, Buffer buffer,
                   std::vector<std::byte>& data) {
  const std::int32_t area = (buffer == Buffer::input ? plan.input : plan.output)[size(rank)];
  if (area < 0) return;
  data.resize(size(plan.areas[size(area)].bytes));
  values.write_before(rank, buffer, data);
  upload(execution, area, data);
}

}  // namespace

void fill(Execution& execution, const Plan& plan, const Values& values) {
  std::vector<std::byte> data;
  for (Rank rank = 0; rank < plan.ranks; ++rank) {
    upload_before(execution, plan, values, rank, Buffer::output, data);
    upload_before(execution, plan, values, rank, Buffer::input, data);
  }
  for (std::size_t area = 0; area < plan.areas.size(); ++area) {
    if (plan.areas[area].kind != AreaKind::scratch && plan.areas[area].kind != AreaKind::staging) continue;
    data.assign(size(plan.areas[area].bytes), values.pattern());
    upload(execution, static_cast<std::int32_t>(area), data);
  }
}

ValueReport check(Execution& execution, const Plan& plan, const Values& values) {
  ValueReport report;
  const int width = element_bytes(plan.collective.datatype);
  std::vector<std::byte> data;
  std::vector<std::byte> first;  // the output of rank 0: whom the others must agree with
  for (Rank rank = 0; rank < plan.ranks; ++rank) {
    std::vector<std::byte>& output = rank == 0 ? first : data;
    download(execution, plan, plan.output[size(rank)], output);
    values.check(rank, output, report);
    if (rank > 0) report.unlike_ranks += values.unlike(0, first, rank, output);
  }
  for (Rank rank = 0; rank < plan.ranks; ++rank) {
    if (plan.input[size(rank)] < 0) continue;
    download(execution, plan, plan.input[size(rank)], data);
    values.write_before(rank, Buffer::input, first);
    report.input_changed += unlike_elements(data, first, width);
  }
  report.breaches = execution.breaches();
  return report;
}

}  // namespace collsim::kernels
