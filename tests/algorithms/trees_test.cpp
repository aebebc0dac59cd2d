// Trees, direct exchanges and parameter servers: proven for every collective, rank count, root and option;
// who talks to whom; the bytes that leave each rank; symmetries. Times are in trees_time_test.cpp.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <set>

#include "algorithms/registry.hpp"
#include "sim/core/check.hpp"
#include "sim/model/proof.hpp"
#include "sim/model/proof_orbits.hpp"
#include "sim/model/symmetry.hpp"
#include "tests/algorithms/ideal_placement.hpp"
#include "tests/support/exact_sets.hpp"

using namespace collsim;
using collsim::testing::all_shapes;
using collsim::testing::ideal_placement;

namespace {

using Kind = CollectiveKind;

Collective collective_of(Kind kind, std::int64_t elements, Rank root = 0) {
  Collective collective;
  collective.kind = kind;
  collective.bytes = Bytes(kind == Kind::barrier ? 0 : 4 * elements);
  collective.root = root;
  return collective;
}

struct Case {
  std::string name;
  Kind kind = Kind::all_reduce;
  AlgorithmOptions options;
};

Schedule make(const Case& item, const Placement& placement, std::int64_t elements, Rank root = 0) {
  const auto made = algorithms::make_schedule({item.name, item.options},
                                              collective_of(item.kind, elements, root), placement);
  const auto* impossible = std::get_if<Impossible>(&made);
  COLLSIM_CHECK_MSG(impossible == nullptr, impossible->reason);
  return std::get<Schedule>(made);
}

void check_all_cells(const Schedule& schedule) {
  const Proof proof = prove_all_cells(schedule);
  CHECK(proof.proven);
  CHECK(proof.deadlock_freedom == DeadlockFreedom::run);
  for (const ProofFailure& failure : proof.failures) FAIL_CHECK(failure.text);
}

Case with_form(Case item, const std::string& form) {
  item.options.form = form;
  return item;
}
Case with_radix(Case item, std::int32_t radix) {
  item.options.radix = radix;
  return item;
}
Case with_servers(Case item, std::int32_t servers) {
  item.options.form = "sharded";
  item.options.servers = servers;
  return item;
}
Case with_pieces(Case item, std::int32_t channels, std::int32_t slices, std::int32_t slots) {
  item.options.channels = channels;
  item.options.slices = slices;
  item.options.slots = slots;
  return item;
}

// Every algorithm of the family, collective and form, with the options that change the schedule.
std::vector<Case> cases(std::int32_t ranks) {
  std::vector<Case> all;
  for (const algorithms::AlgorithmInfo& info : algorithms::entries_of_trees_and_direct())
    for (const Kind kind : info.collectives) {
      const Case plain{std::string(info.name), kind, {}};
      all.push_back(plain);
      for (std::size_t form = 1; form < info.forms.size(); ++form)
        all.push_back(with_form(plain, std::string(info.forms[form])));
      const auto takes = [&](std::string_view option) {
        return std::find(info.options.begin(), info.options.end(), option) != info.options.end();
      };
      if (takes("radix"))
        for (const std::int32_t radix : {2, 3, 5, 100}) all.push_back(with_radix(plain, radix));
      if (takes("channels"))
        for (const std::int32_t slots : {1, 8}) all.push_back(with_pieces(plain, 3, 2, slots));
      if (takes("slices")) all.push_back(with_pieces(plain, 1, 3, 1));
      if (takes("servers"))
        for (const std::int32_t servers : {1, 2, ranks / 2, ranks - 1})
          if (servers >= 1 && servers <= ranks) all.push_back(with_servers(plain, servers));
    }
  return all;
}

// Sizes: nothing, fewer elements than ranks, uneven; whole parts where there are parts.
std::vector<std::int64_t> sizes(Kind kind, std::int32_t ranks) {
  if (kind == Kind::barrier) return {0};
  if (in_parts(kind)) return {0, 3 * ranks};
  return {0, ranks - 1, 3 * ranks + 2};
}

std::vector<Rank> roots(const Case& item, std::int32_t ranks) {
  if (!has_root(item.kind)) return {0};
  if (ranks > 9) return {0, ranks / 2, ranks - 1};
  std::vector<Rank> all;
  for (Rank root = 0; root < ranks; ++root) all.push_back(root);
  return all;
}

void check_cases(std::int32_t ranks, const Placement& placement, bool exact) {
  CAPTURE(ranks);
  for (const Case& item : cases(ranks)) {
    CAPTURE(item.name);
    CAPTURE(name_of(item.kind));
    CAPTURE(item.options.form);
    CAPTURE(placement.nodes);
    for (const Rank root : roots(item, ranks)) {
      CAPTURE(root);
      for (const std::int64_t elements : sizes(item.kind, ranks)) {
        const Schedule schedule = make(item, placement, elements, root);
        check_all_cells(schedule);
        CHECK(prove(schedule).proven);
        if (!exact) continue;
        for (std::uint64_t seed = 1; seed <= 2; ++seed) CHECK(testing::exact_failure(schedule, seed) == "");
      }
    }
  }
}

Proof prove_large(const Case& item, const Placement& placement, std::int64_t elements, Rank root = 0) {
  CAPTURE(item.name);
  CAPTURE(name_of(item.kind));
  CAPTURE(item.options.form);
  Proof proof = prove(make(item, placement, elements, root));
  CHECK(proof.proven);
  for (const ProofFailure& failure : proof.failures) FAIL_CHECK(failure.text);
  return proof;
}

}  // namespace

TEST_CASE("Trees and direct exchanges are proven at 1 to 40 ranks, with all roots up to 9") {
  for (std::int32_t ranks = 1; ranks <= 40; ++ranks)
    check_cases(ranks, ideal_placement(1, ranks), ranks <= 9);
}

TEST_CASE("Trees and direct exchanges are proven over nodes of several GPUs") {
  for (const std::int32_t ranks : {4, 6, 9, 24})
    for (const Placement& placement : all_shapes(ranks))
      if (placement.nodes > 1) check_cases(ranks, placement, ranks <= 9);
}

TEST_CASE("Trees and direct exchanges are proven at 64, 100 and 129 ranks") {
  for (const std::int32_t ranks : {64, 100, 129})
    for (const Case& item : cases(ranks))
      prove_large(item, ideal_placement(1, ranks), in_parts(item.kind) ? ranks : 7, ranks / 3);
}

TEST_CASE("A tree all-reduce and barrier are proven from every root that the option names") {
  for (const char* name : {"binomial_tree", "knomial_tree", "kary_tree", "chain"})
    for (std::int32_t ranks = 2; ranks <= 9; ++ranks)
      for (Rank root = 0; root < ranks; ++root)
        for (const Kind kind : {Kind::all_reduce, Kind::barrier}) {
          Case item{name, kind, {}};
          item.options.root = root;
          const auto& kinds = algorithms::find(name)->collectives;
          if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end())
            check_all_cells(make(item, ideal_placement(1, ranks), 5));
        }
}

TEST_CASE("Trees are proven at 131,072 ranks") {
  const Placement placement = ideal_placement(16384, 8, 8);
  for (const Case& item : std::vector<Case>{{"binomial_tree", Kind::broadcast, {}},
                                            {"binomial_tree", Kind::barrier, {}},
                                            {"knomial_tree", Kind::all_reduce, {}},
                                            with_pieces({"kary_tree", Kind::reduce, {}}, 1, 4, 8),
                                            with_pieces({"chain", Kind::broadcast, {}}, 1, 4, 8),
                                            with_pieces({"tree", Kind::broadcast, {}}, 1, 4, 8),
                                            {"direct", Kind::broadcast, {}},
                                            {"direct", Kind::send_recv, {}},
                                            {"parameter_server", Kind::all_reduce, {}}})
    prove_large(item, placement, 1 << 20, has_root(item.kind) ? 77777 : 0);
}

TEST_CASE("Two-shot and the all-to-all at once are proven at 131,072 ranks from rank 0") {
  const Placement placement = ideal_placement(16384, 8, 8);
  for (const Case& item : std::vector<Case>{{"two_shot", Kind::all_reduce, {}},
                                            {"two_shot", Kind::reduce_scatter, {}},
                                            {"one_shot", Kind::all_gather, {}},
                                            {"direct", Kind::all_to_all, {}}}) {
    const std::int64_t messages = item.kind == Kind::all_reduce ? 2 : 1;
    CHECK(prove_large(item, placement, 131072).messages == messages * 131072 * 131071);
  }
}

TEST_CASE("An option root is noted as unused where the collective names its root") {
  for (const char* name : {"binomial_tree", "knomial_tree", "kary_tree", "chain"}) {
    Case item{name, Kind::broadcast, {}};
    CHECK(make(item, ideal_placement(1, 4), 8).unused_options.empty());
    item.options.root = 1;
    CHECK(make(item, ideal_placement(1, 4), 8).unused_options == std::vector<std::string>{"root"});
    item.kind = Kind::all_reduce;
    CHECK(make(item, ideal_placement(1, 4), 8).unused_options.empty());
  }
}

TEST_CASE("Whatever the family publishes as a symmetry is one") {
  std::int64_t verified = 0;
  for (const std::int32_t ranks : {2, 3, 8, 31, 64})
    for (const Case& item : cases(ranks)) {
      CAPTURE(item.name);
      CAPTURE(ranks);
      const Schedule schedule = make(item, ideal_placement(1, ranks), ranks);
      for (const Symmetry& symmetry : schedule.symmetries) {
        CHECK(verify_symmetry(schedule, symmetry).value_or("") == "");
        ++verified;
      }
    }
  CHECK(verified > 50);
}

TEST_CASE("Halves of two-shot are proven by one cell an orbit, and agree with all cells") {
  for (const Kind kind : {Kind::reduce_scatter, Kind::all_gather})
    for (const std::int32_t ranks : {3, 8, 33}) {
      const Schedule schedule = make({"two_shot", kind, {}}, ideal_placement(1, ranks), ranks);
      const OrbitProof orbits = prove_by_orbits(schedule, 1'000'000'000);
      CHECK(orbits.decided);
      CHECK(orbits.proof.proven);
      CHECK(orbits.proof.cells_traced == 1);
      check_all_cells(schedule);
    }
}

namespace {

std::vector<Operation> operations(const Schedule& schedule, Rank rank) {
  std::vector<Operation> all;
  for (std::int32_t stream = 0; stream < schedule.stream_count(rank); ++stream)
    for (std::int64_t i = 0; i < operation_count(schedule, rank, stream); ++i)
      all.push_back(operation(schedule, rank, stream, i));
  return all;
}

std::vector<Rank> peers(const Schedule& schedule, Rank rank, OperationKind kind) {
  std::vector<Rank> all;
  for (const Operation& item : operations(schedule, rank))
    if (item.kind == kind) all.push_back(item.peer.rank);
  return all;
}

std::int64_t bytes_out(const Schedule& schedule, Rank rank) {
  std::int64_t total = 0;
  for (const Operation& item : operations(schedule, rank))
    if (item.kind == OperationKind::send) total += size_of(schedule.layout, item.chunk).count();
  return total;
}

std::int64_t sends(const Schedule& schedule) {
  std::int64_t total = 0;
  for (Rank rank = 0; rank < schedule.ranks; ++rank)
    total += static_cast<std::int64_t>(peers(schedule, rank, OperationKind::send).size());
  return total;
}

using Ranks = std::vector<Rank>;

}  // namespace

TEST_CASE("Binomial and k-nomial trees serve the farthest child first, and reduce the nearest first") {
  const Placement placement = ideal_placement(1, 13);
  CHECK(peers(make({"binomial_tree", Kind::broadcast, {}}, placement, 1), 0, OperationKind::send) ==
        Ranks{8, 4, 2, 1});
  CHECK(peers(make({"binomial_tree", Kind::reduce, {}}, placement, 1), 0, OperationKind::receive_reduce) ==
        Ranks{1, 2, 4, 8});
  CHECK(peers(make({"binomial_tree", Kind::broadcast, {}}, placement, 1, 3), 3, OperationKind::send) ==
        Ranks{11, 7, 5, 4});
  const Case radix_3 = with_radix({"knomial_tree", Kind::broadcast, {}}, 3);
  CHECK(peers(make(radix_3, placement, 1), 0, OperationKind::send) == Ranks{9, 6, 3, 2, 1});
  CHECK(peers(make(radix_3, placement, 1), 9, OperationKind::send) == Ranks{12, 11, 10});
  CHECK(peers(make({"knomial_tree", Kind::broadcast, {}}, placement, 1), 0, OperationKind::send) ==
        Ranks{12, 8, 4, 3, 2, 1});
}

TEST_CASE("A binomial scatter sends a subtree's parts as one range") {
  const Schedule schedule = make({"binomial_tree", Kind::scatter, {}}, ideal_placement(1, 13), 13, 5);
  std::vector<Chunk> chunks;
  for (const Operation& item : operations(schedule, 5)) chunks.push_back(item.chunk);
  CHECK(chunks == std::vector<Chunk>{{Buffer::output, 0, 8, 5},
                                     {Buffer::output, 0, 4, 4},
                                     {Buffer::output, 0, 2, 2},
                                     {Buffer::output, 0, 1, 1}});
  for (std::int32_t block = 0; block < 13; ++block) CHECK(owner_of(schedule, 0, block) == (block + 5) % 13);
}

TEST_CASE("A k-ary tree has the children of a heap, seen from the root") {
  const Case radix_3 = with_radix({"kary_tree", Kind::broadcast, {}}, 3);
  const Schedule schedule = make(radix_3, ideal_placement(1, 12), 1, 10);
  CHECK(peers(schedule, 10, OperationKind::send) == Ranks{11, 0, 1});
  CHECK(peers(schedule, 11, OperationKind::send) == Ranks{2, 3, 4});
  CHECK(peers(schedule, 1, OperationKind::send) == Ranks{8, 9});
  CHECK(peers(schedule, 2, OperationKind::send).empty());
}

TEST_CASE("A chain follows the ring of each channel from the root") {
  Placement placement = ideal_placement(1, 4);
  placement.node_rings = {{0, 1, 2, 3}, {0, 2, 1, 3}};
  const Schedule schedule = make({"chain", Kind::broadcast, {}}, placement, 8, 1);
  CHECK(schedule.channels == 2);
  CHECK(peers(schedule, 1, OperationKind::send) == Ranks{2, 3});
  CHECK(peers(schedule, 3, OperationKind::send) == Ranks{0, 0});
  CHECK(peers(schedule, 0, OperationKind::send) == Ranks{2});  // the end of channel 0, inside channel 1
}

TEST_CASE("Chain and k-ary tree cut their parts into pieces of 512 KiB, at most 256") {
  const auto slices = [](const char* name, std::int64_t bytes) {
    return make({name, Kind::broadcast, {}}, ideal_placement(1, 4), bytes / 4).slices;
  };
  for (const char* name : {"chain", "kary_tree"}) {
    CHECK(slices(name, 0) == 1);
    CHECK(slices(name, 1 << 19) == 1);
    CHECK(slices(name, (1 << 19) + 4) == 2);
    CHECK(slices(name, std::int64_t{1} << 30) == 256);
  }
}

TEST_CASE("Both trees of a broadcast begin at the root, and no other rank is inner in both") {
  for (std::int32_t ranks = 2; ranks <= 40; ++ranks)
    for (const Rank root : {0, ranks / 2}) {
      CAPTURE(ranks);
      const Schedule schedule =
          make(with_pieces({"tree", Kind::broadcast, {}}, 1, 1, 8), ideal_placement(1, ranks), 8, root);
      CHECK(peers(schedule, root, OperationKind::receive).empty());
      CHECK(peers(schedule, root, OperationKind::send).size() == 2);
      for (Rank rank = 0; rank < ranks; ++rank) {
        std::set<std::int32_t> inner;
        for (const Operation& item : operations(schedule, rank))
          if (item.kind == OperationKind::send) inner.insert(item.peer.channel);
        CHECK(inner.size() <= (rank == root ? 2 : 1));
        CHECK(bytes_out(schedule, rank) <= 32);  // the vector at most once
      }
    }
}

TEST_CASE("Over nodes the broadcast's chain starts at the root, and heads join the nodes") {
  // 3 nodes of 4 GPUs and 2 NICs; the heads of the channels are GPUs 0 and 2. Root: GPU 1 of node 1.
  Case item = with_pieces({"tree", Kind::broadcast, {}}, 2, 1, 8);
  const Schedule schedule = make(item, ideal_placement(3, 4, 2), 64, 5);
  std::set<std::pair<Rank, Rank>> between;
  for (Rank rank = 0; rank < 12; ++rank)
    for (const Rank peer : peers(schedule, rank, OperationKind::send)) {
      if (rank / 4 == peer / 4) continue;
      between.insert({rank, peer});
      CHECK((rank % 4 == 0 || rank % 4 == 2));
      CHECK(peer % 4 == rank % 4);
    }
  CHECK(between.count({4, 8}) == 1);
  CHECK(between.count({6, 10}) == 1);
  CHECK(peers(schedule, 5, OperationKind::receive).empty());
  CHECK(peers(schedule, 5, OperationKind::send) == Ranks{6, 6, 6, 6});  // along the chain, four trees
}

TEST_CASE("Messages and bytes out of each rank are those of the definitions") {
  constexpr std::int64_t part = 12;
  for (const std::int32_t ranks : {2, 5, 8, 13, 16, 27}) {
    CAPTURE(ranks);
    const Placement placement = ideal_placement(1, ranks);
    const std::int64_t elements = part / 4 * ranks;
    const std::int64_t whole = part * ranks;
    const auto built = [&](const Case& item) { return make(item, placement, elements, ranks / 2); };
    for (const char* name : {"binomial_tree", "knomial_tree"}) {
      for (const Kind kind : {Kind::broadcast, Kind::reduce, Kind::scatter, Kind::gather})
        CHECK(sends(built({name, kind, {}})) == ranks - 1);
      CHECK(sends(built({name, Kind::all_reduce, {}})) == 2 * (ranks - 1));
      CHECK(sends(built({name, Kind::barrier, {}})) == 2 * (ranks - 1));
    }
    const Schedule scatter = built({"binomial_tree", Kind::scatter, {}});
    CHECK(bytes_out(scatter, ranks / 2) == whole - part);
    for (Rank rank = 0; rank < ranks; ++rank) {
      const bool root = rank == ranks / 2;
      CAPTURE(rank);
      const std::int64_t scattered = bytes_out(scatter, rank);
      CHECK(bytes_out(built({"binomial_tree", Kind::reduce, {}}), rank) == (root ? 0 : whole));
      CHECK(bytes_out(built({"binomial_tree", Kind::gather, {}}), rank) == (root ? 0 : scattered + part));
      const bool end = rank == (ranks / 2 + ranks - 1) % ranks;
      CHECK(bytes_out(built({"chain", Kind::broadcast, {}}), rank) == (end ? 0 : whole));
      CHECK(bytes_out(built({"chain", Kind::reduce, {}}), rank) == (root ? 0 : whole));
      CHECK(bytes_out(built({"one_shot", Kind::all_reduce, {}}), rank) == (ranks - 1) * whole);
      CHECK(bytes_out(built({"one_shot", Kind::all_gather, {}}), rank) == (ranks - 1) * part);
      CHECK(bytes_out(built({"two_shot", Kind::reduce_scatter, {}}), rank) == (ranks - 1) * part);
      CHECK(bytes_out(built({"two_shot", Kind::all_gather, {}}), rank) == (ranks - 1) * part);
      CHECK(bytes_out(built({"direct", Kind::all_to_all, {}}), rank) == (ranks - 1) * part);
      CHECK(bytes_out(built({"direct", Kind::send_recv, {}}), rank) == whole);
      CHECK(bytes_out(built({"direct", Kind::scatter, {}}), rank) == (root ? whole - part : 0));
      CHECK(bytes_out(built({"direct", Kind::gather, {}}), rank) == (root ? 0 : part));
      CHECK(bytes_out(built({"direct", Kind::broadcast, {}}), rank) == (root ? whole * (ranks - 1) : 0));
      CHECK(bytes_out(built({"parameter_server", Kind::all_reduce, {}}), rank) ==
            (rank == 0 ? whole * (ranks - 1) : whole));
      // The tree, and all blocks but one around the ring.
      CHECK(bytes_out(built({"van_de_geijn", Kind::broadcast, {}}), rank) ==
            bytes_out(scatter, rank) + (ranks - 1) * part);
    }
  }
}

TEST_CASE("Shards on all ranks are two-shot") {
  for (const std::int32_t ranks : {2, 3, 8, 13}) {
    const Schedule sharded = make(with_form({"parameter_server", Kind::all_reduce, {}}, "sharded"),
                                  ideal_placement(1, ranks), 100);
    const Schedule two_shot = make({"two_shot", Kind::all_reduce, {}}, ideal_placement(1, ranks), 100);
    for (Rank rank = 0; rank < ranks; ++rank) {
      REQUIRE(sharded.stream_count(rank) == two_shot.stream_count(rank));
      for (std::int32_t stream = 0; stream < two_shot.stream_count(rank); ++stream) {
        REQUIRE(operation_count(sharded, rank, stream) == operation_count(two_shot, rank, stream));
        for (std::int64_t i = 0; i < operation_count(two_shot, rank, stream); ++i) {
          const Operation a = operation(sharded, rank, stream, i);
          const Operation b = operation(two_shot, rank, stream, i);
          CHECK(a.kind == b.kind);
          CHECK(a.peer == b.peer);
          CHECK(a.chunk == b.chunk);
          CHECK(a.waits.size() == b.waits.size());
        }
      }
    }
  }
}

TEST_CASE("Trees and servers refuse options that make no sense") {
  const auto reason = [](const Case& item) {
    const auto made = algorithms::make_schedule({item.name, item.options}, collective_of(item.kind, 8),
                                                ideal_placement(1, 8));
    const auto* impossible = std::get_if<Impossible>(&made);
    return impossible != nullptr ? impossible->reason : "possible";
  };
  CHECK(reason(with_radix({"knomial_tree", Kind::reduce, {}}, 1)) == "radix is 1; it must be at least 2");
  CHECK(reason(with_radix({"kary_tree", Kind::reduce, {}}, 0)) == "radix is 0; it must be at least 1");
  CHECK(reason(with_radix({"knomial_tree", Kind::gather, {}}, 2147483647)) == "possible");
  CHECK(reason(with_radix({"kary_tree", Kind::reduce, {}}, 2147483647)) == "possible");
  const Case servers{"parameter_server", Kind::all_reduce, {}};
  CHECK(reason(with_servers(servers, 9)) == "servers is 9; it must be 1 to 8");
  CHECK(reason(with_servers(servers, 0)) == "servers is 0; it must be 1 to 8");
  CHECK(reason(with_form(with_servers(servers, 3), "central")) == "form central has 1 server, not 3");
  CHECK(reason(with_form(with_servers(servers, 1), "central")) == "possible");
  CHECK(reason(with_form(servers, "dedicated")) ==
        "form is 'dedicated'; parameter_server has central, sharded");
}
