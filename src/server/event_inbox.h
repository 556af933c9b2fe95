// Events of one answer's choices on their way from the engine's thread to its connection.
//
// Bounded: when the connection cannot write as fast as tokens come, events wait here, and past
// `bytes_max` the request is given up (the overflow callback), because its client does not read.
//
// Ownership: shared by the connection and the engine's sink. Threads: the sink any; all else runs
// on the executor's thread.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "engine/engine.h"

namespace weir {

struct InboxEvent {
  uint32_t choice = 0;
  GenerationEvent event;
};

class EventInbox : public std::enable_shared_from_this<EventInbox> {
 public:
  EventInbox(boost::asio::any_io_executor executor, size_t bytes_max,
             std::function<void()> on_overflow);

  // For Engine::Submit; keeps the inbox alive.
  [[nodiscard]] EventSink Sink(uint32_t choice);

  [[nodiscard]] std::optional<InboxEvent> TryPop();
  // Until an event is there, or Wake(). One waiter.
  boost::asio::awaitable<void> Wait();
  void Wake();
  // Later events are dropped and the callback is never called: its owner goes away.
  void Close();

 private:
  void Push(InboxEvent event);

  boost::asio::any_io_executor executor_;
  boost::asio::steady_timer wake_;  // never expires; cancelled to wake
  bool woken_ = false;
  bool closed_ = false;
  const size_t bytes_max_;
  size_t bytes_ = 0;  // estimate of what waits
  std::function<void()> on_overflow_;
  std::deque<InboxEvent> events_;
};

}  // namespace weir
