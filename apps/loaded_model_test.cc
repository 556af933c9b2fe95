#include "loaded_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/model_runner.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class KvOfALoadedModel : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.model = testing::GoldenModelPath("gemma3-w48-seed1.gguf");
    options_.threads = 1;
    auto loaded = LoadModel(options_);
    ASSERT_TRUE(loaded) << loaded.error().message;
    loaded_ = *std::move(loaded);
  }

  ModelOptions options_;
  std::unique_ptr<LoadedModel> loaded_;
};

TEST_F(KvOfALoadedModel, IsRefusedAboveTheMachinesMemory) {
  options_.kv_memory = "100T";
  const auto memory = ReserveKv(*loaded_, options_, 64);
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(memory.error().message, HasSubstr("100.0 TiB of KV memory"));
  const auto cache = ReserveKvFor(loaded_->model.config().Layout(KvFormat::kF16),
                                  {.tokens_each = uint64_t{1} << 40, .chunk_tokens = 64});
  ASSERT_FALSE(cache);
  EXPECT_EQ(cache.error().code, ErrorCode::kInvalidArgument);
}

TEST_F(KvOfALoadedModel, BoundsTheContext) {
  options_.kv_memory = "1M";
  const auto memory = ReserveKv(*loaded_, options_, 64);
  ASSERT_TRUE(memory) << memory.error().message;
  EXPECT_GT(memory->context_tokens, 0U);
  options_.context_tokens = 1U << 30;
  const auto refused = ReserveKv(*loaded_, options_, 64);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("1073741824"), HasSubstr("1.00 MiB")));
}

TEST_F(KvOfALoadedModel, IsSplitAsAskedFor) {
  options_.kv_memory = "4M";
  options_.context_tokens = 128;
  const KvLayout layout = loaded_->model.config().Layout(KvFormat::kF16);
  for (const double share : {0.25, 0.75}) {
    options_.kv_window_share = share;
    const auto memory = ReserveKv(*loaded_, options_, 64);
    ASSERT_TRUE(memory) << memory.error().message;
    const auto window_bytes = static_cast<uint64_t>(share * (4 << 20));
    EXPECT_EQ(memory->cache->window_pool()->tile_count(),
              window_bytes / layout.window->tile_bytes());
  }
}

TEST_F(KvOfALoadedModel, TakesAnotherWindowWithAWarning) {
  const std::string own = CacheFingerprint(*loaded_, options_);
  EXPECT_EQ(loaded_->file_window, 48U);
  options_.overrides.window = 200;
  ::testing::internal::CaptureStderr();
  auto loaded = LoadModel(options_);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("weir: window 200 instead of the model's 48: "));
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ((*loaded)->file_window, 48U);
  options_.kv_memory = "1M";
  const auto memory = ReserveKv(**loaded, options_, 64);
  ASSERT_TRUE(memory) << memory.error().message;
  EXPECT_EQ(memory->cache->layout().window->window, 200U);
  EXPECT_NE(CacheFingerprint(**loaded, options_), own);
  EXPECT_EQ(CacheFingerprint(*loaded_, options_), own);
  ModelOptions other = options_;
  other.kv_format = KvFormat::kF32;
  EXPECT_NE(CacheFingerprint(*loaded_, other), own);
}

TEST_F(KvOfALoadedModel, ForOneSequenceHoldsItAndNoTileMore) {
  const auto cache = ReserveKvFor(loaded_->model.config().Layout(KvFormat::kF16),
                                  {.tokens_each = 129, .chunk_tokens = 64});
  ASSERT_TRUE(cache) << cache.error().message;
  EXPECT_EQ((*cache)->MaxSequenceTokens(), 256U);
}

}  // namespace
}  // namespace weir
