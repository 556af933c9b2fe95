// A full group that is coded per tile: which form of a row a query reads follows from the two
// positions alone, so that chunks cannot change a result.
#include "support/lossy_codec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "property/toy_model.h"
#include "simd/half.h"
#include "support/attention_data.h"
#include "support/seed.h"

namespace weir::test {
namespace {

// One layer of full attention, coded by `codec`.
class CodedAttention {
 public:
  CodedAttention(const AttentionData& data, const TileCodec& codec)
      : data_(data), layout_(data.Layout()) {
    layout_.full->codec = &codec;
  }

  // [tokens, q_heads, v_dim], computed in chunks that are used in turn.
  std::vector<float> Run(std::span<const uint32_t> chunks) {
    const uint64_t bytes = layout_.FullBytes(data_.tokens());
    KvCache cache(layout_, {.full_bytes = bytes, .owed_bytes = bytes}, data_.tokens());
    PoisonFreeTiles(cache);
    SequenceView view(cache);
    std::vector<float> out(size_t{data_.tokens()} * data_.test().q_heads * data_.test().v_dim);
    for (uint32_t begin = 0, turn = 0; begin < data_.tokens(); ++turn) {
      const uint32_t count = std::min(chunks[turn % chunks.size()], data_.tokens() - begin);
      RunChunk(view, begin, count, out);
      begin += count;
    }
    return out;
  }

 private:
  void RunChunk(SequenceView& view, uint32_t begin, uint32_t count, std::vector<float>& out) {
    const AttentionCase& test = data_.test();
    const size_t k_count = size_t{test.kv_heads} * test.k_dim;
    const size_t v_count = size_t{test.kv_heads} * test.v_dim;
    auto chunk = view.BeginChunk(count);
    ASSERT_TRUE(chunk.has_value());
    for (uint32_t position = begin; position < begin + count; ++position) {
      chunk->Write(data_.Layer(), position,
                   std::span(data_.keys).subspan(position * k_count, k_count),
                   std::span(data_.values).subspan(position * v_count, v_count));
    }
    const AttentionSegment segment{
        .tiles = chunk->Tiles(data_.Layer()),
        .first_position = begin,
        .row_count = count,
        .queries = data_.queries.data() + size_t{begin} * test.q_heads * test.k_dim,
        .out = out.data() + size_t{begin} * test.q_heads * test.v_dim};
    attention_.Run(data_.Shape(), std::span(&segment, 1));
    chunk->EndLayer(data_.Layer());
    view.Commit(std::move(*chunk));
  }

  const AttentionData& data_;
  KvLayout layout_;
  ThreadPool pool_{1};
  Attention attention_{pool_};
};

// Rows in both forms and plain softmax attention over them.
class CodedReference {
 public:
  explicit CodedReference(const AttentionData& data) : data_(data) {
    const AttentionCase& test = data.test();
    const uint32_t heads = test.kv_heads;
    const size_t k_count = size_t{heads} * test.k_dim;
    const size_t v_count = size_t{heads} * test.v_dim;
    std::vector<std::byte> keys(PlaneBytes(KvFormat::kF16, heads, test.k_dim));
    std::vector<std::byte> values(PlaneBytes(KvFormat::kF16, heads, test.v_dim));
    const auto write = [&](uint32_t row, uint32_t slot) {
      WriteKeyRow(KvFormat::kF16, std::span(data.keys).subspan(row * k_count, k_count), heads,
                  test.k_dim, slot, keys.data());
      WriteValueRow(KvFormat::kF16, std::span(data.values).subspan(row * v_count, v_count), heads,
                    test.v_dim, slot, values.data());
    };
    const auto read = [&](uint32_t slot, std::vector<float>& to_keys,
                          std::vector<float>& to_values) {
      to_keys.resize(to_keys.size() + k_count);
      to_values.resize(to_values.size() + v_count);
      ReadKeyRow(KvFormat::kF16, keys.data(), heads, test.k_dim, slot,
                 std::span(to_keys).last(k_count));
      ReadValueRow(KvFormat::kF16, values.data(), heads, test.v_dim, slot,
                   std::span(to_values).last(v_count));
    };
    for (uint32_t first = 0; first < data.tokens(); first += kTileTokens) {
      const uint32_t count = std::min(kTileTokens, data.tokens() - first);
      for (uint32_t slot = 0; slot < count; ++slot) write(first + slot, slot);
      for (uint32_t slot = 0; slot < count; ++slot) read(slot, keys_, values_);
      LossyKeys(keys.data(), heads, test.k_dim, keys.data());
      LossyValues(values.data(), heads, test.v_dim, values.data());
      for (uint32_t slot = 0; slot < count; ++slot) read(slot, coded_keys_, coded_values_);
    }
  }

  // A query of head 0.. at `position`, for which tiles before `first_exact_tile` are codes.
  [[nodiscard]] std::vector<double> Row(uint32_t position, uint32_t head,
                                        uint32_t first_exact_tile) const {
    const AttentionShape shape = data_.Shape();
    const uint32_t kv_head = head / (shape.q_heads / shape.kv_heads);
    const float* query =
        data_.queries.data() + (size_t{position} * shape.q_heads + head) * shape.k_dim;
    std::vector<double> out(shape.v_dim);
    double sum = 0;
    for (uint32_t j = 0; j <= position; ++j) {
      const bool exact = j / kTileTokens >= first_exact_tile;
      const size_t row = size_t{j} * shape.kv_heads + kv_head;
      const float* key = (exact ? keys_ : coded_keys_).data() + row * shape.k_dim;
      const float* value = (exact ? values_ : coded_values_).data() + row * shape.v_dim;
      double score = 0;
      for (uint32_t d = 0; d < shape.k_dim; ++d) score += double{query[d]} * double{key[d]};
      const double weight = std::exp(score * double{shape.scale});
      sum += weight;
      for (uint32_t d = 0; d < shape.v_dim; ++d) out[d] += weight * double{value[d]};
    }
    for (double& x : out) x /= sum;
    return out;
  }

 private:
  const AttentionData& data_;
  std::vector<float> keys_, values_, coded_keys_, coded_values_;
};

TEST(LossyCode, HasSixteenLevelsBetweenSmallestAndLargest) {
  //       0   0.4   0.6   7.4   15
  // ->    0   0     1     7     15
  const std::vector<float> row = {0, 0.4F, 0.6F, 7.4F, 15};
  const std::vector<float> expected = {0, 0, 1, 7, 15};
  std::vector<std::byte> plane(PlaneBytes(KvFormat::kF16, 1, 5));
  for (uint32_t slot = 0; slot < kTileTokens; ++slot) {
    WriteValueRow(KvFormat::kF16, row, 1, 5, slot, plane.data());
  }
  LossyValues(plane.data(), 1, 5, plane.data());
  std::vector<float> out(5);
  ReadValueRow(KvFormat::kF16, plane.data(), 1, 5, 9, out);
  EXPECT_EQ(out, expected);

  // Keys: a channel's rows share the levels. Channel 1: rows 0, 0.4, 0.6, 7.4, 15, 0, 0, ...
  std::vector<std::byte> keys(PlaneBytes(KvFormat::kF16, 1, 2));
  for (uint32_t slot = 0; slot < kTileTokens; ++slot) {
    const std::vector<float> key = {3, slot < 5 ? row[slot] : 0};
    WriteKeyRow(KvFormat::kF16, key, 1, 2, slot, keys.data());
  }
  LossyKeys(keys.data(), 1, 2, keys.data());
  for (uint32_t slot = 0; slot < 5; ++slot) {
    std::vector<float> key(2);
    ReadKeyRow(KvFormat::kF16, keys.data(), 1, 2, slot, key);
    EXPECT_EQ(key, (std::vector<float>{3, expected[slot]}));
  }
}

class CodedGroup : public ::testing::TestWithParam<uint32_t> {
 protected:
  static const TileCodec& codec() { return GetParam() == 0 ? kLossyR0 : kLossyR1; }
};

INSTANTIATE_TEST_SUITE_P(R, CodedGroup, ::testing::Values(0, 1));

TEST_P(CodedGroup, GivesAQueryCodesOfTilesBeforeItsResidual) {
  WEIR_TRACE_SEED();
  const AttentionData data(
      {.q_heads = 4, .kv_heads = 2, .k_dim = 16, .v_dim = 16, .score_spread = 1}, 700, Seed());
  const CodedReference reference(data);
  const std::vector<uint32_t> chunks = {300, 1, 90};
  const std::vector<float> out = CodedAttention(data, codec()).Run(chunks);
  for (const uint32_t position : {0U, 127U, 128U, 129U, 255U, 256U, 390U, 511U, 512U, 699U}) {
    const uint32_t tile = position / kTileTokens;
    const uint32_t first_exact = tile - std::min(tile, GetParam());
    double moved = 0;  // by one tile more of codes
    for (uint32_t head = 0; head < 4; ++head) {
      const std::vector<double> expected = reference.Row(position, head, first_exact);
      const std::vector<double> other = reference.Row(position, head, first_exact + 1);
      for (uint32_t d = 0; d < 16; ++d) {
        ASSERT_NEAR(out[(size_t{position} * 4 + head) * 16 + d], expected[d], 2e-5)
            << position << " head " << head;
        moved = std::max(moved, std::abs(expected[d] - other[d]));
      }
    }
    EXPECT_TRUE(moved > 1e-4 || tile == 0) << position << ": " << moved;
  }
}

TEST_P(CodedGroup, GivesTheSameLogitsForAnyChunks) {
  WEIR_TRACE_SEED();
  const std::vector<std::vector<uint32_t>> ways = {{1},   {7},   {64},
                                                   {128}, {129}, {500, 1, 13, 128, 2}};
  for (const char* layers : {"f", "ff", "wfw", "fwwf"}) {
    ToyModel model({.layers = layers, .window = 150, .seed = Seed()}, &codec());
    const std::vector<TokenId> tokens = RandomTokens(900, Seed(), model.vocab_size());
    const std::vector<float> expected = model.ColdLogits(tokens);
    for (const auto& chunks : ways) {
      EXPECT_EQ(FirstDifferentRow(expected, model.ColdLogits(tokens, chunks), model.vocab_size()),
                -1)
          << layers << ", chunks of " << chunks.front();
    }
  }
}

TEST(CodedGroupOf, ChangesLogitsFromTheFirstQueryThatReadsCodes) {
  WEIR_TRACE_SEED();
  const RandomModelSpec spec{.layers = "fwf", .window = 40, .seed = Seed()};
  ToyModel plain(spec, nullptr);
  ToyModel coded0(spec, &kLossyR0);
  ToyModel coded1(spec, &kLossyR1);
  const std::vector<TokenId> tokens = RandomTokens(500, Seed(), plain.vocab_size());
  const std::vector<float> logits = plain.ColdLogits(tokens);
  EXPECT_EQ(FirstDifferentRow(logits, coded0.ColdLogits(tokens), plain.vocab_size()), 128);
  EXPECT_EQ(FirstDifferentRow(logits, coded1.ColdLogits(tokens), plain.vocab_size()), 256);
}

}  // namespace
}  // namespace weir::test
