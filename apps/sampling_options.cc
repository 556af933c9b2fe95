#include "sampling_options.h"

#include <fmt/format.h>

#include <random>

namespace weir {

void AddAnswerLengthOption(CLI::App& app, int64_t& max_tokens) {
  app.add_option("-n,--n-predict", max_tokens,
                 fmt::format("Most tokens to write; -1: till the context is full [{}]", max_tokens))
      ->option_text("N")
      ->check(CLI::Range(int64_t{-1}, int64_t{1} << 40));
}

uint64_t AnswerLength(int64_t max_tokens) {
  return max_tokens < 0 ? UINT64_MAX : static_cast<uint64_t>(max_tokens);
}

void AddSamplingOptions(CLI::App& app, SamplingOptions& options) {
  SamplingParams& params = options.params;
  app.add_option("--temp", params.temperature, "0: always the likeliest token [1]")
      ->option_text("T");
  app.add_option("--top-k", params.top_k, "Only the K likeliest; 0: off [0]")->option_text("K");
  app.add_option("--top-p", params.top_p, "Only the likeliest that sum to P [1]")->option_text("P");
  app.add_option("--min-p", params.min_p, "Only those above P times the likeliest [0]")
      ->option_text("P");
  app.add_option("--repeat-penalty", params.repeat_penalty, "Of tokens seen before; 1: off [1]")
      ->option_text("X");
  app.add_option("--frequency-penalty", params.frequency_penalty, "A use in the answer [0]")
      ->option_text("X");
  app.add_option("--presence-penalty", params.presence_penalty, "Once used in the answer [0]")
      ->option_text("X");
  app.add_option("-s,--seed", options.seed, "Same seed, same answer; -1: random [-1]")
      ->option_text("N");
}

Result<SamplingParams> ResolveSampling(const SamplingOptions& options) {
  SamplingParams params = options.params;
  WEIR_TRY(CheckSamplingParams(params));
  std::random_device random;
  params.seed =
      options.seed >= 0 ? static_cast<uint64_t>(options.seed) : uint64_t{random()} << 32 | random();
  return params;
}

}  // namespace weir
