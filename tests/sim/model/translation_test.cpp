// Translated schedules: streams of rank 0 stand for those of all ranks.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "sim/model/proof.hpp"
#include "sim/model/proof_translation.hpp"
#include "sim/model/translation.hpp"
#include "tests/support/exchange.hpp"

using namespace collsim;
using testing::Exchange;
using testing::Swap;

TEST_CASE("Translations are groups that move any rank to any other") {
  for (const TranslationKind kind : {TranslationKind::rotation, TranslationKind::exclusive_or})
    for (const std::int32_t ranks : {1, 2, 8, 16}) {
      const Translation translation{kind, ranks};
      for (Rank by = 0; by < ranks; ++by) {
        std::set<Rank> images;
        for (Rank rank = 0; rank < ranks; ++rank) images.insert(translation.move(rank, by));
        CHECK(images.size() == static_cast<std::size_t>(ranks));
        CHECK(*images.begin() == 0);
        CHECK(*images.rbegin() == ranks - 1);
        CHECK(translation.move(0, by) == by);
        CHECK(translation.move(by, translation.home(by)) == 0);
      }
    }
}

TEST_CASE("A translated schedule binds every rank as rank 0, moved") {
  const Schedule schedule = Exchange{TranslationKind::exclusive_or, 8}.make();
  Binding binding;
  schedule.bind(5, 3, binding);
  CHECK(binding.program == 1);
  CHECK(binding.peers == std::vector<Peer>{{6, 0}, {6, 1}});
  CHECK(binding.bases == std::vector<std::int64_t>{5, 6});
  const Schedule turned = Exchange{TranslationKind::rotation, 7}.make();
  binding.clear();
  turned.bind(5, 3, binding);
  CHECK(binding.peers == std::vector<Peer>{{1, 0}, {1, 1}});
}

TEST_CASE("A translated schedule is proven from rank 0 as it is from all cells") {
  for (const TranslationKind kind : {TranslationKind::rotation, TranslationKind::exclusive_or})
    for (const std::int32_t ranks : {2, 3, 4, 5, 7, 8, 12, 16, 32}) {
      if (kind == TranslationKind::exclusive_or && (ranks & (ranks - 1)) != 0) continue;
      CAPTURE(ranks);
      const Schedule schedule = Exchange{kind, ranks}.make();
      const auto proof = prove_translated(schedule);
      REQUIRE(proof.has_value());
      const Proof all = prove_all_cells(schedule);
      CHECK(proof->proven);
      CHECK(all.proven);
      CHECK(proof->messages == all.messages);
    }
}

TEST_CASE("A translated schedule that is wrong is not proven") {
  const Exchange unordered{TranslationKind::exclusive_or, 8, false, true};
  CHECK_FALSE(prove_all_cells(unordered.make()).proven);
  CHECK_FALSE(prove_translated(unordered.make()).has_value());
  const Exchange wrong_block{TranslationKind::exclusive_or, 8, true, false};
  CHECK_FALSE(prove_all_cells(wrong_block.make()).proven);
  const auto unpaired = prove_translated(wrong_block.make());
  REQUIRE(unpaired.has_value());
  REQUIRE(unpaired->failures.size() == 1);
  CHECK(unpaired->failures[0].text ==
        "rank 0, stream 1, step 1: what it sends is not received as the same blocks");
}

TEST_CASE("131,072 ranks that exchange directly are proven from rank 0") {
  const Schedule schedule = Exchange{TranslationKind::exclusive_or, 1 << 17}.make();
  const Proof proof = prove(schedule);
  for (const ProofFailure& failure : proof.failures) FAIL_CHECK(failure.text);
  CHECK(proof.proven);
  CHECK(proof.messages == std::int64_t{2} * ((1 << 17) - 1) * (1 << 17));
}

TEST_CASE("A direct all-to-all is proven from rank 0 as it is from all cells") {
  for (const TranslationKind kind : {TranslationKind::rotation, TranslationKind::exclusive_or})
    for (const std::int32_t ranks : {2, 3, 4, 7, 8, 16}) {
      if (kind == TranslationKind::exclusive_or && (ranks & (ranks - 1)) != 0) continue;
      CAPTURE(ranks);
      const Schedule schedule = Swap{kind, ranks}.make();
      const auto proof = prove_translated(schedule);
      REQUIRE(proof.has_value());
      const Proof all = prove_all_cells(schedule);
      CHECK(proof->proven);
      CHECK(all.proven);
      CHECK(proof->messages == all.messages);
    }
}

TEST_CASE("A direct all-to-all that is wrong is refuted from rank 0 as it is from all cells") {
  const auto text_of = [](const Swap& swap) {
    const Schedule schedule = swap.make();
    CHECK_FALSE(prove_all_cells(schedule).proven);
    const auto proof = prove_translated(schedule);
    REQUIRE(proof.has_value());
    CHECK_FALSE(proof->proven);
    return proof->failures.at(0).text;
  };
  CHECK(text_of(Swap{TranslationKind::rotation, 5, 1}) ==
        "rank 0, stream 1, step 0: what it sends is not the target's part, or not received as its own");
  CHECK(text_of(Swap{TranslationKind::rotation, 5, 0, false}) ==
        "rank 0: block 0 of region 0 is never written");
}
