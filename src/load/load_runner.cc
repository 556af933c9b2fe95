#include "load/load_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <csignal>
#include <deque>
#include <exception>
#include <utility>

namespace asio = boost::asio;

namespace weir {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTick{100};
constexpr uint32_t kFewWords = 8;
constexpr uint32_t kManyWords = 512;

Result<uint32_t> CountTokens(const CompletionClient& client, uint64_t seed, uint32_t words) {
  asio::io_context io(1);
  TimedAnswer answer;
  const Dialogue dialogue = {WordText(seed, words)};
  asio::co_spawn(
      io, [&]() -> asio::awaitable<void> { answer = co_await client.Ask(dialogue, 1); },
      [](const std::exception_ptr& thrown) {
        if (thrown) std::rethrow_exception(thrown);
      });
  io.run();
  const RequestRecord& record = answer.record;
  if (record.error.empty() && record.prompt_tokens > 0) return record.prompt_tokens;
  const std::string what = record.error.empty() ? "it does not say usage.prompt_tokens"
                           : record.message.empty()
                               ? record.error
                               : fmt::format("{}: {}", record.error, record.message);
  return Fail(ErrorCode::kUnavailable, fmt::format("the server's answer to a probe: {}", what));
}

// A script under way.
struct Conversation {
  uint32_t script = 0;
  uint32_t next_turn = 0;
  Dialogue said;
};

class Run {
 public:
  Run(const LoadPlan& plan, const CompletionClient& client, const Calibration& calibration,
      const std::function<void(const LoadProgress&)>& on_progress)
      : plan_(plan), client_(client), calibration_(calibration), on_progress_(on_progress) {
    progress_.planned = plan.TurnCount();
  }

  LoadResult Do() {
    began_ = Clock::now();
    StartTicks();
    signals_.async_wait([this](const boost::system::error_code& error, int) {
      if (error) return;
      result_.was_interrupted = true;
      io_.stop();
    });
    if (plan_.clients > 0) {
      StartClients();
    } else {
      asio::co_spawn(io_, Arrivals(), asio::detached);
    }
    io_.run();
    result_.planned = progress_.planned;
    for (const RequestRecord& record : result_.records) {
      result_.seconds = std::max(result_.seconds, record.at_s + record.total_s);
    }
    if (!result_.records.empty()) result_.seconds -= FirstStart();
    return std::move(result_);
  }

 private:
  [[nodiscard]] double Now() const {
    return std::chrono::duration<double>(Clock::now() - began_).count();
  }
  [[nodiscard]] double FirstStart() const {
    return std::min_element(result_.records.begin(), result_.records.end(),
                            [](const auto& a, const auto& b) { return a.at_s < b.at_s; })
        ->at_s;
  }

  void StartClients() {
    for (uint32_t i = 0; i < plan_.scripts.size(); ++i) {
      line_.push_back({.script = i, .next_turn = 0, .said = {}});
    }
    users_ = plan_.clients;
    for (uint32_t i = 0; i < plan_.clients; ++i) {
      asio::co_spawn(io_, Client(), asio::detached);
    }
  }

  // Takes turns from the front of the line until none waits. What another client's answer puts back
  // at the end is that client's own to take.
  asio::awaitable<void> Client() {
    while (!line_.empty()) {
      Conversation conversation = std::move(line_.front());
      line_.pop_front();
      if (co_await Turn(conversation)) line_.push_back(std::move(conversation));
    }
    EndUser();
  }

  asio::awaitable<void> Arrivals() {
    asio::steady_timer timer(io_);
    users_ = 1;
    for (uint32_t i = 0; i < plan_.scripts.size(); ++i) {
      const std::chrono::duration<double> at(plan_.scripts[i].at_s);
      timer.expires_at(began_ + std::chrono::duration_cast<Clock::duration>(at));
      boost::system::error_code ignored;
      co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
      ++users_;
      asio::co_spawn(io_, WholeScript(i), asio::detached);
    }
    EndUser();
  }

  asio::awaitable<void> WholeScript(uint32_t script) {
    Conversation conversation{.script = script, .next_turn = 0, .said = {}};
    while (co_await Turn(conversation)) {
    }
    EndUser();
  }

  // True: it was answered, and more turns are to come.
  asio::awaitable<bool> Turn(Conversation& conversation) {
    const std::vector<LoadTurn>& turns = plan_.scripts[conversation.script].turns;
    const LoadTurn& turn = turns[conversation.next_turn];
    Calibration calibration = calibration_;
    if (conversation.next_turn > 0) calibration.overhead_tokens = 0;  // the first message bears it
    conversation.said.push_back(PromptText(turn.message, calibration));
    ++progress_.under_way;
    const double at_s = Now();
    TimedAnswer answer = co_await client_.Ask(conversation.said, turn.answer_tokens);
    RequestRecord& record = answer.record;
    record.class_index = turn.class_index;
    record.script = conversation.script;
    record.turn = conversation.next_turn++;
    record.at_s = at_s;
    const bool was_answered = record.error.empty();
    Count(std::move(record), static_cast<uint32_t>(turns.size()));
    conversation.said.push_back(std::move(answer.text));
    co_return was_answered&& conversation.next_turn < turns.size();
  }

  void Count(RequestRecord record, uint32_t turns) {
    --progress_.under_way;
    ++progress_.done;
    if (!record.error.empty()) {
      ++progress_.failed;
      progress_.planned -= turns - 1 - record.turn;  // they will not be sent
    }
    result_.records.push_back(std::move(record));
    on_progress_(progress_);
  }

  void EndUser() {
    if (--users_ > 0) return;
    boost::system::error_code ignored;
    signals_.cancel(ignored);
    tick_.cancel();
  }

  void StartTicks() {
    tick_.expires_after(kTick);
    tick_.async_wait([this](const boost::system::error_code& error) {
      if (error || users_ == 0) return;
      on_progress_(progress_);
      StartTicks();
    });
  }

  const LoadPlan& plan_;
  const CompletionClient& client_;
  const Calibration calibration_;
  const std::function<void(const LoadProgress&)>& on_progress_;

  asio::io_context io_{1};
  asio::signal_set signals_{io_, SIGINT};
  asio::steady_timer tick_{io_};
  std::deque<Conversation> line_;  // of a closed loop
  uint64_t users_ = 0;             // coroutines that may still send
  Clock::time_point began_;
  LoadProgress progress_;
  LoadResult result_;
};

}  // namespace

Result<Calibration> MeasureCalibration(const CompletionClient& client, uint64_t seed) {
  const uint32_t few = WEIR_TRY(CountTokens(client, seed, kFewWords));
  const uint32_t many = WEIR_TRY(CountTokens(client, seed, kManyWords));
  return Calibrate({.words = kFewWords, .tokens = few}, {.words = kManyWords, .tokens = many});
}

LoadResult RunLoad(const LoadPlan& plan, const CompletionClient& client,
                   const Calibration& calibration,
                   const std::function<void(const LoadProgress&)>& on_progress) {
  return Run(plan, client, calibration, on_progress).Do();
}

}  // namespace weir
