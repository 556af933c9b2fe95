#include "property/toy_model.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <utility>

#include "support/model_runner.h"

namespace weir::test {
namespace {

using testing::OrStop;

Model LoadRandom(const RandomModelSpec& spec, ThreadPool& pool) {
  const std::vector<std::byte> bytes = RandomModelBytes(spec);
  const GgufFile file = OrStop(GgufFile::FromBytes(bytes, "random model"));
  return OrStop(Model::Load(file, pool, nullptr));
}

Model LoadGolden(const std::string& name, ThreadPool& pool) {
  const GgufFile file = OrStop(GgufFile::Open(testing::GoldenModelPath(name)));
  return OrStop(Model::Load(file, pool, nullptr));
}

void Poison(TilePool& pool) {
  if (pool.peak_count() == 0) {
    if (pool.tile_count() > 0) std::memset(pool.KeyPlane(TileId(1), 0), 0xFF, pool.bytes());
    return;
  }
  // Slots beyond the peak are as the first call left them.
  std::vector<TileRef> used_before;
  while (pool.used_count() < pool.peak_count()) {
    TileRef tile = pool.Allocate();
    std::memset(pool.KeyPlane(tile.id(), 0), 0xFF, pool.group().tile_bytes());
    used_before.push_back(std::move(tile));
  }
}

}  // namespace

ToyModel::ToyModel(const RandomModelSpec& spec, const TileCodec* codec)
    : pool_(1), model_(LoadRandom(spec, pool_)) {
  Describe(codec);
}

ToyModel::ToyModel(const GoldenModel& golden, const TileCodec* codec)
    : pool_(1), model_(LoadGolden(golden.file, pool_)) {
  Describe(codec);
}

void ToyModel::Describe(const TileCodec* codec) {
  layout_ = model_.config().Layout(KvFormat::kF16);
  if (layout_.full) layout_.full->codec = codec;
  for (const LayerConfig& layer : model_.config().layers) layers_.push_back(layer.kv);
}

KvBudget ToyModel::Budget(const TileNeed& tiles) const {
  KvBudget budget;
  if (layout_.full) budget.full_bytes = tiles.full * layout_.full->tile_bytes();
  if (layout_.window) budget.window_bytes = tiles.window * layout_.window->tile_bytes();
  if (layout_.full && layout_.full->codec != nullptr) {
    budget.owed_bytes = tiles.owed * layout_.full->tile_bytes();  // kF16 too
  }
  return budget;
}

TileNeed ToyModel::TilesFor(uint32_t tokens) const {
  const uint32_t tiles = (tokens + kTileTokens - 1) / kTileTokens;
  const TileCodec* codec = layout_.full ? layout_.full->codec : nullptr;
  return {.full = layout_.full ? tiles : 0,
          .window = layout_.window ? std::min(tiles, layout_.window->max_window_tiles()) : 0,
          .owed = codec != nullptr ? std::min(tiles, codec->residual_tiles + 1) : 0};
}

std::vector<float> ToyModel::Run(SequenceView& view, std::span<const TokenId> tokens) {
  KvChunk chunk = OrStop(view.BeginChunk(static_cast<uint32_t>(tokens.size())));
  const ForwardSegment segment{.chunk = &chunk, .tokens = tokens, .logits = LogitsWanted::kAll};
  const std::span<const float> rows = model_.Forward(std::span(&segment, 1));
  view.Commit(std::move(chunk));
  return {rows.begin(), rows.end()};
}

std::vector<float> ToyModel::ColdLogits(std::span<const TokenId> tokens,
                                        std::span<const uint32_t> chunks) {
  const auto count = static_cast<uint32_t>(tokens.size());
  if (cold_ == nullptr || cold_->max_chunk_tokens() < count) {
    cold_ = std::make_unique<KvCache>(layout_, Budget(TilesFor(count)), count);
  }
  PoisonFreeTiles(*cold_);
  SequenceView view(*cold_);
  std::vector<float> logits;
  for (uint32_t begin = 0, turn = 0; begin < count; ++turn) {
    const uint32_t step = std::min(chunks[turn % chunks.size()], count - begin);
    const std::vector<float> rows = Run(view, tokens.subspan(begin, step));
    logits.insert(logits.end(), rows.begin(), rows.end());
    begin += step;
  }
  return logits;
}

std::vector<float> ToyModel::ColdLogits(std::span<const TokenId> tokens) {
  const auto whole = static_cast<uint32_t>(tokens.size());
  return ColdLogits(tokens, std::span(&whole, 1));
}

void PoisonFreeTiles(KvCache& cache) {
  for (TilePool* pool : {cache.full_pool(), cache.window_pool(), cache.owed_pool()}) {
    if (pool != nullptr) Poison(*pool);
  }
  for (LayerScratch* scratch : {cache.window_scratch(), cache.owed_scratch()}) {
    if (scratch == nullptr || scratch->slot_count() == 0) continue;
    std::memset(scratch->KeyPlane(0), 0xFF, scratch->bytes());
  }
}

int64_t FirstDifferentRow(std::span<const float> a, std::span<const float> b, size_t columns) {
  if (a.size() != b.size()) return 0;
  for (size_t i = 0; i < a.size(); i += columns) {
    if (std::memcmp(&a[i], &b[i], columns * sizeof(float)) != 0) {
      return static_cast<int64_t>(i / columns);
    }
  }
  return -1;
}

std::vector<TokenId> RandomTokens(size_t count, uint64_t seed, uint32_t vocab_size) {
  std::mt19937_64 random(seed);
  std::vector<TokenId> tokens;
  for (size_t i = 0; i < count; ++i) {
    tokens.emplace_back(static_cast<int32_t>(random() % vocab_size));
  }
  return tokens;
}

}  // namespace weir::test
