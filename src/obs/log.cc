#include "obs/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace weir {

void SetUpLog(LogLevel level) {
  auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
  auto logger = std::make_shared<spdlog::logger>("weir", std::move(sink));
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
