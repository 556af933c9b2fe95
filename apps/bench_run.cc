#include "bench_run.h"

#include <algorithm>
#include <chrono>
#include <random>

#include "loaded_model.h"

namespace weir {
namespace {

uint64_t NanosecondsSince(std::chrono::steady_clock::time_point begin) {
  const auto took = std::chrono::steady_clock::now() - begin;
  return static_cast<uint64_t>(std::chrono::nanoseconds(took).count());
}

}  // namespace

Result<BenchRun> BenchRun::Create(Model& model, const BenchTest& test, uint32_t chunk_tokens) {
  const KvNeed need{.sequence_count = test.sequence_count,
                    .tokens_each = test.TokensEach(),
                    .chunk_tokens = chunk_tokens};
  auto cache = WEIR_TRY(ReserveKvFor(model.config().Layout(KvFormat::kF16), need));
  return BenchRun(model, test, chunk_tokens, std::move(cache));
}

BenchRun::BenchRun(Model& model, const BenchTest& test, uint32_t chunk_tokens,
                   std::unique_ptr<KvCache> cache)
    : model_(model),
      test_(test),
      chunk_tokens_(chunk_tokens),
      cache_(std::move(cache)),
      tokens_(std::max({test.depth, test.prompt_tokens, test.answer_tokens})) {
  std::mt19937 random(1);
  for (TokenId& token : tokens_) {
    token = TokenId(static_cast<int32_t>(random() % model.config().vocab_size));
  }
}

Result<BenchTimes> BenchRun::Once() {
  BenchTimes times;
  std::vector<SequenceView> views;
  for (uint32_t i = 0; i < test_.sequence_count; ++i) views.emplace_back(*cache_);
  auto begin = std::chrono::steady_clock::now();
  for (SequenceView& view : views) WEIR_TRY(Read(view, test_.depth, LogitsWanted::kNone));
  times.depth_ns = NanosecondsSince(begin);
  begin = std::chrono::steady_clock::now();
  for (SequenceView& view : views) WEIR_TRY(Read(view, test_.prompt_tokens, LogitsWanted::kLast));
  for (uint32_t i = 0; i < test_.answer_tokens; ++i) WEIR_TRY(Decode(views, tokens_[i]));
  times.test_ns = NanosecondsSince(begin);
  return times;
}

Result<void> BenchRun::Read(SequenceView& view, uint32_t tokens, LogitsWanted wanted) {
  for (uint32_t begin = 0; begin < tokens;) {
    const uint32_t count = std::min(chunk_tokens_, tokens - begin);
    const bool is_last = begin + count == tokens;
    KvChunk chunk = WEIR_TRY(view.BeginChunk(count));
    const ForwardSegment segment{.chunk = &chunk,
                                 .tokens = std::span(tokens_).subspan(begin, count),
                                 .logits = is_last ? wanted : LogitsWanted::kNone};
    model_.Forward(std::span(&segment, 1));
    view.Commit(std::move(chunk));
    begin += count;
  }
  return {};
}

Result<void> BenchRun::Decode(std::span<SequenceView> views, TokenId token) {
  std::vector<KvChunk> chunks;
  for (SequenceView& view : views) chunks.push_back(WEIR_TRY(view.BeginChunk(1)));
  std::vector<ForwardSegment> segments;
  for (KvChunk& chunk : chunks) {
    segments.push_back({.chunk = &chunk, .tokens = std::span(&token, 1)});
  }
  model_.Forward(segments);
  for (size_t i = 0; i < views.size(); ++i) views[i].Commit(std::move(chunks[i]));
  return {};
}

}  // namespace weir
