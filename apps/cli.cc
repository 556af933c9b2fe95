#include "cli.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include "base/version.h"
#include "command.h"
#include "config_file.h"

namespace weir {
namespace {

constexpr int kFailed = 1;
constexpr int kWrongUse = 2;

struct CommandEntry {
  std::string_view name;
  std::string_view summary;
  Command (*make)(CLI::App& app);
};

// In the order of `weir --help`.
constexpr auto kCommands = std::to_array<CommandEntry>({
    {"serve", "OpenAI's HTTP API", MakeServeCommand},
    {"chat", "A conversation on the terminal", MakeChatCommand},
    {"run", "One completion to standard output", MakeRunCommand},
    {"bench", "Prefill and decode speed, with llama-bench's flags and output", MakeBenchCommand},
    {"bench-serve", "Load on any OpenAI-compatible server: latencies and throughput",
     MakeBenchServeCommand},
    {"inspect", "What a GGUF file holds: metadata, groups, tensors", MakeInspectCommand},
    {"perplexity", "How well a model foretells a text; KL against saved rows",
     MakePerplexityCommand},
    {"plan", "KV bytes of a model at a context length, by group", MakePlanCommand},
});

// Help without the environment variables' names, which follow one rule.
class ShortFormatter final : public CLI::Formatter {
 public:
  ShortFormatter() { column_width(36); }
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0) return "";
    const std::string text = option->get_option_text();
    return fmt::format(" {}", text.empty() ? option->get_type_name() : text);
  }
};

int Complain(std::string_view message, int exit_code) {
  std::string line(message);
  std::replace(line.begin(), line.end(), '\n', ' ');
  fmt::print(stderr, "weir: {}\n", line);
  return exit_code;
}

void PrintCommands() {
  fmt::print(
      "Weir serves hybrid sliding-window language models on one small machine.\n\n"
      "Usage: weir COMMAND [FLAGS]\n\nCommands:\n");
  for (const CommandEntry& entry : kCommands)
    fmt::print("  {:<12} {}\n", entry.name, entry.summary);
  fmt::print("\n`weir COMMAND --help` lists the command's flags.\n");
}

std::string EnvironmentName(const std::string& flag) {
  std::string name = "WEIR_";
  for (const char c : flag) {
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

bool HasFlag(const CLI::App& app, const std::string& flag) {
  return app.get_option_no_throw("--" + flag) != nullptr ||
         (flag.size() == 1 && app.get_option_no_throw("-" + flag) != nullptr);
}

bool IsForeignFlag(const CLI::App& app, const std::string& flag) {
  return !HasFlag(app, flag) &&
         std::any_of(kCommands.begin(), kCommands.end(), [&](const CommandEntry& entry) {
           CLI::App other;
           entry.make(other);
           return HasFlag(other, flag);
         });
}

void NameEnvironmentVariables(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const auto& names = option->get_lnames();
    if (!names.empty() && names.front() != "help") option->envname(EnvironmentName(names.front()));
  }
}

void PrepareApp(CLI::App& app, const CommandEntry& entry) {
  app.name(fmt::format("weir {}", entry.name));
  app.formatter(std::make_shared<ShortFormatter>());
  app.set_help_flag("-h,--help", "This text");
  app.footer(
      "Flags are also environment variables (--kv-memory: WEIR_KV_MEMORY) and lines\n"
      "`flag = value` of a --config file.");
  NameEnvironmentVariables(app);
  const char* config = std::getenv("WEIR_CONFIG");
  app.set_config("--config", config != nullptr ? config : "", "Read flags from a file",
                 config != nullptr && *config != '\0')
      ->option_text("FILE");
  app.allow_config_extras(CLI::config_extras_mode::error);
  app.config_formatter(std::make_shared<SharedConfigFile>(
      std::string(entry.name),
      [&app](const std::string& flag) { return IsForeignFlag(app, flag); }));
}

int ExitCodeOf(const Error& error) {
  return error.code == ErrorCode::kInvalidArgument ? kWrongUse : kFailed;
}

int RunEntry(const CommandEntry& entry, int argc, const char* const* argv) {
  CLI::App app(fmt::format("{}.", entry.summary));
  const Command command = entry.make(app);
  PrepareApp(app, entry);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return 0;
  } catch (const CLI::Error& error) {
    return Complain(fmt::format("{}: {} (`weir {} --help` lists the flags)", entry.name,
                                error.what(), entry.name),
                    kWrongUse);
  }
  const auto done = command();
  if (done) return 0;
  return Complain(done.error().message, ExitCodeOf(done.error()));
}

int Dispatch(int argc, const char* const* argv) {
  if (argc < 2) {
    PrintCommands();
    return kWrongUse;
  }
  const std::string_view name = argv[1];
  if (name == "--help" || name == "-h" || name == "help") {
    PrintCommands();
    return 0;
  }
  if (name == "--version" || name == "version") {
    fmt::print("weir {}\n", Version());
    return 0;
  }
  const auto entry = std::find_if(kCommands.begin(), kCommands.end(),
                                  [&](const CommandEntry& each) { return each.name == name; });
  if (entry == kCommands.end()) {
    const std::string_view what = name.starts_with("-") ? "flag before the command" : "command";
    return Complain(fmt::format("unknown {} '{}' (`weir --help` lists the commands)", what, name),
                    kWrongUse);
  }
  return RunEntry(*entry, argc - 1, argv + 1);
}

}  // namespace

int RunCommandLine(int argc, const char* const* argv) {
  try {
    return Dispatch(argc, argv);
  } catch (const std::exception& error) {  // out of memory, a library's surprise
    return Complain(error.what(), kFailed);
  }
}

}  // namespace weir
