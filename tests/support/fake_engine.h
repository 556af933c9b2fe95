// An engine whose events come when the test says so.
//
// Threads: the test's and the server's.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "server/engine_port.h"
#include "support/byte_tokenizer.h"

namespace weir::test {

class FakeEngine final : public EnginePort {
 public:
  explicit FakeEngine(uint32_t context_tokens) : context_tokens_(context_tokens) {}

  // Refuses what is submitted from now on.
  void Refuse(Error error) {
    std::lock_guard lock(mutex_);
    refusal_ = std::move(error);
  }

  void SetQueueCapacity(uint32_t requests) { queue_capacity_ = requests; }

  // Takes `count` more, then refuses.
  void RefuseAfter(uint64_t count, Error error) {
    std::lock_guard lock(mutex_);
    refuse_after_ = submitted_ + count;
    late_refusal_ = std::move(error);
  }

  // As if memory ran out in the server: the next Cancel() does nothing and throws.
  void ThrowAtNextCancel() {
    std::lock_guard lock(mutex_);
    next_cancel_throws_ = true;
  }

  // The number of the next request that was submitted; waits for it.
  uint64_t WaitForRequest() {
    const uint64_t number = ++taken_;
    Wait([&] { return requests_.contains(number); });
    return number;
  }
  GenerationRequest request(uint64_t number) {
    std::lock_guard lock(mutex_);
    return requests_.at(number).request;
  }
  // False if it does not come within ten seconds.
  bool WaitForCancel(uint64_t number) {
    return Wait([&] { return cancelled_.contains(number); });
  }

  bool is_cancelled(uint64_t number) {
    std::lock_guard lock(mutex_);
    return cancelled_.contains(number);
  }

  void Emit(uint64_t number, GenerationEvent event) {
    EventSink sink;
    {
      std::lock_guard lock(mutex_);
      sink = requests_.at(number).sink;
    }
    sink(std::move(event));
  }
  // As if all of it had been computed.
  void EmitPrompt(uint64_t number) {
    PromptEvent event;
    event.sources.computed = static_cast<uint32_t>(request(number).prompt.size());
    Emit(number, std::move(event));
  }
  void EmitText(uint64_t number, std::string_view text) {
    for (const char& byte : text) {
      Emit(number, TokenEvent{.sampled = {ByteTokenizerId({&byte, 1}), -1, {}}, .at = {}});
    }
  }
  void EmitFinish(uint64_t number, FinishReason reason) {
    Emit(number, FinishEvent{.reason = reason, .at = {}});
  }
  // A whole answer.
  void Answer(uint64_t number, std::string_view text) {
    EmitPrompt(number);
    EmitText(number, text);
    EmitFinish(number, FinishReason::kLength);
  }

  Result<RequestId> Submit(GenerationRequest request, EventSink sink) override {
    std::lock_guard lock(mutex_);
    if (refusal_) return tl::make_unexpected(*refusal_);
    if (submitted_ >= refuse_after_) return tl::make_unexpected(*late_refusal_);
    requests_[++submitted_] = {std::move(request), std::move(sink)};
    changed_.notify_all();
    return RequestId(submitted_);
  }
  void Cancel(RequestId id) override {
    std::lock_guard lock(mutex_);
    if (std::exchange(next_cancel_throws_, false)) throw std::bad_alloc();
    cancelled_.insert(id.value());
    changed_.notify_all();
  }
  void Shutdown(std::chrono::milliseconds) override {
    std::lock_guard lock(mutex_);
    requests_.clear();
    describe_.clear();
    flush_.clear();
  }
  [[nodiscard]] uint32_t context_tokens() const override { return context_tokens_; }
  [[nodiscard]] uint32_t queue_capacity() const override { return queue_capacity_; }
  [[nodiscard]] EngineGauges gauges() const override { return {}; }
  [[nodiscard]] EngineCounters counters() const override {
    std::lock_guard lock(mutex_);
    return counters_;
  }
  void DescribeCache(std::function<void(CacheReport)> done) override {
    std::lock_guard lock(mutex_);
    describe_.push_back(std::move(done));
    changed_.notify_all();
  }
  void FlushCache(std::function<void(uint64_t)> done) override {
    std::lock_guard lock(mutex_);
    flush_.push_back(std::move(done));
    changed_.notify_all();
  }

  void SetCounters(const EngineCounters& counters) {
    std::lock_guard lock(mutex_);
    counters_ = counters;
  }
  void WaitForQuestion() {
    WEIR_CHECK(Wait([&] { return !describe_.empty() || !flush_.empty(); }));
  }
  // Answers the oldest question that is open; waits for one.
  void DescribeWith(const CacheReport& report) { AnswerOldest(describe_, report); }
  void FlushWith(uint64_t forgotten) { AnswerOldest(flush_, forgotten); }

 private:
  struct Submitted {
    GenerationRequest request;
    EventSink sink;
  };
  template <class Condition>
  bool Wait(const Condition& condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(10), condition);
  }

  template <class T>
  void AnswerOldest(std::deque<std::function<void(T)>>& open, const T& answer) {
    WEIR_CHECK(Wait([&] { return !open.empty(); }));
    std::function<void(T)> done;
    {
      std::lock_guard lock(mutex_);
      done = std::move(open.front());
      open.pop_front();
    }
    done(answer);
  }

  const uint32_t context_tokens_;
  std::atomic<uint32_t> queue_capacity_{64};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Error> refusal_;
  uint64_t refuse_after_ = UINT64_MAX;
  std::optional<Error> late_refusal_;
  uint64_t submitted_ = 0;
  uint64_t taken_ = 0;
  std::map<uint64_t, Submitted> requests_;
  std::set<uint64_t> cancelled_;
  bool next_cancel_throws_ = false;
  EngineCounters counters_;
  std::deque<std::function<void(CacheReport)>> describe_;
  std::deque<std::function<void(uint64_t)>> flush_;
};

}  // namespace weir::test
