#include "obs/log.h"

#include <poll.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <atomic>
#include <memory>

namespace weir {
namespace {

using Console = spdlog::sinks::stderr_color_sink_mt;

// Standard error while somebody reads it. A full pipe would stop the thread that logs, and with the
// I/O thread every connection: lines that have no room are counted instead. A pipe that can be
// written at all takes PIPE_BUF bytes, more than a line has.
class StandardError final : public Console {
 public:
  void log(const spdlog::details::log_msg& message) override {
    pollfd stream{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
    if (poll(&stream, 1, 0) != 1 || (stream.revents & POLLOUT) == 0) {
      ++dropped_;
      return;
    }
    if (const uint64_t dropped = dropped_.exchange(0); dropped > 0) {
      const std::string note = fmt::format("{} lines dropped: nobody read them", dropped);
      Console::log({message.logger_name, spdlog::level::warn, note});
    }
    Console::log(message);
  }

 private:
  std::atomic<uint64_t> dropped_{0};
};

}  // namespace

void SetUpLog(LogLevel level) {
  auto logger = std::make_shared<spdlog::logger>("weir", std::make_shared<StandardError>());
  logger->set_pattern("%Y-%m-%d %H:%M:%S.%e %^%l%$ %v");
  switch (level) {
    case LogLevel::kDebug:
      logger->set_level(spdlog::level::debug);
      break;
    case LogLevel::kInfo:
      logger->set_level(spdlog::level::info);
      break;
    case LogLevel::kWarning:
      logger->set_level(spdlog::level::warn);
      break;
    case LogLevel::kError:
      logger->set_level(spdlog::level::err);
      break;
    case LogLevel::kOff:
      logger->set_level(spdlog::level::off);
      break;
  }
  logger->flush_on(spdlog::level::warn);
  spdlog::set_default_logger(std::move(logger));
}

void LogDebug(std::string_view line) { spdlog::debug("{}", line); }
void LogInfo(std::string_view line) { spdlog::info("{}", line); }
void LogWarning(std::string_view line) { spdlog::warn("{}", line); }
void LogError(std::string_view line) { spdlog::error("{}", line); }

}  // namespace weir
