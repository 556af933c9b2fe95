#include "engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <future>
#include <random>
#include <thread>

#include "support/engine_fakes.h"
#include "support/seed.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// One at a time; many at once are in step_loop_test.cc.
const EngineOptions kOptions{
    .context_tokens = 1000, .chunk_tokens = 64, .max_sequences = 1, .queue_capacity = 2};

TEST(Engine, AnswersWithTheModelsTokensAndTheirSources) {
  FakeModel model;
  Engine engine(model.function(), kVocab, MakeCache(10, 64), kOptions);
  Recorder recorder;
  ASSERT_TRUE(engine.Submit(Request(200, 300), recorder.sink()));
  EXPECT_EQ(recorder.Reason(), FinishReason::kLength);
  EXPECT_EQ(recorder.Tokens(), ExpectedAnswer(200, 300));
  ASSERT_EQ(recorder.Prompts().size(), 1U);
  EXPECT_EQ(recorder.Prompts()[0].sources.computed, 200U);
  EXPECT_EQ(engine.stats().prompt_tokens, 200U);
  EXPECT_EQ(engine.stats().computed_tokens, 200U);
  EXPECT_EQ(engine.stats().generated_tokens, 300U);
  EXPECT_EQ(engine.stats().finished_length, 1U);
  ExpectIdle(engine);
}

TEST(Engine, AReturningPromptComputesItsLastTokenOnly) {
  FakeModel model;
  Engine engine(model.function(), kVocab, MakeCache(20, 64), kOptions);
  Recorder first, again, other, flushed;
  ASSERT_TRUE(engine.Submit(Request(200, 20), first.sink()));
  EXPECT_EQ(first.Reason(), FinishReason::kLength);
  ASSERT_TRUE(engine.Submit(Request(200, 20), again.sink()));
  EXPECT_EQ(again.Reason(), FinishReason::kLength);
  EXPECT_EQ(again.Tokens(), first.Tokens());
  EXPECT_EQ(again.Prompts()[0].sources.device, 199U);
  EXPECT_EQ(again.Prompts()[0].sources.computed, 1U);
  EXPECT_EQ(engine.stats().device_tokens, 199U);
  EXPECT_EQ(engine.stats().began_at_resume_point, 1U);

  GenerationRequest stranger = Request(200, 5);
  stranger.cache_namespace = "another";
  ASSERT_TRUE(engine.Submit(stranger, other.sink()));
  EXPECT_EQ(other.Reason(), FinishReason::kLength);
  EXPECT_EQ(other.Prompts()[0].sources.computed, 200U);

  EXPECT_GT(Flush(engine), 0U);
  ASSERT_TRUE(engine.Submit(Request(200, 5), flushed.sink()));
  EXPECT_EQ(flushed.Reason(), FinishReason::kLength);
  EXPECT_EQ(flushed.Prompts()[0].sources.computed, 200U);
  EXPECT_EQ(Describe(engine).conversations.size(), 1U);
  ExpectIdle(engine);
}

TEST(Engine, ReadsThePromptInChunksAndWantsLogitsOnlyOfItsEnd) {
  FakeModel model;
  std::vector<std::pair<uint32_t, LogitsWanted>> steps;
  model.before_step = [&](const ForwardSegment& segment) {
    steps.emplace_back(static_cast<uint32_t>(segment.tokens.size()), segment.logits);
  };
  Engine engine(model.function(), kVocab, MakeCache(10, 64),
                {.context_tokens = 1000, .chunk_tokens = 64, .step_target = std::chrono::hours(1)});
  Recorder recorder;
  ASSERT_TRUE(engine.Submit(Request(150, 2), recorder.sink()));
  EXPECT_EQ(recorder.Reason(), FinishReason::kLength);
  EXPECT_THAT(steps,
              ElementsAre(std::pair(64U, LogitsWanted::kNone), std::pair(64U, LogitsWanted::kNone),
                          std::pair(22U, LogitsWanted::kLast), std::pair(1U, LogitsWanted::kLast)));
}

TEST(Engine, AnEndTokenStopsTheAnswerAndIsNotPartOfIt) {
  FakeModel model;
  model.end_after_position = 12;
  Engine engine(model.function(), kVocab, MakeCache(10, 64), kOptions);
  // prompt positions 0..9; the answer's tokens at 10, 11, 12 are drawn from rows 9, 10, 11
  Recorder plain, at_least_five, never;
  ASSERT_TRUE(engine.Submit(Request(10, 20), plain.sink()));
  EXPECT_EQ(plain.Reason(), FinishReason::kStop);
  EXPECT_EQ(plain.Tokens(), ExpectedAnswer(10, 3));

  GenerationRequest request = Request(10, 20);
  request.min_tokens = 5;
  ASSERT_TRUE(engine.Submit(request, at_least_five.sink()));
  EXPECT_EQ(at_least_five.Reason(), FinishReason::kStop);
  EXPECT_EQ(at_least_five.Tokens(), ExpectedAnswer(10, 5));

  request.ignore_eos = true;
  ASSERT_TRUE(engine.Submit(request, never.sink()));
  EXPECT_EQ(never.Reason(), FinishReason::kLength);
  EXPECT_EQ(never.Tokens(), ExpectedAnswer(10, 20));
  EXPECT_EQ(engine.stats().finished_stop, 2U);
}

TEST(Engine, PromptAndAnswerTogetherFillTheContextAtMost) {
  FakeModel model;
  Engine engine(model.function(), kVocab, MakeCache(10, 64), kOptions);
  Recorder some, one, none;
  ASSERT_TRUE(engine.Submit(Request(970, ~uint64_t{0}), some.sink()));
  EXPECT_EQ(some.Reason(), FinishReason::kLength);
  EXPECT_EQ(some.Tokens().size(), 30U);
  ASSERT_TRUE(engine.Submit(Request(999, 5), one.sink()));
  EXPECT_EQ(one.Reason(), FinishReason::kLength);
  EXPECT_EQ(one.Tokens().size(), 1U);
  ASSERT_TRUE(engine.Submit(Request(1000, 0), none.sink()));
  EXPECT_EQ(none.Reason(), FinishReason::kLength);
  EXPECT_EQ(none.Tokens().size(), 0U);
  EXPECT_EQ(none.Prompts().size(), 1U);
}

TEST(Engine, RefusesWhatCannotBeServedAndNamesTheNumbers) {
  FakeModel model;
  Engine engine(model.function(), kVocab, MakeCache(10, 64), kOptions);
  const auto refusal = [&](GenerationRequest request) {
    const auto id = engine.Submit(std::move(request), [](const GenerationEvent&) { FAIL(); });
    EXPECT_FALSE(id);
    return id ? Error{} : id.error();
  };
  EXPECT_THAT(refusal(Request(1000, 1)).message, HasSubstr("1000 tokens"));
  EXPECT_THAT(refusal(Request(1234, 5)).message,
              testing::AllOf(HasSubstr("1234"), HasSubstr("1000")));
  EXPECT_EQ(refusal(Request(0, 5)).code, ErrorCode::kInvalidArgument);
  for (const int32_t id : {-1, 32, INT32_MAX, INT32_MIN}) {
    GenerationRequest request = Request(3, 5);
    request.prompt[1] = TokenId(id);
    EXPECT_THAT(refusal(request).message, HasSubstr(std::to_string(id)));
    request = Request(3, 5);
    request.end_tokens[0] = TokenId(id);
    EXPECT_EQ(refusal(request).code, ErrorCode::kInvalidArgument);
  }
  GenerationRequest request = Request(3, 5);
  request.sampling.top_p = 0;
  EXPECT_THAT(refusal(request).message, HasSubstr("top_p"));
  EXPECT_EQ(engine.stats().refused, 12U);
}

TEST(Engine, GivesPromptLogprobsInSmallChunks) {
  FakeModel model;
  uint32_t largest = 0;
  model.before_step = [&](const ForwardSegment& segment) {
    largest = std::max(largest, static_cast<uint32_t>(segment.tokens.size()));
  };
  Engine engine(model.function(), kVocab, MakeCache(10, 64), kOptions);
  GenerationRequest request = Request(100, 1);
  request.prompt_logprobs = true;
  request.top_logprobs = 1;
  Recorder recorder;
  ASSERT_TRUE(engine.Submit(request, recorder.sink()));
  EXPECT_EQ(recorder.Reason(), FinishReason::kLength);
  const auto logprobs = recorder.Prompts()[0].logprobs;
  ASSERT_EQ(logprobs.size(), 99U);
  // logits 5 for one of 32 tokens, 0 for the others
  const double likely = 5 - std::log(std::exp(5.0) + 31);
  for (uint32_t i = 0; i < 99; ++i) {
    const int32_t next = FakeModel::Next(i, static_cast<int32_t>(i % 30));
    EXPECT_EQ(logprobs[i].token, request.prompt[i + 1]);
    EXPECT_EQ(logprobs[i].top[0].token.value(), next);
    EXPECT_NEAR(logprobs[i].logprob, next == logprobs[i].token.value() ? likely : likely - 5, 1e-5);
  }
  EXPECT_EQ(recorder.Tokens(), ExpectedAnswer(100, 1));
  EXPECT_EQ(largest, 32U);
}

TEST(Engine, ARequestLargerThanAPoolIsRefusedAtOnceAndALongAnswerEndsThere) {
  FakeModel model;
  Engine engine(model.function(), kVocab, MakeCache(2, 64), kOptions);  // 256 positions
  Recorder recorder, refused;
  const auto id = engine.Submit(Request(256, 5), refused.sink());
  ASSERT_FALSE(id);
  EXPECT_EQ(id.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(id.error().message, HasSubstr("holds 256"));
  EXPECT_THAT(id.error().message, HasSubstr("KV memory (full"));
  ASSERT_TRUE(engine.Submit(Request(200, 500), recorder.sink()));
  EXPECT_EQ(recorder.Reason(), FinishReason::kLength);
  EXPECT_EQ(recorder.Tokens(), ExpectedAnswer(200, 56));
  // The pool is full of that conversation now; another one takes its place.
  Recorder next;
  GenerationRequest stranger = Request(250, 6);
  stranger.cache_namespace = "another";
  ASSERT_TRUE(engine.Submit(stranger, next.sink()));
  EXPECT_EQ(next.Reason(), FinishReason::kLength);
  EXPECT_EQ(next.Tokens(), ExpectedAnswer(250, 6));
  ExpectIdle(engine);
}

TEST(Engine, CancelDuringPrefillTakesEffectAfterTheStep) {
  GatedModel model;
  Engine engine(model.function(), kVocab, MakeCache(10, 64), kOptions);
  Recorder recorder;
  const auto id = engine.Submit(Request(900, 5), recorder.sink());
  model.arrived.acquire();
  EXPECT_EQ(engine.stats().running, 1U);
  engine.Cancel(*id);
  model.OpenForGood();
  EXPECT_EQ(recorder.Reason(), FinishReason::kCancelled);
  EXPECT_EQ(model.steps, 1U);
  EXPECT_TRUE(recorder.Prompts().empty());
  EXPECT_EQ(engine.stats().cancelled, 1U);
  EXPECT_EQ(engine.stats().prompt_tokens, 0U);
  ExpectIdle(engine);
  engine.Cancel(*id);  // over: ignored
}

TEST(Engine, AWaitingRequestIsCancelledWithoutRunningWhileAnotherRuns) {
  GatedModel model;
  Engine engine(model.function(), kVocab, MakeCache(10, 64), kOptions);
  Recorder running, waiting;
  ASSERT_TRUE(engine.Submit(Request(10, 3), running.sink()));
  model.arrived.acquire();
  const auto id = engine.Submit(Request(10, 3), waiting.sink());
  EXPECT_EQ(engine.stats().waiting, 1U);
  engine.Cancel(*id);
  EXPECT_EQ(engine.stats().waiting, 0U);
  model.may_pass.release();  // one step of the running request
  EXPECT_EQ(waiting.Reason(), FinishReason::kCancelled);
  model.OpenForGood();
  EXPECT_EQ(running.Reason(), FinishReason::kLength);
  EXPECT_EQ(model.steps, 3U);
}

TEST(Engine, TheQueueIsBoundedAndServesInOrder) {
  GatedModel model;
  Engine engine(model.function(), kVocab, MakeCache(10, 64), kOptions);  // 2 may wait
  std::vector<int> order;
  std::array<Recorder, 4> recorders;
  const auto submit = [&](int i) {
    return engine.Submit(Request(10, 1), [&, i, sink = recorders[i].sink()](GenerationEvent e) {
      if (std::holds_alternative<PromptEvent>(e)) order.push_back(i);  // engine thread
      sink(std::move(e));
    });
  };
  ASSERT_TRUE(submit(0));
  model.arrived.acquire();
  ASSERT_TRUE(submit(1));
  const auto second = submit(2);
  const auto refused = submit(3);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
  engine.Cancel(*second);  // its place is free at once, though the engine has not told its sink
  ASSERT_TRUE(submit(3));
  model.OpenForGood();
  for (Recorder& recorder : recorders) (void)recorder.Last();
  EXPECT_THAT(order, ElementsAre(0, 1, 3));
  EXPECT_EQ(recorders[2].Reason(), FinishReason::kCancelled);
}

TEST(Engine, CancelledRequestsThatAreNotToldYetAreBoundedToo) {
  GatedModel model;
  Engine engine(model.function(), kVocab, MakeCache(10, 64), kOptions);  // 2 may wait: 32 untold
  Recorder running, next;
  ASSERT_TRUE(engine.Submit(Request(10, 2), running.sink()));
  model.arrived.acquire();
  std::array<Recorder, 32> gone;
  for (Recorder& recorder : gone) {
    const auto id = engine.Submit(Request(10, 1), recorder.sink());
    ASSERT_TRUE(id);
    engine.Cancel(*id);
  }
  EXPECT_EQ(engine.stats().waiting, 0U);
  const auto refused = engine.Submit(Request(10, 1), [](const GenerationEvent&) { FAIL(); });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
  model.may_pass.release();  // the step ends and all are told
  for (Recorder& recorder : gone) EXPECT_EQ(recorder.Reason(), FinishReason::kCancelled);
  ASSERT_TRUE(engine.Submit(Request(10, 1), next.sink()));
  model.OpenForGood();
  EXPECT_EQ(next.Reason(), FinishReason::kLength);
}

TEST(Engine, ShutdownLetsRequestsFinishWithinItsGrace) {
  GatedModel model;
  Engine engine(model.function(), kVocab, MakeCache(10, 64), kOptions);
  Recorder running, waiting;
  ASSERT_TRUE(engine.Submit(Request(10, 3), running.sink()));
  ASSERT_TRUE(engine.Submit(Request(10, 4), waiting.sink()));
  model.arrived.acquire();
  model.OpenForGood();
  engine.Shutdown(std::chrono::hours(1000000));
  EXPECT_EQ(running.Reason(), FinishReason::kLength);
  EXPECT_EQ(waiting.Tokens(), ExpectedAnswer(10, 4));
  const auto late = engine.Submit(Request(10, 3), [](const GenerationEvent&) { FAIL(); });
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kUnavailable);
}

TEST(Engine, ShutdownCancelsWhatItsGraceDoesNotCover) {
  GatedModel model;
  Engine engine(model.function(), kVocab, MakeCache(10, 64), kOptions);
  Recorder running, waiting;
  ASSERT_TRUE(engine.Submit(Request(10, 500), running.sink()));
  ASSERT_TRUE(engine.Submit(Request(10, 4), waiting.sink()));
  model.arrived.acquire();
  std::thread stopper([&] { engine.Shutdown(std::chrono::milliseconds(0)); });
  // The running step cannot end before the gate opens, and Shutdown has cancelled by then.
  while (engine.stats().waiting > 0) std::this_thread::yield();
  model.OpenForGood();
  stopper.join();
  EXPECT_EQ(running.Reason(), FinishReason::kCancelled);
  EXPECT_EQ(waiting.Reason(), FinishReason::kCancelled);
  EXPECT_EQ(model.steps, 1U);
  ExpectNoRequests(engine);
}

TEST(Engine, ManySubmittersAndCancelsLeaveNothingBehind) {
  WEIR_TRACE_SEED();
  FakeModel model;
  Engine engine(model.function(), kVocab, MakeCache(10, 64),
                {.context_tokens = 1000, .chunk_tokens = 64, .queue_capacity = 8});
  constexpr uint32_t kThreads = 6;
  constexpr uint32_t kRequests = 40;
  std::atomic<uint32_t> accepted{0}, ended{0};
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(test::Seed() + t);
      for (uint32_t i = 0; i < kRequests; ++i) {
        Recorder recorder;
        const uint32_t prompt = 1 + random() % 300;
        const auto id = engine.Submit(Request(prompt, 20), recorder.sink());
        if (!id) {
          EXPECT_EQ(id.error().code, ErrorCode::kResourceExhausted);
          continue;
        }
        ++accepted;
        if (random() % 2 == 0) engine.Cancel(*id);
        if (random() % 4 == 0) engine.Cancel(RequestId(random() % 100));
        const FinishReason reason = recorder.Reason();
        EXPECT_TRUE(reason == FinishReason::kCancelled ||
                    recorder.Tokens() == ExpectedAnswer(prompt, 20));
        ++ended;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(accepted, ended);
  const EngineStats& stats = engine.stats();
  EXPECT_EQ(stats.finished_length + stats.cancelled, accepted);
  EXPECT_EQ(stats.refused, kThreads * kRequests - accepted);
  ExpectIdle(engine);
}

}  // namespace
}  // namespace weir
