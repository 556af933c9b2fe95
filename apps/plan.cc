// `weir plan`: the KV bytes of a context, from the header of a GGUF file alone.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>

#include "base/byte_count.h"
#include "command.h"
#include "kv_table.h"
#include "model/kv_plan.h"
#include "model/kv_shape.h"
#include "model_options.h"

namespace weir {
namespace {

struct Options {
  std::string model;
  uint32_t tokens = 0;
  ConfigOverrides overrides;
  std::string kv_memory;
};

Result<uint32_t> ContextOf(const Options& options, const ConfigKeys& keys) {
  if (options.tokens > kMaxTokens) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("--ctx {} is above {}", options.tokens, kMaxTokens));
  }
  if (options.tokens != 0) return options.tokens;
  return keys.NeedCount("context_length", kMaxTokens);
}

void PrintPlan(const KvPlan& plan, uint32_t tokens) {
  const auto line = [](std::string_view name, uint64_t bytes) {
    fmt::print("{:<8}{:>12}  ({} bytes)\n", name, FormatByteCount(bytes), bytes);
  };
  fmt::print("\nKV of one sequence of {} tokens:\n", tokens);
  line("full", plan.full_bytes);
  line("window", plan.window_bytes);
  line("total", plan.total_bytes());
  line("all full", plan.all_full_bytes);
  const std::string token = FormatByteCount(plan.bytes_per_token);
  if (plan.window_bytes == 0) {
    fmt::print("\nEvery layer is full. A further token adds {}.\n", token);
    return;
  }
  fmt::print(
      "\nWith every layer full it would be {:.2f}x. A further token adds {}, not {} ({:.2f}x).\n",
      static_cast<double>(plan.all_full_bytes) / static_cast<double>(plan.total_bytes()), token,
      FormatByteCount(plan.all_full_bytes_per_token),
      static_cast<double>(plan.all_full_bytes_per_token) /
          static_cast<double>(std::max<uint64_t>(plan.bytes_per_token, 1)));
}

Result<void> Run(const Options& options) {
  const uint64_t budget =
      options.kv_memory.empty() ? 0 : WEIR_TRY(ParseByteCount(options.kv_memory));
  const auto file = WEIR_TRY(GgufFile::OpenMetadata(options.model));
  const auto keys = WEIR_TRY(ConfigKeys::Create(file, options.overrides));
  const uint32_t tokens = WEIR_TRY(ContextOf(options, keys));
  const KvLayout layout = LayoutOf(WEIR_TRY(ReadKvShape(keys)), KvFormat::kF16);
  const KvPlan plan = PlanKv(layout, tokens);
  fmt::print("{}: architecture {}, KV in f16\n\n", options.model, keys.architecture());
  PrintKvGroups(layout);
  PrintPlan(plan, tokens);
  if (budget != 0) {
    fmt::print("{} hold {} such sequences.\n", FormatByteCount(budget),
               budget / plan.total_bytes());
  }
  return {};
}

}  // namespace

Command MakePlanCommand(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("file,-m,--model", options->model, "Model file; its header is enough")
      ->option_text("GGUF")
      ->required();
  app.add_option("-c,--ctx", options->tokens, "Tokens of one sequence [the model's context]")
      ->option_text("TOKENS");
  AddWindowOption(app, options->overrides);
  app.add_option("--kv-memory", options->kv_memory, "Say how many sequences this holds")
      ->option_text("BYTES");
  return [options] { return Run(*options); };
}

}  // namespace weir
