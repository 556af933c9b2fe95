// Random operations on several sequences, compared with a twin that keeps every row by position.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "kv/sequence_view.h"
#include "kv/window_plan.h"
#include "support/seed.h"

namespace weir {
namespace {

constexpr uint32_t kMaxChunk = 700;

KvLayout Layout(uint32_t window) {
  return {
      .full = KvGroup{.layer_count = 2, .kv_heads = 1, .k_dim = 3, .v_dim = 2},
      .window = KvGroup{.layer_count = 3, .kv_heads = 2, .k_dim = 2, .v_dim = 3, .window = window}};
}

struct Row {
  std::vector<float> keys;
  std::vector<float> values;
};

// A sequence and all rows ever committed to it, by (group, layer) and position.
struct Twin {
  explicit Twin(KvCache& cache) : view(cache) {}
  SequenceView view;
  std::map<std::pair<KvGroupKind, uint32_t>, std::vector<Row>> rows;
};

class Machine {
 public:
  Machine(uint32_t window, uint64_t seed)
      : layout_(Layout(window)),
        // 40 full tiles of 2 * 5 * 256 bytes, 14 window tiles of 3 * 2 * 5 * 256 bytes
        cache_(layout_, {.full_bytes = 40 * 2560, .window_bytes = 14 * 7680}, kMaxChunk),
        random_(seed) {}

  void Step() {
    if (twins_.empty() || (Draw(20) == 0 && twins_.size() < 4)) twins_.emplace_back(cache_);
    if (Draw(15) == 0 && twins_.size() < 4) AdoptFrom(Draw(static_cast<uint32_t>(twins_.size())));
    const size_t index = Draw(static_cast<uint32_t>(twins_.size()));
    Twin& twin = twins_[index];
    const uint32_t tokens = Draw(2) == 0 ? 1 : 1 + Draw(Draw(2) == 0 ? 20 : kMaxChunk);
    const uint32_t full_before = cache_.full_pool()->used_count();
    const uint32_t window_before = cache_.window_pool()->used_count();
    const std::vector<uint32_t> resume = {twin.view.token_count() + 1 + Draw(tokens)};
    auto chunk =
        twin.view.BeginChunk(tokens, {.resume_positions = resume, .keep_interior = Draw(2) == 0});
    if (!chunk) {
      ASSERT_EQ(chunk.error().code, ErrorCode::kResourceExhausted);
      ASSERT_EQ(cache_.full_pool()->used_count(), full_before);
      ASSERT_EQ(cache_.window_pool()->used_count(), window_before);
      Drop(index);
      return;
    }
    const uint32_t fate = Draw(12);  // 0: dropped untouched, 1: dropped half done, else committed
    if (fate > 0) Compute(twin, *chunk, fate == 1 ? 3 : 5);
    if (fate > 1) {
      twin.view.Commit(std::move(*chunk));
      CheckKept(twin, resume.front());
    } else {
      { const KvChunk dropped = std::move(*chunk); }
      ASSERT_EQ(cache_.full_pool()->used_count(), full_before);
      ASSERT_LE(cache_.window_pool()->used_count(),
                window_before);  // what the last chunk kept goes
      for (auto& [layer, rows] : twin.rows) rows.resize(twin.view.token_count());
      if (fate == 1) Drop(index);
    }
    CheckCounts();
  }

  void DropAll() {
    twins_.clear();
    EXPECT_EQ(cache_.full_pool()->used_count(), 0U);
    EXPECT_EQ(cache_.window_pool()->used_count(), 0U);
    EXPECT_EQ(cache_.window_scratch()->free_count(), cache_.window_scratch()->slot_count());
  }

 private:
  uint32_t Draw(uint32_t below) { return static_cast<uint32_t>(random_() % below); }

  void Drop(size_t index) { twins_.erase(twins_.begin() + static_cast<ptrdiff_t>(index)); }

  // A new sequence with the tiles of twins_[index] at one of its last positions.
  void AdoptFrom(size_t index) {
    const uint32_t count = twins_[index].view.token_count();
    const uint32_t position = count - std::min(count, Draw(130));
    PrefixTiles prefix{.position = position, .tiles = {}};
    const TileRange live = LiveWindowTiles(layout_.window->window, position);
    for (uint32_t tile = 0; tile * 128 < position; ++tile) {
      prefix.tiles.push_back(twins_[index].view.TilesAt(tile));
      if (live.Contains(tile) && !prefix.tiles.back().window) return;  // no longer kept
    }
    twins_.emplace_back(cache_);
    if (!twins_.back().view.Adopt(std::move(prefix))) {
      twins_.pop_back();
      return;
    }
    twins_.back().rows = twins_[index].rows;
    for (auto& [layer, rows] : twins_.back().rows) rows.resize(position);
    CheckCounts();
  }

  // Decoding from `position` could resume: its window tiles are lent, with the rows written, unless
  // the pool was full.
  void CheckKept(Twin& twin, uint32_t position) {
    const TileRange live = LiveWindowTiles(layout_.window->window, position);
    for (uint32_t tile = live.first; tile < live.end; ++tile) {
      const NodeTiles tiles = twin.view.TilesAt(tile);
      if (!tiles.window) {
        ASSERT_LT(cache_.window_pool()->free_count(), 14U - 2);  // there was a reason
        continue;
      }
      for (uint32_t layer = 0; layer < layout_.window->layer_count; ++layer) {
        const TilePlanes planes{cache_.window_pool()->KeyPlane(tiles.window.id(), layer),
                                cache_.window_pool()->ValuePlane(tiles.window.id(), layer)};
        const uint32_t end = std::min(twin.view.token_count(), (tile + 1) * 128);
        const auto& rows = twin.rows[{KvGroupKind::kWindow, layer}];
        for (uint32_t j = tile * 128; j < end; ++j) {
          ASSERT_EQ(KeysOf(planes, *layout_.window, j % 128), rows[j].keys) << "position " << j;
        }
      }
    }
  }

  // Layers in an order that mixes the groups; stops after `layers` of 5.
  void Compute(Twin& twin, KvChunk& chunk, uint32_t layers) {
    constexpr KvLayer kOrder[] = {{KvGroupKind::kWindow, 0},
                                  {KvGroupKind::kFull, 0},
                                  {KvGroupKind::kWindow, 1},
                                  {KvGroupKind::kWindow, 2},
                                  {KvGroupKind::kFull, 1}};
    for (uint32_t i = 0; i < layers; ++i) {
      const KvLayer layer = kOrder[i];
      auto& rows = twin.rows[{layer.group, layer.index}];
      rows.resize(chunk.begin());
      for (uint32_t position = chunk.begin(); position < chunk.end(); ++position) {
        rows.push_back(RandomRow(GroupOf(layer)));
        chunk.Write(layer, position, rows.back().keys, rows.back().values);
      }
      CheckRows(rows, chunk, layer);
      chunk.EndLayer(layer);
    }
  }

  const KvGroup& GroupOf(KvLayer layer) const {
    return layer.group == KvGroupKind::kFull ? *layout_.full : *layout_.window;
  }

  // Small integers: exact in f16, so rows compare with ==.
  Row RandomRow(const KvGroup& group) {
    Row row{std::vector<float>(group.kv_heads * group.k_dim),
            std::vector<float>(group.kv_heads * group.v_dim)};
    for (float& x : row.keys) x = static_cast<float>(Draw(2001)) - 1000;
    for (float& x : row.values) x = static_cast<float>(Draw(2001)) - 1000;
    return row;
  }

  // Every row that a query of the chunk sees is the one written, wherever it lives.
  void CheckRows(const std::vector<Row>& rows, KvChunk& chunk, KvLayer layer) {
    const KvGroup& group = GroupOf(layer);
    const TileTable table = chunk.Tiles(layer);
    ASSERT_EQ(table.first_tile + table.tiles.size(), (chunk.end() + 127) / 128);
    const uint32_t window = layer.group == KvGroupKind::kFull ? UINT32_MAX : group.window;
    for (uint32_t j = 0; j < chunk.end(); ++j) {
      if (chunk.begin() >= window && j <= chunk.begin() - window) continue;
      ASSERT_GE(j / 128, table.first_tile);
      const TilePlanes& planes = table.tiles[j / 128 - table.first_tile];
      ASSERT_EQ(KeysOf(planes, group, j % 128), rows[j].keys) << "position " << j;
      ASSERT_EQ(ValuesOf(planes, group, j % 128), rows[j].values) << "position " << j;
    }
  }

  static std::vector<float> KeysOf(const TilePlanes& planes, const KvGroup& group, uint32_t slot) {
    std::vector<float> row(size_t{group.kv_heads} * group.k_dim);
    ReadKeyRow(group.format, planes.keys, group.kv_heads, group.k_dim, slot, row);
    return row;
  }

  static std::vector<float> ValuesOf(const TilePlanes& planes, const KvGroup& group,
                                     uint32_t slot) {
    std::vector<float> row(size_t{group.kv_heads} * group.v_dim);
    ReadValueRow(group.format, planes.values, group.kv_heads, group.v_dim, slot, row);
    return row;
  }

  void CheckCounts() {
    uint32_t full = 0;
    uint32_t window = 0;
    for (const Twin& twin : twins_) {
      full += twin.view.full_tile_count();
      window += twin.view.window_tile_count();
      EXPECT_EQ(twin.view.full_tile_count(), (twin.view.token_count() + 127) / 128);
      EXPECT_LE(twin.view.window_tile_count(), layout_.window->max_window_tiles());
    }
    // Adopted tiles count once; the last chunk of each sequence may have kept window tiles.
    ASSERT_LE(cache_.full_pool()->used_count(), full);
    ASSERT_LE(cache_.window_pool()->used_count(), window + 14);
  }

  KvLayout layout_;
  KvCache cache_;
  std::mt19937_64 random_;
  std::vector<Twin> twins_;
};

class RandomSequences : public testing::TestWithParam<uint32_t> {};

TEST_P(RandomSequences, SeeTheRowsThatWereWrittenAndOwnNoMoreThanTheyShould) {
  WEIR_TRACE_SEED();
  Machine machine(GetParam(), test::Seed() + GetParam());
  for (int step = 0; step < 400; ++step) {
    machine.Step();
    if (HasFatalFailure()) FAIL() << "at step " << step;
  }
  machine.DropAll();
}

INSTANTIATE_TEST_SUITE_P(Windows, RandomSequences, testing::Values(1, 2, 100, 128, 129, 300, 512),
                         [](const auto& test) { return fmt::format("W{}", test.param); });

}  // namespace
}  // namespace weir
