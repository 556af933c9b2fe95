#include <fmt/format.h>

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "obs/log.h"
#include "server/cache_json.h"
#include "server/session.h"

namespace asio = boost::asio;

namespace weir {

template <class T, class Ask>
asio::awaitable<std::optional<T>> Session::AskEngine(const Ask& ask) {
  struct Question {  // lives until the engine has answered, perhaps long after the asker left
    bool open = true;
    std::optional<T> answer;
  };
  auto question = std::make_shared<Question>();
  ask([question, weak = weak_from_this(), executor = socket_.get_executor()](T answer) {
    asio::post(executor, [question, weak, answer = std::move(answer)]() mutable {
      const std::shared_ptr<Session> self = weak.lock();
      if (!question->open || !self) return;
      question->answer = std::move(answer);
      self->deadline_.cancel();
    });
  });
  deadline_.expires_after(context_.options.engine_timeout);
  boost::system::error_code ignored;  // how the wait ends says nothing that `answer` does not
  co_await deadline_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  question->open = false;
  co_return std::move(question->answer);
}

asio::awaitable<Reply> Session::AnswerCache(Route route) {
  std::optional<Json> json;
  if (route == Route::kCache) {
    const auto report = co_await AskEngine<CacheReport>(
        [this](auto done) { context_.engine.DescribeCache(std::move(done)); });
    if (report) json = CacheJson(*report);
  } else {
    const auto forgotten = co_await AskEngine<uint64_t>(
        [this](auto done) { context_.engine.FlushCache(std::move(done)); });
    if (forgotten) json = Json{{"forgotten_nodes", *forgotten}};
    if (forgotten) LogInfo(fmt::format("cache flushed: {} nodes", *forgotten));
  }
  if (!json) co_return ErrorReply(503, "the engine did not come to it in time; try again");
  Reply reply;
  reply.body = DumpJson(*json);
  co_return reply;
}

}  // namespace weir
