#include "sampling_options.h"

#include <random>

namespace weir {

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
  app.add_option("-s,--seed", options.seed, "Same seed, same answer [random]")->option_text("N");
}

Result<SamplingParams> ResolveSampling(const SamplingOptions& options) {
  SamplingParams params = options.params;
  WEIR_TRY(CheckSamplingParams(params));
  std::random_device random;
  params.seed = options.seed ? *options.seed : uint64_t{random()} << 32 | random();
  return params;
}

}  // namespace weir
