// `weir serve`: OpenAI's HTTP API until SIGTERM, SIGHUP or Ctrl-C.
#include <fmt/format.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "api_key_options.h"
#include "base/check.h"
#include "chat_setup.h"
#include "command.h"
#include "loaded_model.h"
#include "obs/log.h"
#include "server/engine_port.h"
#include "server/server.h"

namespace weir {
namespace {

struct Options {
  ModelOptions model;
  ApiKeyOptions api_keys;
  std::string host = "127.0.0.1";
  uint16_t port = 8080;
  std::string alias;
  uint32_t queue = 64;
  uint32_t chunk_tokens = 512;
  uint32_t parallel = 16;
  uint32_t max_step_ms = 100;
  uint32_t queue_timeout_seconds = 600;
  std::string buckets = "4k,16k,64k";
  BucketBy bucket_by = BucketBy::kUncachedTokens;
  QueuePolicy policy = QueuePolicy::kBuckets;
  uint32_t grace_seconds = 10;
};

// SIGINT, SIGTERM and SIGHUP as something to wait for. Handlers, not a mask: the second signal of a
// kind just ends the program. Before Keep() there is nothing to finish, and each ends it with 0.
class EndSignals {
 public:
  EndSignals() {
    event_ = eventfd(0, EFD_CLOEXEC);
    WEIR_CHECK(event_ >= 0);
    Handle([](int) { _exit(0); });
  }

  void Keep() {
    Handle([](int) {
      const uint64_t one = 1;
      [[maybe_unused]] const ssize_t written = write(event_, &one, sizeof(one));
    });
  }

  void Wait() {
    uint64_t count = 0;
    while (read(event_, &count, sizeof(count)) < 0) {
    }
  }

 private:
  static void Handle(void (*handler)(int)) {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
      struct sigaction before {};
      sigaction(number, nullptr, &before);
      if (before.sa_handler != SIG_IGN) sigaction(number, &action, nullptr);  // nohup stays so
    }
  }

  static inline int event_ = -1;
};

void PrintReady(const std::string& host, uint16_t port) {
  const std::string shown = host.find(':') == std::string::npos ? host : "[" + host + "]";
  const std::string url = fmt::format("http://{}:{}", shown, port);
  fmt::print(
      "ready on {0}\n"
      "  curl {0}/v1/chat/completions -H 'Content-Type: application/json' \\\n"
      "    -d '{{\"messages\":[{{\"role\":\"user\",\"content\":\"What is the capital of "
      "France?\"}}]}}'\n",
      url);
  std::fflush(stdout);
}

Result<void> Run(const Options& options) {
  signal(SIGPIPE, SIG_IGN);
  EndSignals end_signals;
  ApiKeys keys = WEIR_TRY(ReadApiKeys(options.api_keys));
  LengthBuckets buckets = WEIR_TRY(LengthBuckets::Parse(options.buckets));
  const auto loaded = WEIR_TRY(LoadModel(options.model));
  const Tokenizer tokenizer = WEIR_TRY(LoadTokenizer(*loaded));
  const ChatTemplate chat_template = WEIR_TRY(LoadChatTemplate(*loaded, options.model));
  KvMemory memory =
      WEIR_TRY(ReserveKv(*loaded, options.model, options.chunk_tokens, options.parallel));
  fmt::print(stderr, "{}\n", DescribeStart(*loaded, memory));
  SetUpLog(LogLevel::kInfo);
  end_signals.Keep();
  Engine engine(loaded->model, std::move(memory.cache),
                {.context_tokens = memory.context_tokens,
                 .chunk_tokens = options.chunk_tokens,
                 .max_sequences = options.parallel,
                 .queue_capacity = options.queue,
                 .max_step = std::chrono::milliseconds(options.max_step_ms),
                 .policy = options.policy,
                 .buckets = std::move(buckets),
                 .bucket_by = options.bucket_by,
                 .queue_timeout = std::chrono::seconds(options.queue_timeout_seconds),
                 .cache_fingerprint = CacheFingerprint(*loaded, options.model)});
  LocalEngine port(engine);
  ServerOptions server_options;
  server_options.address = options.host;
  server_options.port = options.port;
  server_options.model_id = options.alias.empty() ? loaded->id : options.alias;
  if (keys.count() > 0) {
    LogInfo(fmt::format(
        "{} API keys{}", keys.count(),
        keys.HasAdmin() ? "" : "; none is an admin's: /metrics and /v1/cache are shut"));
  }
  server_options.keys = std::move(keys);
  const auto server = WEIR_TRY(Server::Start(
      server_options, {.engine = port, .tokenizer = tokenizer, .chat_template = chat_template}));
  PrintReady(options.host, server->port());
  end_signals.Wait();
  LogInfo(fmt::format("ending; requests have {} s to finish", options.grace_seconds));
  server->Stop(std::chrono::seconds(options.grace_seconds));
  return {};
}

}  // namespace

Command MakeServeCommand(CLI::App& app) {
  auto options = std::make_shared<Options>();
  AddModelOptions(app, options->model);
  AddChatTemplateOption(app, options->model);
  app.add_option("--host", options->host, "Address to listen on [127.0.0.1]")
      ->option_text("ADDRESS");
  app.add_option("--port", options->port, "Port; 0: any free one [8080]")->option_text("PORT");
  app.add_option("--alias", options->alias, "The model's name in the API [the file's]")
      ->option_text("NAME");
  AddApiKeyOptions(app, options->api_keys);
  app.add_option("--queue", options->queue, "Requests that may wait; more get a 503 [64]")
      ->option_text("N")
      ->check(CLI::Range(1, 4096));
  app.add_option("--np,--parallel", options->parallel,
                 "Requests that run at once, if memory allows [16]")
      ->option_text("N")
      ->check(CLI::Range(1, 256));
  app.add_option("--max-step-ms", options->max_step_ms,
                 "What prompts may add to a step while others are answered [100]")
      ->option_text("MS")
      ->check(CLI::Range(1, 60000));
  app.add_option("--buckets", options->buckets,
                 "Upper lengths of the classes of waiting requests [4k,16k,64k]")
      ->option_text("TOKENS,...");
  app.add_option("--bucket-by", options->bucket_by,
                 "Length that counts: of tokens to compute or of all [uncached]")
      ->transform(CLI::CheckedTransformer(std::map<std::string, BucketBy>{
          {"uncached", BucketBy::kUncachedTokens}, {"length", BucketBy::kPromptLength}}))
      ->option_text("uncached|length");
  app.add_option("--policy", options->policy,
                 "Order of waiting requests: buckets or fifo [buckets]")
      ->transform(CLI::CheckedTransformer(std::map<std::string, QueuePolicy>{
          {"buckets", QueuePolicy::kBuckets}, {"fifo", QueuePolicy::kFifo}}))
      ->option_text("buckets|fifo");
  app.add_option("--queue-timeout", options->queue_timeout_seconds,
                 "A request that waits longer to begin fails; 0: it waits on [600]")
      ->option_text("SECONDS")
      ->check(CLI::Range(0, 86400));
  app.add_option("--ub,--ubatch-size", options->chunk_tokens, "Most prefill positions a step [512]")
      ->option_text("N")
      ->check(CLI::Range(1, 16384));
  app.add_option("--grace", options->grace_seconds, "Time for running requests at the end [10]")
      ->option_text("SECONDS")
      ->check(CLI::Range(0, 86400));
  return [options] { return Run(*options); };
}

}  // namespace weir
