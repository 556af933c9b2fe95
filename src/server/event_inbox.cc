#include "server/event_inbox.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace asio = boost::asio;

namespace weir {
namespace {

// What an event becomes on the wire, about: a frame, and a line for each alternative. The prompt's
// log-probabilities do not count: they come at once however fast the client reads, and are bounded
// when the request is (Service::Prepare).
size_t EstimateBytes(const GenerationEvent& event) {
  constexpr size_t kFrame = 256;
  constexpr size_t kAlternative = 96;
  const auto* token = std::get_if<TokenEvent>(&event);
  return kFrame + (token != nullptr ? token->sampled.top.size() * kAlternative : 0);
}

}  // namespace

EventInbox::EventInbox(asio::any_io_executor executor, size_t bytes_max,
                       std::function<void()> on_overflow)
    : executor_(std::move(executor)),
      wake_(executor_, asio::steady_timer::time_point::max()),
      bytes_max_(bytes_max),
      on_overflow_(std::move(on_overflow)) {}

EventSink EventInbox::Sink(uint32_t choice) {
  return [self = shared_from_this(), choice](GenerationEvent event) {
    asio::post(self->executor_, [self, choice, event = std::move(event)]() mutable {
      self->Push({.choice = choice, .event = std::move(event)});
    });
  };
}

void EventInbox::Push(InboxEvent event) {
  if (closed_) return;
  bytes_ += EstimateBytes(event.event);
  events_.push_back(std::move(event));
  if (bytes_ > bytes_max_) {
    const std::function<void()> on_overflow = std::move(on_overflow_);
    Close();
    on_overflow();
  }
  Wake();
}

std::optional<InboxEvent> EventInbox::TryPop() {
  if (events_.empty()) return std::nullopt;
  InboxEvent event = std::move(events_.front());
  events_.pop_front();
  bytes_ -= std::min(bytes_, EstimateBytes(event.event));
  return event;
}

asio::awaitable<void> EventInbox::Wait() {
  if (events_.empty() && !std::exchange(woken_, false)) {
    boost::system::error_code ignored;  // always "cancelled"
    co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  woken_ = false;
}

void EventInbox::Wake() {
  woken_ = true;
  wake_.cancel();
}

void EventInbox::Close() {
  closed_ = true;
  events_.clear();
  bytes_ = 0;
}

}  // namespace weir
