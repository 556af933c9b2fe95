// Long work beside the I/O thread, so that /health answers while 10 MB are parsed or written, or a
// template takes its time.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstddef>
#include <optional>
#include <utility>

namespace weir {

inline constexpr size_t kInlineBytes = 32 << 10;  // less is done in place: about a millisecond

// The result of `work`, done by a worker.
template <class Work>
boost::asio::awaitable<decltype(std::declval<Work>()())> OnWorker(boost::asio::thread_pool& workers,
                                                                  Work work) {
  std::optional<decltype(work())> result;
  co_await boost::asio::co_spawn(
      workers,
      [&]() -> boost::asio::awaitable<void> {
        result.emplace(work());
        co_return;
      },
      boost::asio::use_awaitable);
  co_return *std::move(result);
}

// The same if so many `bytes`, of input or result, make it long.
template <class Work>
boost::asio::awaitable<decltype(std::declval<Work>()())> MaybeOnWorker(
    boost::asio::thread_pool& workers, size_t bytes, Work work) {
  if (bytes <= kInlineBytes) co_return work();
  co_return co_await OnWorker(workers, std::move(work));
}

}  // namespace weir
