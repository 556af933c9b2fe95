// The flags of every subcommand that loads a model.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "kv/kv_cache.h"
#include "model/config_keys.h"
#include "quant/kv_tile.h"

namespace weir {

struct ModelOptions {
  std::string model;                // path of a GGUF file
  uint32_t context_tokens = 0;      // 0: the model's, or what the KV memory holds
  uint32_t threads = 0;             // as given; see ThreadCount()
  std::string kv_memory;            // a byte count; empty: by fraction
  double kv_memory_fraction = 0.9;  // of what is free once the weights are loaded
  double kv_window_share = KvWish{}.window_share;
  KvFormat kv_format = KvFormat::kF16;
  ConfigOverrides overrides;
  std::string isa;            // empty: the best this CPU has
  std::string chat_template;  // gemma, chatml, transcript, a file; empty: the model's own
};

// -m -c -t --window --kv-memory --kv-memory-fraction --kv-window-share --kv-format --isa
void AddModelOptions(CLI::App& app, ModelOptions& options);
// --window, --isa and --kv-format alone, for commands with flags of their own
void AddWindowOption(CLI::App& app, ConfigOverrides& overrides);
void AddIsaOption(CLI::App& app, std::string& isa);
void AddKvFormatOption(CLI::App& app, KvFormat& format);
// --chat-template, for the commands that render chats
void AddChatTemplateOption(CLI::App& app, ModelOptions& options);

// The threads asked for, else the physical cores that this process may use.
[[nodiscard]] uint32_t ThreadCount(const ModelOptions& options);

// Forces --isa, if given. kInvalidArgument, naming what this CPU has, when it cannot be.
Result<void> ApplyIsa(const ModelOptions& options);

// Bytes for KV: --kv-memory, else the fraction of the memory that is free now (call it with the
// weights in memory). kInvalidArgument when the text is no byte count.
[[nodiscard]] Result<uint64_t> KvBudgetBytes(const ModelOptions& options);

}  // namespace weir
