// Many requests at once, through the engine.
#include "engine/step_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <future>
#include <numeric>
#include <random>

#include "support/engine_fakes.h"
#include "support/seed.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

EngineOptions Options() {
  return {.context_tokens = 4000,
          .chunk_tokens = 64,
          .step_target = std::chrono::hours(1),
          .max_step = std::chrono::hours(1)};
}

GenerationRequest Stranger(std::string name_space, uint32_t prompt_tokens, uint64_t max_tokens) {
  GenerationRequest request = Request(prompt_tokens, max_tokens);
  request.cache_namespace = std::move(name_space);
  return request;
}

// A model that notes what each forward pass computed, and waits at a gate before it.
struct WatchedModel : FakeModel {
  std::counting_semaphore<> arrived{0}, may_pass{0};
  std::vector<std::vector<uint32_t>> passes;  // tokens of each segment

  ForwardFunction function() {
    return [this, forward = FakeModel::function()](std::span<const ForwardSegment> segments) {
      arrived.release();
      may_pass.acquire();
      std::vector<uint32_t> tokens;
      for (const ForwardSegment& segment : segments) {
        tokens.push_back(static_cast<uint32_t>(segment.tokens.size()));
      }
      passes.push_back(tokens);
      return forward(segments);
    };
  }
  void OpenForGood() { may_pass.release(1'000'000); }
  uint64_t computed() const {
    uint64_t sum = 0;
    for (const auto& pass : passes) {
      for (const uint32_t tokens : pass) sum += tokens;
    }
    return sum;
  }
};

TEST(StepLoop, AStepHasADecodeRowOfEachThatAnswersAndPrefillChunksOfTheRest) {
  WatchedModel model;
  Engine engine(model.function(), kVocab, MakeCache(40, 64, 20), Options());
  Recorder first, second, third;
  ASSERT_TRUE(engine.Submit(Stranger("a", 10, 4), first.sink()));
  model.arrived.acquire();  // the step of the first alone
  ASSERT_TRUE(engine.Submit(Stranger("b", 100, 2), second.sink()));
  ASSERT_TRUE(engine.Submit(Stranger("c", 20, 3), third.sink()));
  model.OpenForGood();
  for (Recorder* recorder : {&first, &second, &third}) {
    EXPECT_EQ(recorder->Reason(), FinishReason::kLength);
  }
  EXPECT_EQ(first.Tokens(), ExpectedAnswer(10, 4));
  EXPECT_EQ(second.Tokens(), ExpectedAnswer(100, 2));
  EXPECT_EQ(third.Tokens(), ExpectedAnswer(20, 3));
  // 64 prefill tokens a step: the oldest prompt's, then the rest of the other.
  EXPECT_THAT(model.passes, ElementsAre(ElementsAre(10), ElementsAre(1, 64), ElementsAre(1, 36, 20),
                                        ElementsAre(1, 1, 1), ElementsAre(1)));
  ExpectIdle(engine);
}

TEST(StepLoop, AShortPromptIsNotDraggedByALongOne) {
  WatchedModel model;
  EngineOptions options = Options();
  options.step_target = options.max_step = std::chrono::milliseconds(1000);
  std::atomic<int64_t> now_ms = 0;  // 10 ms a token
  options.now = [&] { return TimePoint(std::chrono::milliseconds(now_ms)); };
  model.before_step = [&](const ForwardSegment& segment) {
    now_ms += 10 * static_cast<int64_t>(segment.tokens.size());
  };
  Engine engine(model.function(), kVocab, MakeCache(60, 64, 20), options);
  Recorder longer, shorter;
  std::atomic<bool> short_came_first = false;
  ASSERT_TRUE(engine.Submit(Stranger("a", 3000, 1), longer.sink()));
  model.arrived.acquire();
  const auto sink = [&, sink = shorter.sink()](GenerationEvent event) {
    if (std::holds_alternative<PromptEvent>(event)) short_came_first = longer.Prompts().empty();
    sink(std::move(event));
  };
  ASSERT_TRUE(engine.Submit(Stranger("b", 100, 1), sink));
  model.OpenForGood();
  EXPECT_EQ(shorter.Reason(), FinishReason::kLength);
  EXPECT_EQ(longer.Reason(), FinishReason::kLength);
  EXPECT_TRUE(short_came_first);
  EXPECT_EQ(longer.Tokens(), ExpectedAnswer(3000, 1));
  ExpectIdle(engine);
}

TEST(StepLoop, PrefillAddsNoMoreThanItsTimeToAStepInWhichOthersDecode) {
  WatchedModel model;
  EngineOptions options = Options();
  options.chunk_tokens = 64;
  options.step_target = std::chrono::milliseconds(700);
  options.max_step = std::chrono::milliseconds(350);
  std::atomic<int64_t> now_ms = 0;
  options.now = [&] { return TimePoint(std::chrono::milliseconds(now_ms)); };
  model.before_step = [&](const ForwardSegment& segment) {
    now_ms += 10 * static_cast<int64_t>(segment.tokens.size());
  };
  Engine engine(model.function(), kVocab, MakeCache(60, 64, 20), options);
  Recorder answering, reading;
  ASSERT_TRUE(engine.Submit(Stranger("a", 64, 8), answering.sink()));
  model.arrived.acquire();
  ASSERT_TRUE(engine.Submit(Stranger("b", 300, 1), reading.sink()));
  model.OpenForGood();
  EXPECT_EQ(answering.Reason(), FinishReason::kLength);
  EXPECT_EQ(reading.Reason(), FinishReason::kLength);
  // 10 ms a token: 32 tokens beside the decode row, 64 without.
  for (size_t i = 1; i + 1 < model.passes.size(); ++i) {
    const auto& pass = model.passes[i];
    const bool is_alone = pass.size() == 1;
    EXPECT_EQ(pass.back(), is_alone ? 64U : 32U) << "step " << i;
  }
  EXPECT_THAT(model.passes[1], ElementsAre(1, 32));
}

TEST(StepLoop, ABurstWithTheSameNewPrefixComputesItOnce) {
  constexpr uint32_t kPrefix = 3000;
  WatchedModel model;
  Engine engine(model.function(), kVocab, MakeCache(200, 64, 60), Options());
  std::array<Recorder, 8> recorders;
  for (uint32_t i = 0; i < recorders.size(); ++i) {
    GenerationRequest request = Request(kPrefix + 20, 1);
    request.prompt[kPrefix] = TokenId(static_cast<int32_t>(i));  // each parts there
    ASSERT_TRUE(engine.Submit(request, recorders[i].sink()));
  }
  model.OpenForGood();
  for (Recorder& recorder : recorders) EXPECT_EQ(recorder.Reason(), FinishReason::kLength);
  EXPECT_LE(model.computed(), kPrefix + 8 * 20);
  EXPECT_EQ(engine.stats().computed_tokens, model.computed());
  EXPECT_EQ(engine.stats().early_shares, 7U);
  ExpectIdle(engine);
}

TEST(StepLoop, WhenTheReaderOfASharedPrefixIsCancelledAnotherReadsOn) {
  WatchedModel model;
  Engine engine(model.function(), kVocab, MakeCache(200, 64, 60), Options());
  std::array<Recorder, 3> recorders;
  std::array<RequestId, 3> ids;
  for (uint32_t i = 0; i < recorders.size(); ++i) {
    ids[i] = *engine.Submit(Request(2000, 2), recorders[i].sink());
  }
  for (int step = 0; step < 10; ++step) {
    model.may_pass.release();
    model.arrived.acquire();
  }
  engine.Cancel(ids[0]);
  model.OpenForGood();
  EXPECT_EQ(recorders[0].Reason(), FinishReason::kCancelled);
  for (const size_t i : {1, 2}) {
    EXPECT_EQ(recorders[i].Reason(), FinishReason::kLength);
    EXPECT_EQ(recorders[i].Tokens(), ExpectedAnswer(2000, 2));
  }
  // What the first had computed is not computed again, up to the tail of its last tile.
  EXPECT_LE(model.computed(), 2000U + 4);
  ExpectIdle(engine);
}

TEST(StepLoop, FourRequestsOfSixtyPercentOfThePoolAllFinish) {
  FakeModel model;
  Engine engine(model.function(), kVocab, MakeCache(20, 64, 8), Options());  // 2,560 positions
  std::array<Recorder, 4> recorders;
  for (uint32_t i = 0; i < recorders.size(); ++i) {
    ASSERT_TRUE(engine.Submit(Stranger(std::to_string(i), 1500, 40), recorders[i].sink()));
  }
  for (Recorder& recorder : recorders) {
    EXPECT_EQ(recorder.Reason(), FinishReason::kLength);
    EXPECT_EQ(recorder.Tokens(), ExpectedAnswer(1500, 40));
  }
  ExpectIdle(engine);
}

TEST(StepLoop, AnswersThatOutgrowTheirMemorySuspendTheLastToArriveWhichGoesOnLater) {
  FakeModel model;
  // 16 tiles; each begins with 100 + 512 promised (5 tiles) and comes to 1,300 tokens (11 tiles).
  Engine engine(model.function(), kVocab, MakeCache(16, 64, 12), Options());
  std::array<Recorder, 3> recorders;
  for (uint32_t i = 0; i < recorders.size(); ++i) {
    ASSERT_TRUE(engine.Submit(Stranger(std::to_string(i), 100, 1200), recorders[i].sink()));
  }
  for (Recorder& recorder : recorders) {
    EXPECT_EQ(recorder.Reason(), FinishReason::kLength);
    EXPECT_EQ(recorder.Tokens(), ExpectedAnswer(100, 1200));
    EXPECT_EQ(recorder.Prompts().size(), 1U);
  }
  EXPECT_GT(engine.stats().preemptions, 0U);
  // The oldest takes the cached tiles of the suspended ones in the end; part of the work is redone.
  EXPECT_LT(engine.stats().recomputed_tokens, 3U * 1300U);
  EXPECT_EQ(engine.stats().generated_tokens, 3U * 1200U);
  ExpectIdle(engine);
}

// The younger one needs a tile when none is left. What it has computed stays whole as cache, its
// window too: when there is room again it goes on where it was.
TEST(StepLoop, WhoRunsOutOfFullTilesLosesNothingThatOthersDoNotNeed) {
  FakeModel model;
  // After 552 answer tokens the first has 6 tiles and the second, at its ninth tile's end, 9.
  Engine engine(model.function(), kVocab, MakeCache(15, 64, 12), Options());
  Recorder first, second;
  ASSERT_TRUE(engine.Submit(Stranger("a", 100, 600), first.sink()));
  ASSERT_TRUE(engine.Submit(Stranger("b", 600, 800), second.sink()));
  EXPECT_EQ(first.Reason(), FinishReason::kLength);
  EXPECT_EQ(second.Reason(), FinishReason::kLength);
  EXPECT_EQ(second.Tokens(), ExpectedAnswer(600, 800));
  EXPECT_EQ(engine.stats().preemptions, 1U);
  EXPECT_LE(engine.stats().recomputed_tokens, 1U);
  ExpectIdle(engine);
}

// A prompt that ends with a tile which the cache has takes a copy of it, for its last token.
TEST(StepLoop, ATileThatWillBeCopiedIsCountedBeforeARequestBegins) {
  WatchedModel model;
  Engine engine(model.function(), kVocab, MakeCache(5, 64, 12), Options());
  Recorder answering, reading;
  ASSERT_TRUE(engine.Submit(Request(256, 300), answering.sink()));
  for (int step = 0; step < 4 + 270; ++step) {  // until it has all five tiles
    model.may_pass.release();
    model.arrived.acquire();
  }
  ASSERT_TRUE(engine.Submit(Request(256, 0), reading.sink()));
  model.OpenForGood();
  EXPECT_EQ(answering.Reason(), FinishReason::kLength);
  EXPECT_EQ(reading.Reason(), FinishReason::kLength);
  EXPECT_EQ(engine.stats().preemptions, 0U);
  ExpectIdle(engine);
}

TEST(StepLoop, NobodyWaitsForAPrefixThatAFlushForgot) {
  WatchedModel model;
  Engine engine(model.function(), kVocab, MakeCache(200, 64, 60), Options());
  Recorder first, second;
  ASSERT_TRUE(engine.Submit(Request(2000, 1), first.sink()));
  for (int step = 0; step < 5; ++step) {
    model.may_pass.release();
    model.arrived.acquire();
  }
  std::promise<void> flushed;
  engine.FlushCache([&](uint64_t) { flushed.set_value(); });
  model.may_pass.release();
  flushed.get_future().wait();            // between two steps
  for (int step = 0; step < 4; ++step) {  // until its next whole tile finds nobody to belong to
    model.may_pass.release();
    model.arrived.acquire();
  }
  ASSERT_TRUE(engine.Submit(Request(2000, 1), second.sink()));
  model.OpenForGood();
  EXPECT_EQ(first.Reason(), FinishReason::kLength);
  EXPECT_EQ(second.Reason(), FinishReason::kLength);
  EXPECT_EQ(engine.stats().early_shares, 0U);
  ExpectIdle(engine);
}

// Prompts that want every row's logits share a step's room for them.
TEST(StepLoop, PromptLogprobsOfManyTakeNoMoreRowsAStepThanOfOne) {
  WatchedModel model;
  Engine engine(model.function(), kVocab, MakeCache(60, 64, 20), Options());
  std::array<Recorder, 3> recorders;
  for (uint32_t i = 0; i < recorders.size(); ++i) {
    GenerationRequest request = Stranger(std::to_string(i), 100, 1);
    request.prompt_logprobs = true;
    request.top_logprobs = 1;
    ASSERT_TRUE(engine.Submit(request, recorders[i].sink()));
  }
  model.OpenForGood();
  for (Recorder& recorder : recorders) EXPECT_EQ(recorder.Reason(), FinishReason::kLength);
  for (const auto& pass : model.passes) {
    EXPECT_LE(std::accumulate(pass.begin(), pass.end(), 0U), 32U);
  }
  EXPECT_EQ(model.computed(), 300U);
  ExpectIdle(engine);
}

TEST(StepLoop, WindowsLimitHowManyRunAtOnce) {
  FakeModel model;
  std::atomic<uint32_t> most = 0;
  Engine engine(
      [&, forward = model.function()](std::span<const ForwardSegment> segments) {
        most = std::max<uint32_t>(most, static_cast<uint32_t>(segments.size()));
        return forward(segments);
      },
      kVocab, MakeCache(100, 64, 5), Options());  // 2 window tiles each: two fit
  std::array<Recorder, 5> recorders;
  for (uint32_t i = 0; i < recorders.size(); ++i) {
    ASSERT_TRUE(engine.Submit(Stranger(std::to_string(i), 300, 60), recorders[i].sink()));
  }
  for (Recorder& recorder : recorders) {
    EXPECT_EQ(recorder.Reason(), FinishReason::kLength);
    EXPECT_EQ(recorder.Tokens(), ExpectedAnswer(300, 60));
  }
  EXPECT_LE(most, 2U);
  ExpectIdle(engine);
}

TEST(StepLoop, ARequestThatHasWaitedTooLongFailsAndSaysSo) {
  WatchedModel model;
  EngineOptions options = Options();
  options.max_sequences = 1;
  options.queue_timeout = std::chrono::seconds(30);
  std::atomic<int64_t> now_s = 0;
  options.now = [&] { return TimePoint(std::chrono::seconds(now_s)); };
  Engine engine(model.function(), kVocab, MakeCache(20, 64), options);
  Recorder running, waiting;
  ASSERT_TRUE(engine.Submit(Stranger("a", 10, 3), running.sink()));
  model.arrived.acquire();
  ASSERT_TRUE(engine.Submit(Stranger("b", 10, 3), waiting.sink()));
  model.may_pass.release();
  model.arrived.acquire();  // it is known to wait since 0 s
  now_s = 31;
  model.OpenForGood();
  const GenerationEvent last = waiting.Last();
  const auto* error = std::get_if<Error>(&last);
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(error->code, ErrorCode::kUnavailable);
  EXPECT_THAT(error->message, HasSubstr("waited 30 s"));
  EXPECT_EQ(running.Reason(), FinishReason::kLength);
  EXPECT_EQ(engine.stats().timed_out, 1U);
  ExpectIdle(engine);
}

TEST(StepLoop, WaitingRequestsAreCountedByBucket) {
  WatchedModel model;
  EngineOptions options = Options();
  options.max_sequences = 1;
  options.buckets = *LengthBuckets::Parse("100,1000");
  Engine engine(model.function(), kVocab, MakeCache(20, 64), options);
  std::array<Recorder, 4> recorders;
  uint32_t i = 0;
  for (const uint32_t prompt : {10U, 50U, 500U, 1500U}) {
    ASSERT_TRUE(engine.Submit(Stranger(std::to_string(prompt), prompt, 2), recorders[i++].sink()));
  }
  model.arrived.acquire();
  model.may_pass.release();
  model.arrived.acquire();
  const EngineStats& stats = engine.stats();
  EXPECT_EQ(stats.waiting_by_bucket[0] + stats.waiting_by_bucket[1] + stats.waiting_by_bucket[2],
            3U);
  EXPECT_EQ(stats.waiting_by_bucket[1], 1U);
  EXPECT_EQ(stats.waiting_by_bucket[2], 1U);
  model.OpenForGood();
  for (Recorder& recorder : recorders) EXPECT_EQ(recorder.Reason(), FinishReason::kLength);
}

// Requests of all lengths that share prefixes, in pools that hold few of them, cancelled at random:
// whoever is not cancelled is answered as if alone, and nothing is left behind.
TEST(StepLoop, RandomArrivalsAndCancelsChangeNoAnswer) {
  WEIR_TRACE_SEED();
  for (uint32_t run = 0; run < 4; ++run) {
    std::mt19937 random(test::Seed() + run);
    FakeModel model;
    EngineOptions options = Options();
    options.max_sequences = 1 + random() % 8;
    options.queue_capacity = 1000;
    options.chunk_tokens = 64;
    options.policy = random() % 2 == 0 ? QueuePolicy::kBuckets : QueuePolicy::kFifo;
    Engine engine(model.function(), kVocab, MakeCache(12 + random() % 20, 64, 2 + random() % 12),
                  options);
    struct Sent {
      Recorder recorder;
      RequestId id;
      uint32_t prompt_tokens = 0;
      uint32_t answer_tokens = 0;
      bool is_cancelled = false;
    };
    std::deque<Sent> sent;
    for (int i = 0; i < 150; ++i) {
      Sent& request = sent.emplace_back();
      request.prompt_tokens = 1 + random() % (random() % 3 == 0 ? 1200 : 200);
      request.answer_tokens = random() % 4 == 0 ? random() % 250 : random() % 10;
      request.id = *engine.Submit(
          Stranger(std::to_string(random() % 3), request.prompt_tokens, request.answer_tokens),
          request.recorder.sink());
      if (random() % 3 == 0) {
        Sent& victim = sent[random() % sent.size()];
        victim.is_cancelled = true;
        engine.Cancel(victim.id);
      }
      if (random() % 10 == 0) (void)request.recorder.Last();
      if (random() % 40 == 0) Flush(engine);
    }
    for (Sent& request : sent) {
      const FinishReason reason = request.recorder.Reason();
      if (reason == FinishReason::kCancelled) {
        EXPECT_TRUE(request.is_cancelled);
      } else {
        EXPECT_EQ(request.recorder.Tokens(),
                  ExpectedAnswer(request.prompt_tokens, request.answer_tokens))
            << "engine " << run;
      }
    }
    ExpectIdle(engine);
  }
}

}  // namespace
}  // namespace weir
