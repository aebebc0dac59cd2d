// The executor through a Transport: one in which every message has a wire of its own.
#include "sim/execution/transport.hpp"

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/registry.hpp"
#include "sim/execution/executor.hpp"
#include "tests/support/networks.hpp"

using namespace collsim;
using testing::port_network;
using testing::ps;
using testing::rate_of;

namespace {

constexpr std::int64_t us = 1'000'000;

// Sent after bytes / rate, arrived a latency later; results of aggregations take two latencies.
class Wires : public Transport {
 public:
  Wires(const Instance& instance, Bandwidth rate, Duration latency)
      : instance_(instance), rate_(rate), latency_(latency) {}
  void start_message(std::uint32_t connection, Bytes size, Duration extra, Instant now) override {
    const Instant sent = now + transfer_time(size, rate_);
    add(sent, TransportNotice::Kind::sent, connection);
    add(sent + latency_ + extra, TransportNotice::Kind::arrived, connection);
  }
  void start_aggregation(std::uint32_t group, Bytes size, Instant now) override {
    const Instant posted = now + transfer_time(size, rate_);
    add(posted, TransportNotice::Kind::posted, group);
    const Instance::Group& facts = instance_.groups[group];
    for (std::uint32_t member = facts.first_member; member < facts.member_end; ++member)
      if (instance_.members[member].receives)
        add(posted + latency_ + latency_, TransportNotice::Kind::result, member);
    add(posted + latency_ + latency_, TransportNotice::Kind::over, group);
  }
  void change_link(const LinkChange&, Instant) override {}
  void change_routes(const RouteRule&, Instant) override {}
  bool has_event() const override { return !coming_.empty(); }
  Instant next_event() const override { return coming_.begin()->first; }
  void advance(Instant now, std::vector<TransportNotice>& notices) override {
    for (; !coming_.empty() && coming_.begin()->first == now; coming_.erase(coming_.begin()))
      notices.push_back(coming_.begin()->second);
  }
  Duration alone_message(std::uint32_t, Bytes size) const override {
    return transfer_time(size, rate_) + latency_;
  }
  Duration alone_aggregation(std::uint32_t, Bytes size) const override { return transfer_time(size, rate_); }
  std::optional<LinkId> down_link() const override { return std::nullopt; }
  std::string standstill() const override { return {}; }
  std::vector<Bytes> link_bytes(Instant) const override { return {Bytes(1)}; }
  PacketFacts facts() const override { return {}; }

 private:
  void add(Instant at, TransportNotice::Kind kind, std::uint32_t subject) {
    coming_.insert({at, {kind, subject}});
  }
  const Instance& instance_;
  Bandwidth rate_;
  Duration latency_;
  std::multimap<Instant, TransportNotice> coming_;
};

Schedule schedule_of(const std::string& name, std::int64_t bytes, const Placement& placement) {
  Collective collective;
  collective.bytes = Bytes(bytes);
  auto made = algorithms::make_schedule({name, {}}, collective, placement);
  REQUIRE(std::holds_alternative<Schedule>(made));
  return std::get<Schedule>(std::move(made));
}

}  // namespace

TEST_SUITE("sim/execution") {
  TEST_CASE("a transport that does what dedicated links do gives the times of the fluid model") {
    GpuSpec gpu;
    gpu.reduce_bandwidth = rate_of(1'000'000'000'000);
    gpu.send_overhead = ps(100);
    gpu.receive_overhead = ps(10);
    const Topology topology = port_network(8, ps(us), rate_of(100'000'000'000), gpu);
    for (const char* const name : {"ring", "nvls", "binomial_tree"})
      for (const std::int64_t bytes : {0, 8 << 20}) {
        CAPTURE(std::string(name));
        CAPTURE(bytes);
        const Schedule schedule = schedule_of(name, bytes, topology.placement());
        RunOptions options;
        options.explain = true;
        options.shortcuts = Shortcuts::plain;
        const std::vector<Job> jobs = {Job{&schedule, {}, {}, -1}};
        const RunResult fluid = simulate(topology, jobs, options);
        const Instance instance = instance_of(topology, jobs, {});
        auto wires = std::make_unique<Wires>(instance, rate_of(100'000'000'000),
                                             ps(std::string(name) == "nvls" ? us / 2 : us));
        const Outcome wired = Executor(instance, options, {}, std::move(wires)).run();
        CHECK(wired.status == RunStatus::ok);
        CHECK(wired.time == fluid.time);
        CHECK(wired.fingerprint == fluid.fingerprint);
        CHECK(wired.messages == fluid.messages);
        CHECK(wired.chain.total() == fluid.time);
        CHECK(wired.chain.latency == fluid.critical_path->latency);
        CHECK(wired.chain.bandwidth == fluid.critical_path->bandwidth);
        CHECK(wired.chain.contention == ps(0));
        CHECK(wired.packets.has_value());
      }
  }
}
