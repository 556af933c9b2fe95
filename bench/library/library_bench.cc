// What the KV library costs an engine that calls it: see README.md.
//
// A fake engine writes rows with memcpy and computes nothing. The baseline is the same memcpys into
// one flat slab in the same run; the difference is the library.
#include <weir/sequence.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>
#include <string>
#include <vector>

namespace kv = weir::kv;
using kv::kTileTokens;

namespace {

// Gemma 3 270M with 16-bit KV: one KV head of 256.
constexpr uint32_t kRowBytes = 512;
constexpr uint32_t kFullLayers = 3;
constexpr uint32_t kWindowLayers = 15;
constexpr uint32_t kWindow = 512;
constexpr uint32_t kMaxChunk = 512;

constexpr uint32_t kConversations = 16;
constexpr uint32_t kTurns = 8;
constexpr uint32_t kSystemTokens = 1000;  // shared by all
constexpr uint32_t kQuestionTokens = 300;
constexpr uint32_t kAnswerTokens = 150;
constexpr int kRepeats = 5;

using Tokens = std::vector<kv::Token>;

template <class T>
T Need(kv::Expected<T> value) {
  if (!value) {
    std::fprintf(stderr, "%s\n", value.error().message.c_str());
    std::exit(1);
  }
  return *std::move(value);
}

// Of processor time, which other programs on the machine disturb less; there is one thread.
double SecondsOf(const auto& work) {
  const std::clock_t begin = std::clock();
  work();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

struct Spread {
  double median = 0;
  double low = 0;
  double high = 0;
};

Spread SpreadOf(std::vector<double> seconds) {
  std::ranges::sort(seconds);
  return {seconds[seconds.size() / 2], seconds.front(), seconds.back()};
}

Spread Measure(const auto& seconds_of_one_run) {
  std::vector<double> seconds;
  for (int i = 0; i < kRepeats; ++i) seconds.push_back(seconds_of_one_run());
  return SpreadOf(seconds);
}

std::vector<kv::Layer> Layers() {  // five window layers, then a full one
  std::vector<kv::Layer> layers;
  for (uint32_t i = 0; i < kFullLayers; ++i) {
    for (uint32_t j = 0; j < kWindowLayers / kFullLayers; ++j) {
      layers.push_back({kv::Group::kWindow, i * (kWindowLayers / kFullLayers) + j});
    }
    layers.push_back({kv::Group::kFull, i});
  }
  return layers;
}

// Rows that a chunk of a forward pass would have made.
struct Engine {
  std::vector<kv::Layer> layers = Layers();
  std::vector<std::byte> rows = std::vector<std::byte>(kMaxChunk * kRowBytes, std::byte{1});
  uint64_t tiles_read = 0;  // keeps the tables from being optimised away

  void Compute(kv::Sequence& sequence, uint32_t count, bool copies) {
    kv::Chunk chunk = Need(sequence.BeginChunk(count));
    for (const kv::Layer layer : layers) {
      for (uint32_t t = chunk.begin() / kTileTokens; t <= (chunk.end() - 1) / kTileTokens; ++t) {
        const kv::RowSpace space = chunk.Rows(layer, t);
        const size_t bytes = size_t{space.end - space.begin} * kRowBytes;
        if (bytes == 0 || !copies) continue;
        const size_t at = size_t{space.begin % kTileTokens} * kRowBytes;
        std::memcpy(space.keys.data() + at, rows.data(), bytes);
        std::memcpy(space.values.data() + at, rows.data(), bytes);
      }
      tiles_read += chunk.Tiles(layer).planes.size();
      chunk.EndLayer(layer);
    }
    sequence.Commit(std::move(chunk));
  }
};

// The same bytes, as an engine without a KV system writes them: a flat array a layer.
struct Flat {
  std::vector<std::byte> rows = std::vector<std::byte>(kMaxChunk * kRowBytes, std::byte{1});
  std::vector<std::byte> slab;
  uint64_t capacity = 0;
  uint64_t next = 0;

  explicit Flat(uint64_t tokens)
      : slab(tokens * 2 * (kFullLayers + kWindowLayers) * kRowBytes), capacity(tokens) {}

  void Write(uint32_t count) {
    if (next % capacity + count > capacity) next += capacity - next % capacity;
    for (uint32_t plane = 0; plane < 2 * (kFullLayers + kWindowLayers); ++plane) {
      std::memcpy(slab.data() + (plane * capacity + next % capacity) * kRowBytes, rows.data(),
                  size_t{count} * kRowBytes);
    }
    next += count;
  }
};

struct Counts {
  uint64_t prompt = 0;
  uint64_t reused = 0;
  uint64_t replayed = 0;
  uint64_t written = 0;  // tokens whose rows were written
};

// kConversations in turns; each turn asks and is answered token by token.
Counts Converse(Engine& engine, kv::PrefixCache& cache, const std::vector<Tokens>& texts,
                std::vector<uint32_t>* chunks) {
  Counts counts;
  for (uint32_t turn = 0; turn < kTurns; ++turn) {
    for (const Tokens& text : texts) {
      const uint32_t asked =
          kSystemTokens + turn * (kQuestionTokens + kAnswerTokens) + kQuestionTokens;
      const std::span<const kv::Token> prompt(text.data(), asked);
      auto sequence = Need(kv::Sequence::Begin(cache, {.name_space = "bench", .prompt = prompt}));
      counts.prompt += asked;
      counts.reused += sequence.sources().reused;
      counts.replayed += sequence.sources().replayed;
      const auto compute = [&](uint32_t count) {
        engine.Compute(sequence, count, true);
        counts.written += count;
        if (chunks != nullptr) chunks->push_back(count);
      };
      while (sequence.token_count() < asked) {
        compute(std::min(asked - sequence.token_count(), kMaxChunk));
      }
      for (uint32_t i = 0; i < kAnswerTokens; ++i) {
        sequence.Append(text[asked + i]);
        compute(1);
      }
      sequence.Finish();
    }
  }
  return counts;
}

std::vector<Tokens> Texts() {
  std::mt19937 random(1);
  Tokens system(kSystemTokens);
  for (kv::Token& token : system) token = static_cast<kv::Token>(random() % 250'000);
  std::vector<Tokens> texts(kConversations, system);
  for (Tokens& text : texts) {
    for (uint32_t i = 0; i < kTurns * (kQuestionTokens + kAnswerTokens); ++i) {
      text.push_back(static_cast<kv::Token>(random() % 250'000));
    }
  }
  return texts;
}

void PrintOperation(const char* what, const Spread& seconds, double operations) {
  std::printf("| %-58s | %9.2f us | %6.2f - %6.2f | %9.0f |\n", what,
              seconds.median / operations * 1e6, seconds.low / operations * 1e6,
              seconds.high / operations * 1e6, operations / seconds.median);
}

// One operation at a time, on the cache that the conversations have left.
void TimeOperations(Engine& engine, kv::PrefixCache& cache, const Tokens& text) {
  constexpr int kMany = 300;
  std::printf(
      "\n| operation, nothing copied by the caller | median | range of %d | per second "
      "|\n|---|---|---|---|\n",
      kRepeats);
  uint64_t length = 0;
  PrintOperation("Match of 4,600 tokens, all there", Measure([&] {
                   return SecondsOf([&] {
                     for (int i = 0; i < kMany; ++i)
                       length += cache.Match("bench", text).safe_length;
                   });
                 }),
                 kMany);
  PrintOperation("Sequence::Begin with them, dropped", Measure([&] {
                   return SecondsOf([&] {
                     for (int i = 0; i < kMany; ++i) {
                       length +=
                           Need(kv::Sequence::Begin(cache, {.name_space = "bench", .prompt = text}))
                               .token_count();
                     }
                   });
                 }),
                 kMany);
  auto sequence = Need(kv::Sequence::Begin(cache, {.name_space = "bench", .prompt = text}));
  PrintOperation("a token: chunk, 18 layers (rows, tiles, end), commit", Measure([&] {
                   for (int i = 0; i < kMany; ++i) sequence.Append(i);
                   return SecondsOf([&] {
                     for (int i = 0; i < kMany; ++i) engine.Compute(sequence, 1, false);
                   });
                 }),
                 kMany);
  constexpr int kChunks = 8;
  PrintOperation("a chunk of 512 tokens: the same", Measure([&] {
                   for (uint32_t i = 0; i < kChunks * kMaxChunk; ++i) sequence.Append(1);
                   return SecondsOf([&] {
                     for (int i = 0; i < kChunks; ++i) engine.Compute(sequence, kMaxChunk, false);
                   });
                 }),
                 kChunks);
  if (length == 0) std::puts("nothing matched");
}

}  // namespace

int main(int argc, char** argv) {
  const double gibibytes = argc > 1 ? std::stod(argv[1]) : 1.0;
  const kv::Layout layout = {.full = kv::LayerGroup{.layer_count = kFullLayers,
                                                    .key_bytes = kRowBytes,
                                                    .value_bytes = kRowBytes},
                             .window = kv::LayerGroup{.layer_count = kWindowLayers,
                                                      .key_bytes = kRowBytes,
                                                      .value_bytes = kRowBytes,
                                                      .window = kWindow}};
  const auto bytes = static_cast<uint64_t>(gibibytes * (uint64_t{1} << 30));
  const kv::Budget budget = Need(kv::SplitBudget(layout, bytes, {.context_tokens = 32'768}));
  const kv::Pools pools = Need(kv::Pools::Create(layout, budget, kMaxChunk));
  Engine engine;
  auto cache =
      Need(kv::PrefixCache::Create(pools, {.fingerprint = "bench", .layers = engine.layers}));
  const std::vector<Tokens> texts = Texts();

  std::vector<uint32_t> chunks;  // what the baseline repeats
  Counts counts;
  Converse(engine, cache, texts, &chunks);  // touches the slabs
  Flat flat(bytes / (2 * (kFullLayers + kWindowLayers) * kRowBytes));
  std::vector<double> by_library;
  std::vector<double> by_copies;
  for (int i = 0; i < kRepeats; ++i) {
    cache.Flush();
    by_library.push_back(SecondsOf([&] { counts = Converse(engine, cache, texts, nullptr); }));
    by_copies.push_back(SecondsOf([&] {
      for (const uint32_t count : chunks) flat.Write(count);
    }));
  }
  const Spread library = SpreadOf(by_library);
  const Spread copies = SpreadOf(by_copies);

  const auto written = static_cast<double>(counts.written);
  std::printf(
      "%u conversations of %u turns, %llu prompt tokens: %llu reused (%.1f %%), %llu replayed; "
      "rows of %llu tokens written\n\n",
      kConversations, kTurns, static_cast<unsigned long long>(counts.prompt),
      static_cast<unsigned long long>(counts.reused),
      100.0 * static_cast<double>(counts.reused) / static_cast<double>(counts.prompt),
      static_cast<unsigned long long>(counts.replayed),
      static_cast<unsigned long long>(counts.written));
  std::printf("| the workload | median | range of %d | per token |\n|---|---|---|---|\n", kRepeats);
  const auto row = [written](const char* what, const Spread& seconds) {
    std::printf("| %s | %.3f s | %.3f - %.3f | %.2f us |\n", what, seconds.median, seconds.low,
                seconds.high, seconds.median / written * 1e6);
  };
  row("memcpy of the same rows into a flat slab", copies);
  row("the same through the library", library);
  std::printf("| overhead | %.3f s | | %.2f us |\n", library.median - copies.median,
              (library.median - copies.median) / written * 1e6);
  TimeOperations(engine, cache, texts.back());
  return engine.tiles_read > 0 ? 0 : 1;
}
