// The property that prefix reuse stands for: whatever the cache holds, logits are a cold run's.
//
// Each case is a random model with pools of its own; together they cover windows of 4 to 512, tile
// aligned and not, f16 and formats coded per tile with r = 0 and 1, memory from plenty down to what
// one sequence needs. WEIR_EVENTS=n runs n events over all cases, WEIR_SEED=n replays. Two halves
// of a long run: GTEST_TOTAL_SHARDS=2 GTEST_SHARD_INDEX=0 property_test --gtest_filter='Case/*',
// and 1 (CTest would stop a case after ten minutes).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include "property/reuse_machine.h"
#include "support/lossy_codec.h"
#include "support/seed.h"

namespace weir::test {
namespace {

constexpr uint32_t kCases = 48;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kEvents = 1'000;
#else
constexpr uint64_t kEvents = 12'000;
#endif

uint64_t EventsOfCase() {
  const char* given = std::getenv("WEIR_EVENTS");
  return (given != nullptr ? std::strtoull(given, nullptr, 10) : kEvents) / kCases + 1;
}

constexpr uint32_t kWindows[] = {4,   17,  64,  100, 127, 128, 129, 130,
                                 200, 255, 256, 257, 300, 384, 400, 512};
constexpr const char* kLayers[] = {"wf", "wwf", "fw", "fwwf", "wfw", "wwwwwf", "fwfw", "wwfwf"};
constexpr const char* kGolden[] = {"mimo2-w41-seed1.gguf", "mimo2-w101-seed3.gguf",
                                   "mimo2-w128-seed2.gguf", "gemma3-w48-seed1.gguf"};

enum class Memory : uint8_t { kLeast, kLittle, kSome, kFewWindows, kGenerous };

struct Case {
  RandomModelSpec spec;
  std::string golden;  // instead, if not empty
  const TileCodec* codec = nullptr;
  Memory memory = Memory::kLeast;
  uint32_t max_live = 1;
};

Case CaseOf(uint32_t index) {
  constexpr const TileCodec* kCodecs[] = {nullptr, &kLossyR0, &kLossyR1};
  Case test;
  test.codec = kCodecs[index % 3];
  test.memory = static_cast<Memory>((index + index / 15) % 5);
  test.max_live = 1 + index / 4 % 5;
  test.spec = {.architecture = index % 5 == 4 ? "mimo2" : "gemma3",
               .layers = kLayers[index * 5 / 3 % 8],
               .window = kWindows[index % 16],
               .q_heads = index % 7 == 3 ? 6U : 4U,
               .kv_heads = index % 4 == 1 ? 1U : 2U,
               .k_dim = index % 6 == 2 ? 12U : 8U,
               .v_dim = index % 9 == 5 ? 5U : 8U,
               .seed = Seed() + index};
  if (index % 12 == 7) {
    test.spec.architecture = "llama";
    test.spec.layers = "ff";
  }
  if (index == 21 || index == 36) test.spec.layers = "www";  // no full group at all
  if (index % 12 == 10) test.golden = kGolden[index / 12];
  return test;
}

std::string Describe(const Case& test) {
  constexpr const char* kMemory[] = {"least", "little", "some", "much but for windows", "generous"};
  return fmt::format(
      "{}, W = {}, {}, {} memory, {} at once",
      test.golden.empty() ? test.spec.architecture + " " + test.spec.layers : test.golden,
      test.spec.window, test.codec != nullptr ? test.codec->name : "f16",
      kMemory[static_cast<size_t>(test.memory)], test.max_live);
}

uint32_t Between(std::mt19937_64& random, uint32_t low, uint32_t high) {
  return low + static_cast<uint32_t>(random() % (high - low + 1));
}

// `need`: of the longest conversation alone.
TileNeed TilesOf(Memory memory, const TileNeed& need, uint32_t max_live, std::mt19937_64& random) {
  const auto draw = [&](uint32_t least, bool is_full = false) {
    switch (memory) {
      case Memory::kLeast:
        return least;
      case Memory::kLittle:
        return Between(random, least, least + 5);
      case Memory::kSome:
        return Between(random, least * max_live, least * 6);
      case Memory::kFewWindows:  // tombstones and replays
        return is_full ? least * 8 : Between(random, least * max_live, least * max_live + 4);
      default:
        return 1500U;  // the machine flushes before they are full
    }
  };
  return {.full = draw(need.full, true), .window = draw(need.window), .owed = draw(need.owed)};
}

class ExactReuse : public ::testing::TestWithParam<uint32_t> {};

INSTANTIATE_TEST_SUITE_P(Case, ExactReuse, ::testing::Range(0U, kCases));

TEST_P(ExactReuse, LogitsAreThoseOfAColdRun) {
  WEIR_TRACE_SEED();
  const Case test = CaseOf(GetParam());
  SCOPED_TRACE(Describe(test));
  std::cout << "WEIR_SEED=" << Seed()
            << std::endl;  // also when a broken invariant stops the program
  const auto model = test.golden.empty()
                         ? std::make_unique<ToyModel>(test.spec, test.codec)
                         : std::make_unique<ToyModel>(GoldenModel{test.golden}, test.codec);
  std::mt19937_64 random(Seed() * kCases + GetParam());
  const uint32_t window = model->layout().window ? model->layout().window->window : 128;
  MachineOptions options;
  options.max_tokens = std::max(500U, 2 * window + 250);
  if (test.memory == Memory::kFewWindows) {  // long enough to be worth a replay
    const uint32_t replay = 100'000 - PlanReplay(model->layers(), model->layout(), 100'000).begin;
    options.max_tokens = std::max(options.max_tokens, std::min(1'600U, replay + 350));
  }
  options.is_generous = test.memory == Memory::kGenerous;
  options.tiles = TilesOf(test.memory, model->TilesFor(options.max_tokens), test.max_live, random);
  options.max_chunk_tokens = Between(random, 1, 4) * 100 + Between(random, 0, 128);
  options.max_live = test.max_live;
  options.checkpoint_tokens = Between(random, 0, 2) * 150;
  if (GetParam() % 8 == 2 && !options.is_generous) options.hash_mask = 0x7;  // they collide
  options.seed = random();
  options.name = fmt::format("case {}, WEIR_SEED={}", GetParam(), Seed());
  ReuseMachine machine(*model, options);
  machine.Run(EventsOfCase());
  const ReuseMachine::Counts& counts = machine.counts();
  const PrefixTrieStats stats = machine.trie_stats();
  std::cout << fmt::format(
      "{}: {} events, {} requests, {} resumed, {} replayed, {} vetoed, {} without room; {} tokens "
      "computed, {} reused; evicted {} nodes, {} windows, {} owed\n",
      Describe(test), counts.events, counts.requests, counts.resumed, counts.replayed,
      counts.vetoed, counts.exhausted, counts.tokens, counts.reused, stats.evicted_nodes,
      stats.evicted_windows, stats.evicted_owed);
  if (counts.events < 200) return;
  // What is to be exact must have happened.
  // With the least memory one request in fifty resumes: that wants a longer run.
  if (options.is_generous || counts.events >= 2'000) {
    EXPECT_GT(counts.resumed, 0U);
  }
  // So do vetoes with little memory for several at once: leaves without their windows go first.
  if (!options.is_generous && (test.memory != Memory::kLittle || counts.events >= 2'000)) {
    EXPECT_GT(counts.vetoed, 0U);
  }
  if (!options.is_generous) {
    EXPECT_GT(stats.evicted_nodes + stats.evicted_windows + stats.evicted_owed, 0U);
  }
}

}  // namespace
}  // namespace weir::test
