// Two conversations share a beginning, then one is edited: what the cache reuses of each prompt,
// and a check that every row that a query sees is right. The model is fake: a layer keeps one
// number of a token, made of the layer and all tokens so far. (No values here: value_bytes is 0.)
#include <weir/sequence.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace kv = weir::kv;
constexpr uint32_t kWindow = 200, kMaxChunk = 256, kRowBytes = sizeof(uint64_t);
constexpr kv::Layer kLayers[] = {{kv::Group::kWindow, 0}, {kv::Group::kFull, 0}};

template <class T>
T Need(kv::Expected<T> value) {
  return value ? *std::move(value) : throw std::runtime_error(value.error().message);
}

void ComputeLayer(kv::Chunk& chunk, kv::Layer layer, const std::vector<kv::Token>& prompt) {
  std::vector<uint64_t> row;
  uint64_t sum = layer.group == kv::Group::kFull ? 1 : 2;
  for (const kv::Token token : prompt) row.push_back(sum = sum * 1'000'003 + token);
  for (uint32_t t = chunk.begin() / 128; t <= (chunk.end() - 1) / 128; ++t) {  // write
    const kv::RowSpace space = chunk.Rows(layer, t);
    if (space.begin == space.end) continue;
    std::memcpy(space.keys.data() + space.begin % 128 * kRowBytes, &row[space.begin],
                (space.end - space.begin) * kRowBytes);
  }
  const kv::TileTable table = chunk.Tiles(layer);  // read what the chunk's queries see
  const bool sees_all = layer.group == kv::Group::kFull || chunk.begin() < kWindow;
  uint32_t p = std::max(table.first_position, sees_all ? 0 : chunk.begin() - kWindow + 1);
  for (; p < chunk.end(); ++p) {
    const auto plane = table.planes[p / 128 - table.first_tile].keys;
    if (std::memcmp(plane.data() + p % 128 * kRowBytes, &row[p], kRowBytes) != 0) {
      throw std::runtime_error("a query sees a wrong row");
    }
  }
  chunk.EndLayer(layer);
}

void Answer(kv::PrefixCache& cache, const char* what, const std::vector<kv::Token>& prompt) {
  auto sequence = Need(kv::Sequence::Begin(cache, {.name_space = "demo", .prompt = prompt}));
  while (sequence.token_count() < prompt.size()) {
    const auto left = static_cast<uint32_t>(prompt.size()) - sequence.token_count();
    kv::Chunk chunk = Need(sequence.BeginChunk(std::min(left, kMaxChunk)));
    for (const kv::Layer layer : kLayers) ComputeLayer(chunk, layer, prompt);
    sequence.Commit(std::move(chunk));
  }
  sequence.Finish();
  const kv::Sources& from = sequence.sources();
  std::printf("%-26s %4u reused, %4u replayed, %4u computed\n", what, from.reused, from.replayed,
              from.computed);
}

int main() try {
  const auto pools = Need(kv::Pools::Create(
      {.full = kv::LayerGroup{.layer_count = 1, .key_bytes = kRowBytes},
       .window = kv::LayerGroup{.layer_count = 1, .key_bytes = kRowBytes, .window = kWindow}},
      {.full_bytes = 64 << 10, .window_bytes = 64 << 10}, kMaxChunk));
  auto cache = Need(kv::PrefixCache::Create(pools, {.fingerprint = "fake model"}));
  std::vector<kv::Token> first(1000, 1), second(first.begin(), first.begin() + 700);
  second.resize(900, 2);  // the same system prompt, another question
  std::vector<kv::Token> edited = first;
  edited[500] = 3;
  Answer(cache, "first conversation:", first);
  Answer(cache, "second, 700 tokens shared:", second);
  Answer(cache, "first, edited at 500:", edited);
  Answer(cache, "second, once more:", second);
} catch (const std::exception& error) {
  std::puts(error.what());
  return 1;
}
