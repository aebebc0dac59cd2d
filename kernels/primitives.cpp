#include "kernels/primitives.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <new>

#include "kernels/primitive_plans.hpp"
#include "sim/core/check.hpp"

namespace collsim::kernels {
namespace {

constexpr std::int64_t smallest_size = 4 << 10;
constexpr std::int64_t tiny_size = 4;
constexpr std::int64_t tiny_chain = 512;
constexpr std::int64_t shortest_chain = 4;
// Of the cache, what the places of a few runs take together, if the memory allows.
constexpr std::int64_t footprint_of_cache = 2;
constexpr std::int64_t footprint_of_run = std::int64_t{64} << 20;
constexpr std::int64_t sets_max = 16;
constexpr std::int64_t memory_share = 4;  // a quarter of what is free

Duration median_of(std::vector<Duration> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

class Measurement {
 public:
  Measurement(Backend& backend, const MeasureOptions& options) : backend_(backend), options_(options) {
    for (Rank rank = 0; rank < options.ranks; ++rank)
      device_.push_back(backend.device_of(rank, options.ranks));
  }

  // What the sample that needs most takes at least: one place of each chain, one set.
  std::int64_t needed_bytes(const std::vector<PrimitiveSample>& samples) const {
    std::int64_t most = 0;
    for (const PrimitiveSample& sample : samples) {
      ChainsSpec spec = spec_for(sample.kind, sample.bytes, sample.concurrent);
      spec.slots = 1;
      most = std::max(most, memory_bytes(spec));
    }
    const std::int64_t areas = std::int64_t{2} * options_.ranks;
    return most + areas * 2 * guard_bytes;
  }

  Duration launch() {
    const Plan plan = empty_plan(options_.ranks);
    launch_ = median_time(*backend_.prepare(plan, {}));
    return launch_;
  }

  // Of hardly any bytes.
  Duration tiny(PrimitiveKind kind, std::int32_t concurrent) {
    ChainsSpec spec = spec_for(kind, tiny_size, concurrent);
    spec.length = tiny_chain;
    spec.slots = 1;
    return time_of_one(spec);
  }

  // `time` of the sample, which holds kind, bytes and concurrent.
  Duration time_of(const PrimitiveSample& sample) {
    return time_of_one(spec_for(sample.kind, sample.bytes, sample.concurrent));
  }

 private:
  ChainsSpec spec_for(PrimitiveKind kind, std::int64_t bytes, std::int32_t concurrent) const {
    const PrimitiveShape shape = shape_of(kind);
    ChainsSpec spec;
    spec.kind = kind;
    spec.bytes = bytes;
    spec.ranks = options_.ranks;
    spec.chains = concurrent;
    spec.device = device_;
    const std::int64_t operation = (shape.outputs + shape.stagings) * bytes * concurrent;
    spec.length = std::clamp(footprint_of_run / operation, shortest_chain, chain_max);
    spec.slots = std::clamp(footprint() / operation, std::int64_t{1}, spec.length);
    return spec;
  }

  std::int64_t footprint() const {
    return std::min(footprint_of_cache * backend_.cache_bytes(), backend_.free_bytes() / memory_share);
  }

  // Enough sets of buffers that the runs of a chain together have the footprint.
  std::int32_t sets_for(const Plan& plan) const {
    const std::int64_t sets = footprint() / std::max<std::int64_t>(plan.memory_bytes(), 1);
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(sets, 1, sets_max));
  }

  std::unique_ptr<Execution> prepared(const Plan& plan) {
    PrepareOptions how;
    how.sets = sets_for(plan);
    return backend_.prepare(plan, how);
  }

  Duration median_time(Execution& execution) const {
    warm_up(execution, options_.warmup, options_.warmup_time);
    std::vector<Duration> times;
    for (int i = 0; i < options_.runs; ++i) times.push_back(execution.run());
    return median_of(std::move(times));
  }

  // Without what starting and ending costs.
  Duration time_of_one(const ChainsSpec& spec) {
    const Plan plan = chains_plan(spec);
    const std::unique_ptr<Execution> execution = prepared(plan);
    const Duration whole = median_time(*execution);
    const std::int64_t work = std::max((whole - launch_).picoseconds(), whole.picoseconds() / 2);
    return Duration::picoseconds(std::max<std::int64_t>(work / spec.length, 1));
  }

  Backend& backend_;
  const MeasureOptions& options_;
  std::vector<int> device_;  // [rank]
  Duration launch_;
};

constexpr std::array local_kinds = {PrimitiveKind::copy, PrimitiveKind::reduce, PrimitiveKind::reduce_many,
                                    PrimitiveKind::fused, PrimitiveKind::round};

// The kinds of which the rates are made; of the others the largest size is enough.
bool is_basic(PrimitiveKind kind) {
  return kind == PrimitiveKind::copy || kind == PrimitiveKind::reduce || kind == PrimitiveKind::round;
}

std::vector<std::int64_t> sizes_of(PrimitiveKind kind, std::int64_t bytes_large) {
  return is_basic(kind) ? sample_sizes(bytes_large) : std::vector<std::int64_t>{bytes_large};
}

// 1 and all ranks; for the largest size also the powers of two between.
std::vector<std::int32_t> concurrencies(PrimitiveKind kind, bool largest, std::int32_t ranks) {
  std::vector<std::int32_t> result = {1};
  if (largest && is_basic(kind))
    for (std::int32_t count = 2; count < ranks; count *= 2) result.push_back(count);
  if (ranks > 1) result.push_back(ranks);
  return result;
}

const PrimitiveSample& sample_of(const MachineCosts& costs, PrimitiveKind kind, std::int64_t bytes,
                                 std::int32_t concurrent) {
  const auto found = std::find_if(costs.samples.begin(), costs.samples.end(), [&](const auto& sample) {
    return sample.kind == kind && sample.bytes == bytes && sample.concurrent == concurrent;
  });
  COLLSIM_CHECK(found != costs.samples.end());
  return *found;
}

// The rate of a kind in a round: that of memory that no cache holds, times what the round's two copies and
// its reduction take there over what the round takes.
Bandwidth rate_of(const MachineCosts& costs, PrimitiveKind kind, std::int64_t bytes,
                  std::int32_t concurrent) {
  const auto time_of = [&](PrimitiveKind each) {
    return sample_of(costs, each, bytes, concurrent).time.picoseconds();
  };
  const std::int64_t parts = 2 * time_of(PrimitiveKind::copy) + time_of(PrimitiveKind::reduce);
  const Bandwidth cold = sample_of(costs, kind, bytes, concurrent).total;
  const Int128 rate = Int128{cold.bytes_per_second()} * parts / time_of(PrimitiveKind::round);
  return Bandwidth::bytes_per_second(static_cast<std::int64_t>(rate));
}

// One rank alone is at least as fast as beside others; where it is measured slower, the machine was busy.
Bandwidth alone(Bandwidth one, Bandwidth all, std::int32_t ranks) {
  return std::max(one, Bandwidth::bytes_per_second(all.bytes_per_second() / ranks));
}

void add_rates(MachineCosts& costs, std::int64_t bytes) {
  const auto all = [&](PrimitiveKind kind) { return rate_of(costs, kind, bytes, costs.ranks); };
  const auto one = [&](PrimitiveKind kind) {
    return alone(rate_of(costs, kind, bytes, 1), all(kind), costs.ranks);
  };
  costs.copy_all = all(PrimitiveKind::copy);
  costs.copy_one = one(PrimitiveKind::copy);
  costs.reduce_all = all(PrimitiveKind::reduce);
  costs.reduce_one = one(PrimitiveKind::reduce);
}

PrimitiveSample question(PrimitiveKind kind, std::int64_t bytes, std::int32_t concurrent) {
  PrimitiveSample sample;
  sample.kind = kind;
  sample.bytes = bytes;
  sample.concurrent = concurrent;
  sample.traffic_per_byte = shape_of(kind).traffic;
  return sample;
}

std::vector<PrimitiveSample> questions(const MeasureOptions& options, int devices) {
  std::vector<PrimitiveSample> samples;
  for (const PrimitiveKind kind : local_kinds)
    for (const std::int64_t bytes : sizes_of(kind, options.bytes_large))
      for (const std::int32_t concurrent : concurrencies(kind, bytes == options.bytes_large, options.ranks))
        samples.push_back(question(kind, bytes, concurrent));
  if (devices == 1) return samples;
  for (const std::int64_t bytes : sample_sizes(options.bytes_large))
    for (const std::int32_t concurrent : concurrencies(PrimitiveKind::peer_copy, false, options.ranks))
      samples.push_back(question(PrimitiveKind::peer_copy, bytes, concurrent));
  return samples;
}

// Every sample once a round, so that what slows the machine for a while meets all of them alike.
void answer(std::vector<PrimitiveSample>& samples, Measurement& measurement, int rounds) {
  std::vector<std::vector<Duration>> times(samples.size());
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < samples.size(); ++i) times[i].push_back(measurement.time_of(samples[i]));
  for (std::size_t i = 0; i < samples.size(); ++i) {
    PrimitiveSample& sample = samples[i];
    sample.time = median_of(std::move(times[i]));
    const Int128 moved = Int128{sample.bytes} * sample.concurrent * picoseconds_per_second;
    sample.total = Bandwidth::bytes_per_second(static_cast<std::int64_t>(moved / sample.time.picoseconds()));
  }
}

void add_peers(MachineCosts& costs, Measurement& measurement, std::int64_t bytes_large) {
  costs.peer = sample_of(costs, PrimitiveKind::peer_copy, bytes_large, 1).total;
  const Duration tiny = measurement.tiny(PrimitiveKind::peer_copy, 1);
  costs.peer_latency = std::max(tiny - costs.operation, Duration());
}

void measure_all(Measurement& measurement, const MeasureOptions& options, MachineCosts& costs) {
  costs.launch = measurement.launch();
  costs.operation = measurement.tiny(PrimitiveKind::reduce, 1);
  costs.handover =
      options.ranks > 1 ? measurement.tiny(PrimitiveKind::reduce, options.ranks) : costs.operation;
  answer(costs.samples, measurement, options.rounds);
  add_rates(costs, options.bytes_large);
  if (costs.devices > 1) add_peers(costs, measurement, options.bytes_large);
}

[[noreturn]] void throw_memory(std::int64_t needed, const Backend& backend, const MeasureOptions& options) {
  throw DeviceError(DeviceError::Kind::memory,
                    "measuring " + std::to_string(options.ranks) + (options.ranks == 1 ? " rank" : " ranks") +
                        " needs at least " + memory_text(needed) + " of memory",
                    memory_text(backend.free_bytes()) + " are free");
}

}  // namespace

const char* name_of(PrimitiveKind kind) {
  switch (kind) {
    case PrimitiveKind::copy:
      return "copy";
    case PrimitiveKind::reduce:
      return "reduce";
    case PrimitiveKind::reduce_many:
      return "reduce of 8";
    case PrimitiveKind::fused:
      return "reduce, copy and send";
    case PrimitiveKind::round:
      return "copy, reduce, copy back";
    case PrimitiveKind::peer_copy:
      return "copy to another device";
  }
  return "";
}

std::vector<std::int64_t> sample_sizes(std::int64_t bytes_large) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t bytes = smallest_size; bytes < bytes_large; bytes *= 16) sizes.push_back(bytes);
  sizes.push_back(bytes_large);
  return sizes;
}

MachineCosts measure(Backend& backend, const MeasureOptions& options) {
  COLLSIM_CHECK(options.ranks >= 1 && options.ranks >= backend.devices());
  COLLSIM_CHECK(options.bytes_large >= smallest_size && options.bytes_large % tiny_size == 0);
  COLLSIM_CHECK(options.runs >= 1 && options.warmup >= 0 && options.rounds >= 1);
  Measurement measurement(backend, options);
  MachineCosts costs;
  costs.device = backend.name();
  costs.description = backend.description();
  costs.ranks = options.ranks;
  costs.devices = backend.devices();
  costs.samples = questions(options, costs.devices);
  const std::int64_t needed = measurement.needed_bytes(costs.samples);
  if (needed > backend.free_bytes()) throw_memory(needed, backend, options);
  try {
    measure_all(measurement, options, costs);
  } catch (const std::bad_alloc&) {
    throw_memory(needed, backend, options);
  }
  return costs;
}

}  // namespace collsim::kernels
