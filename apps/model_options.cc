#include "model_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

#include "base/byte_count.h"
#include "machine.h"
#include "simd/isa.h"

namespace weir {
namespace {

constexpr uint32_t kMaxThreads = 1024;
constexpr uint32_t kMaxContext = 1U << 30;

// A number that must be finite and inside a range, with a message of one line.
CLI::Validator Between(double min, double max) {
  return CLI::Validator(
      [min, max](std::string& text) {
        double value = std::numeric_limits<double>::quiet_NaN();
        const bool is_number = CLI::detail::lexical_cast(text, value);
        if (is_number && value >= min && value <= max) return std::string();
        return fmt::format("{} is not a number from {} to {}", text, min, max);
      },
      "");
}

// "f16" or "f32" to the number of its KvFormat.
CLI::Validator KvFormatName() {
  return CLI::Validator(
      [](std::string& text) {
        for (const KvFormat format : {KvFormat::kF16, KvFormat::kF32}) {
          if (text != NameOf(format)) continue;
          text = std::to_string(static_cast<int>(format));
          return std::string();
        }
        return fmt::format("{} is neither f16 nor f32", text);
      },
      "");
}

}  // namespace

void AddModelOptions(CLI::App& app, ModelOptions& options) {
  app.add_option("-m,--model", options.model, "Model file")->option_text("GGUF")->required();
  app.add_option("-c,--ctx", options.context_tokens, "Context: prompt and answer [the model's]")
      ->option_text("TOKENS")
      ->check(Between(0, kMaxContext));
  app.add_option("-t,--threads", options.threads, "Compute threads [all cores]")
      ->option_text("N")
      ->check(Between(0, kMaxThreads));
  AddWindowOption(app, options.overrides);
  app.add_option("--kv-memory", options.kv_memory, "Memory for KV, such as 512M or 1.5GiB")
      ->option_text("BYTES");
  app.add_option("--kv-memory-fraction,--kv-cache-free-gpu-mem-fraction",
                 options.kv_memory_fraction, "Or this part of what is free after loading [0.9]")
      ->option_text("F")
      ->check(Between(0.001, 1));
  app.add_option("--kv-window-share", options.kv_window_share,
                 "Part of it for kept windows, if a context fits beside [0.5]")
      ->option_text("F")
      ->check(Between(0, 1));
  AddKvFormatOption(app, options.kv_format);
  AddIsaOption(app, options.isa);
}

void AddWindowOption(CLI::App& app, ConfigOverrides& overrides) {
  app.add_option("--window", overrides.window,
                 "W of the window layers, own token too [the model's]")
      ->option_text("TOKENS")
      ->check(Between(1, kMaxContext));
}

void AddIsaOption(CLI::App& app, std::string& isa) {
  app.add_option("--isa", isa, SupportedIsaNames(", ") + " [the last]")->option_text("NAME");
}

void AddKvFormatOption(CLI::App& app, KvFormat& format) {
  app.add_option("--kv-format", format, "f16, or f32 for comparisons [f16]")
      ->option_text("NAME")
      ->transform(KvFormatName());
}

void AddChatTemplateOption(CLI::App& app, ModelOptions& options) {
  app.add_option("--chat-template", options.chat_template,
                 "gemma, chatml, transcript or a file [the model's]")
      ->option_text("NAME");
}

uint32_t ThreadCount(const ModelOptions& options) {
  if (options.threads != 0) return options.threads;
  return std::min(Machine().CoreCount(AllowedCpus()), kMaxThreads);
}

Result<void> ApplyIsa(const ModelOptions& options) {
  if (options.isa.empty()) return {};
  const auto isa = IsaFromName(options.isa);
  const auto supported = SupportedIsas();
  if (!isa || std::find(supported.begin(), supported.end(), *isa) == supported.end()) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("--isa {}: this CPU has {}", options.isa, SupportedIsaNames(" ")));
  }
  return ForceIsa(*isa);
}

Result<uint64_t> KvBudgetBytes(const ModelOptions& options) {
  if (!options.kv_memory.empty()) return ParseByteCount(options.kv_memory);
  const uint64_t free_bytes = Machine().FreeMemoryBytes();
  return static_cast<uint64_t>(static_cast<double>(free_bytes) * options.kv_memory_fraction);
}

}  // namespace weir
