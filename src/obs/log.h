// The program's log: lines on standard error, through spdlog.
//
// Never holds prompt or answer text. Never waits for a reader: lines that a full pipe has no room
// for are dropped, and counted in the next that has. Threads: any, once SetUpLog() has returned.
#pragma once

#include <cstdint>
#include <string_view>

namespace weir {

enum class LogLevel : uint8_t { kDebug, kInfo, kWarning, kError, kOff };

void SetUpLog(LogLevel level);

void LogDebug(std::string_view line);
void LogInfo(std::string_view line);
void LogWarning(std::string_view line);
void LogError(std::string_view line);

}  // namespace weir
