// `weir chat`: a conversation on the terminal, or over pipes (a line in, an answer out).
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <string>

#include "api/answer_text.h"
#include "api/prompt.h"
#include "chat_setup.h"
#include "command.h"
#include "interrupts.h"
#include "loaded_model.h"
#include "local_answer.h"
#include "progress_bar.h"
#include "sampling_options.h"

namespace weir {
namespace {

constexpr uint32_t kChunkTokens = 512;
constexpr std::string_view kHelp =
    "/reset forgets the conversation, /exit leaves, Ctrl-C stops an answer";

struct Options {
  ModelOptions model;
  SamplingOptions sampling;
  std::string system;
  int64_t max_tokens = 1024;
};

class Conversation {
 public:
  Conversation(Engine& engine, const Tokenizer& tokenizer, const ChatTemplate& chat_template,
               const Options& options, const SamplingParams& sampling, Interrupts& interrupts)
      : engine_(engine),
        tokenizer_(tokenizer),
        template_(chat_template),
        prompts_(tokenizer, chat_template, engine.options().context_tokens),
        options_(options),
        sampling_(sampling),
        interrupts_(interrupts) {
    Reset();
  }

  void Reset() {
    messages_ = Json::array();
    if (!options_.system.empty()) Add("system", options_.system);
  }

  // Writes the answer to standard output as it comes. On failure the conversation is as before.
  Result<AnswerTiming> Say(const std::string& text) {
    const Json before = messages_;
    Add("user", text);
    auto answered = Answer();
    if (!answered) messages_ = before;
    return answered;
  }

 private:
  void Add(const char* role, const std::string& content) {
    messages_.push_back({{"role", role}, {"content", content}});
  }

  Result<AnswerTiming> Answer() {
    ChatRequest chat;
    chat.messages = messages_;
    auto prompt = prompts_.FromChat(chat, Today(), 1);
    if (!prompt) return Fail(ErrorCode::kInvalidArgument, prompt.error().message);
    GenerationRequest request;
    request.prompt = std::move(prompt->tokens);
    request.message_starts = std::move(prompt->message_starts);
    request.sampling = sampling_;
    request.max_tokens = AnswerLength(options_.max_tokens);
    request.end_tokens = tokenizer_.end_tokens();

    AnswerText text(tokenizer_, template_.stop_strings(),
                    template_.strips_leading_space() ? LeadingSpace::kStrip : LeadingSpace::kKeep);
    std::string answer;
    const auto show = [&](const std::string& piece) {
      answer += piece;
      fmt::print("{}", piece);
      std::fflush(stdout);
    };
    const auto cancel = [&](RequestId id) {
      interrupts_.SetAction([this, id] { engine_.Cancel(id); });
    };
    auto done = AnswerLocally(engine_, std::move(request), cancel, [&](TokenId token) {
      show(text.Push(token));
      return !text.stopped();
    });
    if (!text.stopped()) show(text.Finish());
    fmt::print("\n");
    std::fflush(stdout);
    if (!done) return tl::make_unexpected(std::move(done).error());
    Add("assistant", answer);
    return done->timing;
  }

  Engine& engine_;
  const Tokenizer& tokenizer_;
  const ChatTemplate& template_;
  PromptWriter prompts_;
  const Options& options_;
  SamplingParams sampling_;
  Interrupts& interrupts_;
  Json messages_;
};

void Talk(Conversation& conversation, Interrupts& interrupts) {
  const bool is_terminal = isatty(STDIN_FILENO) != 0;
  const auto prompt = [is_terminal] {
    if (!is_terminal) return;
    fmt::print("> ");
    std::fflush(stdout);
  };
  if (is_terminal) fmt::print("{}\n", kHelp);
  while (true) {
    interrupts.SetAction(is_terminal ? [prompt] {
      fmt::print("\n(/exit or Ctrl-D leaves)\n");
      prompt();
    } : std::function<void()>());
    prompt();
    std::string line;
    if (!std::getline(std::cin, line)) break;
    if (line.empty()) continue;
    if (line == "/exit" || line == "/quit") return;
    if (line == "/help") {
      fmt::print("{}\n", kHelp);
    } else if (line == "/reset") {
      conversation.Reset();
      if (is_terminal) fmt::print("(a new conversation)\n");
    } else {
      const auto timing = conversation.Say(line);
      if (!timing) {
        fmt::print(stderr, "weir: {}{}\n", timing.error().message,
                   is_terminal ? "; /reset starts anew" : "");
      } else if (StderrIsTerminal()) {
        fmt::print(stderr, "({})\n", timing->Text());
      }
    }
  }
  if (is_terminal) fmt::print("\n");
}

Result<void> Run(const Options& options) {
  const SamplingParams sampling = WEIR_TRY(ResolveSampling(options.sampling));
  Interrupts interrupts;
  const auto loaded = WEIR_TRY(LoadModel(options.model));
  const Tokenizer tokenizer = WEIR_TRY(LoadTokenizer(*loaded));
  const ChatTemplate chat_template = WEIR_TRY(LoadChatTemplate(*loaded, options.model));
  KvMemory memory = WEIR_TRY(ReserveKv(*loaded, options.model, kChunkTokens));
  fmt::print(stderr, "{}\n", DescribeStart(*loaded, memory));
  Engine engine(loaded->model, std::move(memory.cache),
                {.context_tokens = memory.context_tokens,
                 .chunk_tokens = kChunkTokens,
                 .max_sequences = 1,
                 .cache_fingerprint = CacheFingerprint(*loaded, options.model)});
  Conversation conversation(engine, tokenizer, chat_template, options, sampling, interrupts);
  Talk(conversation, interrupts);
  interrupts.SetAction({});
  return {};
}

}  // namespace

Command MakeChatCommand(CLI::App& app) {
  auto options = std::make_shared<Options>();
  AddModelOptions(app, options->model);
  AddChatTemplateOption(app, options->model);
  app.add_option("--system", options->system, "System message")->option_text("TEXT");
  AddAnswerLengthOption(app, options->max_tokens);
  AddSamplingOptions(app, options->sampling);
  return [options] { return Run(*options); };
}

}  // namespace weir
