// What the prefix trie costs a prompt of 131,072 tokens (1,024 tiles) among 10^6 other nodes.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <new>
#include <random>
#include <span>
#include <vector>

#include "prefix/chain_hash.h"
#include "prefix/prefix_trie.h"

namespace {

uint64_t allocation_count = 0;  // calls of operator new; the program has one thread

}  // namespace

// Not inlined: GCC would see malloc and free where it expects new and delete.
[[gnu::noinline]] void* operator new(size_t bytes) {
  ++allocation_count;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace weir {
namespace {

using Text = std::vector<TokenId>;

constexpr uint32_t kTiles = 1024;      // a prompt
constexpr uint32_t kSharedTiles = 16;  // a system prompt that most share
constexpr uint32_t kPrompts = 900;
constexpr uint32_t kOpenings = 100'000;  // first tiles that begin alike: 64 tokens in common
constexpr uint32_t kPoolTiles = 1'008'500;

uint64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t pages = 0;
  file >> pages >> pages;
  return pages * 4096;
}

// Prompt `index`: always the same tokens.
Text PromptOf(uint32_t index) {
  Text text;
  text.reserve(size_t{kTiles} * kTileTokens);
  std::mt19937 shared(0);
  std::mt19937 own(index + 1);
  for (uint32_t i = 0; i < kTiles * kTileTokens; ++i) {
    const bool is_shared = i < kSharedTiles * kTileTokens;
    text.emplace_back(static_cast<int32_t>((is_shared ? shared : own)() % 262'144));
  }
  return text;
}

KvLayout Layout() {
  const KvGroup group{.layer_count = 1, .kv_heads = 1, .k_dim = 1, .v_dim = 1};
  KvLayout layout{.full = group, .window = group};
  layout.window->window = 512;
  return layout;
}

// One for all benchmarks: filling takes seconds.
class World {
 public:
  static World& Get() {
    static World world;
    return world;
  }

  KvCache cache{Layout(),
                {.full_bytes = uint64_t{kPoolTiles} * 512, .window_bytes = uint64_t{50'000} * 512},
                kTileTokens};
  PrefixTrie trie{cache, {.secret = {}, .fingerprint = "bench"}};
  PrefixPin root = trie.Root("");
  double bytes_per_node = 0;

  // What a request does that finds nothing. Its window tiles are kept for the last five tiles.
  void Insert(std::span<const TokenId> text, std::vector<NodeTiles>& tiles) {
    NodeId parent = root.node();
    trie.Stamp(parent);
    for (uint32_t i = 0; i < text.size() / kTileTokens; ++i) {
      parent = trie.Insert(parent, text.subspan(size_t{i} * kTileTokens, kTileTokens), tiles[i]);
    }
    trie.AddResumePoint(parent, kTileTokens, ResumeClass::kNewest);
    trie.Restamp(parent);
  }

  std::vector<NodeTiles> Allocate(size_t count) {
    std::vector<NodeTiles> tiles(count);
    for (size_t i = 0; i < count; ++i) {
      tiles[i].full = cache.full_pool()->Allocate();
      if (i + 5 >= count) tiles[i].window = cache.window_pool()->Allocate();
    }
    return tiles;
  }

  // For one more prompt; evicts what it must.
  std::vector<NodeTiles> NewTiles() {
    trie.MakeRoom({.full = kTiles, .window = 5});
    return Allocate(kTiles);
  }

 private:
  World() {
    const uint64_t before = ResidentBytes();
    for (uint32_t i = 0; i < kOpenings; ++i) InsertOpening(i);
    for (uint32_t i = 0; i < kPrompts; ++i) {
      std::vector<NodeTiles> tiles = Allocate(kTiles);
      Insert(PromptOf(i), tiles);
    }
    bytes_per_node = static_cast<double>(ResidentBytes() - before) / trie.stats().nodes;
    std::printf("%lu nodes, %.0f bytes each\n", trie.stats().nodes, bytes_per_node);
  }

  void InsertOpening(uint32_t index) {
    Text text(kTileTokens, TokenId(7));
    text[64] = TokenId(static_cast<int32_t>(index * 61 % 262'144));
    std::vector<NodeTiles> tiles(1);
    tiles[0].full = cache.full_pool()->Allocate();
    trie.Insert(root.node(), text, tiles[0]);
  }
};

enum class TilesFor : uint8_t { kNothing, kPrompt };

// Runs `work` on one text after the other, so that the trie's memory is not in the cache; if asked,
// with new tiles for a prompt.
template <class Work>
void OverTexts(benchmark::State& state, const std::vector<Text>& texts, TilesFor what, Work work) {
  World& world = World::Get();
  uint64_t allocations = 0;
  size_t next = 0;
  std::vector<NodeTiles> tiles;
  for (auto _ : state) {
    const Text& text = texts[next++ % texts.size()];
    state.PauseTiming();
    if (what == TilesFor::kPrompt) tiles = world.NewTiles();
    const uint64_t before = allocation_count;
    state.ResumeTiming();
    work(text, tiles);
    state.PauseTiming();
    allocations += allocation_count - before;
    tiles.clear();
    state.ResumeTiming();
  }
  state.counters["allocations"] =
      static_cast<double>(allocations) / static_cast<double>(state.iterations());
}

std::vector<Text> Known() {
  std::vector<Text> texts;
  for (uint32_t i = 0; i < kPrompts; i += 30) texts.push_back(PromptOf(i));
  return texts;
}
std::vector<Text> Unknown(uint32_t count, uint32_t& next) {
  std::vector<Text> texts;
  for (uint32_t i = 0; i < count; ++i) texts.push_back(PromptOf(kPrompts + next++));
  return texts;
}

void RunMatch(benchmark::State& state, const std::vector<Text>& texts) {
  World& world = World::Get();
  PrefixMatch match;
  world.trie.Match(world.root.node(), texts[0], match);  // its buffers stay
  OverTexts(state, texts, TilesFor::kNothing, [&](const Text& text, std::vector<NodeTiles>&) {
    world.trie.Match(world.root.node(), text, match);
    benchmark::DoNotOptimize(match.safe_length);
  });
  state.counters["matched"] = match.full_length;
}

// The floor: naming 1,024 tiles.
void Hash(benchmark::State& state) {
  const ChainHasher hasher({}, "bench", ~uint64_t{0});
  OverTexts(state, Known(), TilesFor::kNothing, [&](const Text& text, std::vector<NodeTiles>&) {
    ChainHash hash = hasher.Root("");
    for (uint32_t i = 0; i < kTiles; ++i) {
      hash = hasher.Child(hash, std::span(text).subspan(size_t{i} * kTileTokens, kTileTokens));
    }
    benchmark::DoNotOptimize(hash);
  });
}

void MatchKnown(benchmark::State& state) { RunMatch(state, Known()); }

void MatchPartedInTheLastTile(benchmark::State& state) {
  std::vector<Text> texts = Known();
  for (Text& text : texts) text[text.size() - 50] = TokenId(1);
  RunMatch(state, texts);
}

void MatchUnknown(benchmark::State& state) {
  uint32_t next = 0;
  RunMatch(state, Unknown(30, next));
}

// 100,000 children of one node share its first 64 tokens.
void MatchAmongAlikeOpenings(benchmark::State& state) {
  Text text(size_t{kTiles} * kTileTokens, TokenId(7));
  text[64] = TokenId(262'145);
  RunMatch(state, {text});
}

void InsertKnown(benchmark::State& state) {
  World& world = World::Get();
  OverTexts(state, Known(), TilesFor::kPrompt,
            [&](const Text& text, std::vector<NodeTiles>& tiles) { world.Insert(text, tiles); });
}

void InsertNew(benchmark::State& state) {
  World& world = World::Get();
  static uint32_t next = 1000;
  const std::vector<Text> texts = Unknown(static_cast<uint32_t>(state.max_iterations), next);
  OverTexts(state, texts, TilesFor::kPrompt,
            [&](const Text& text, std::vector<NodeTiles>& tiles) { world.Insert(text, tiles); });
}

// Evicting 1,024 nodes, the coldest of 10^6.
void MakeRoom(benchmark::State& state) {
  World& world = World::Get();
  std::vector<NodeTiles> held = world.Allocate(world.cache.full_pool()->free_count());
  for (auto _ : state) {
    world.trie.MakeRoom({.full = kTiles});
    state.PauseTiming();
    for (NodeTiles& tiles : world.Allocate(kTiles)) held.push_back(std::move(tiles));
    state.ResumeTiming();
  }
}

BENCHMARK(Hash)->Unit(benchmark::kMicrosecond);
BENCHMARK(MatchKnown)->Unit(benchmark::kMicrosecond);
BENCHMARK(MatchPartedInTheLastTile)->Unit(benchmark::kMicrosecond);
BENCHMARK(MatchUnknown)->Unit(benchmark::kMicrosecond);
BENCHMARK(MatchAmongAlikeOpenings)->Unit(benchmark::kMicrosecond);
BENCHMARK(InsertKnown)->Unit(benchmark::kMicrosecond);
BENCHMARK(InsertNew)->Unit(benchmark::kMicrosecond)->Iterations(100);
BENCHMARK(MakeRoom)->Unit(benchmark::kMicrosecond)->Iterations(50);

}  // namespace
}  // namespace weir

BENCHMARK_MAIN();
