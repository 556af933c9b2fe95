// Traces whose blocks are letters: "abc" is a prompt of three blocks.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "sim/trace.h"

namespace weir::test {

inline constexpr uint32_t kLetterTokens = 10;

// One prompt a second.
inline Trace TraceOf(const std::vector<std::string>& prompts) {
  TraceBuilder builder("letters", kLetterTokens);
  double time_s = 0;
  for (const std::string& prompt : prompts) {
    uint32_t node = 0;
    for (const char letter : prompt) node = builder.Child(node, static_cast<uint64_t>(letter));
    builder.AddRequest({.time_s = time_s++,
                        .token_count = static_cast<uint32_t>(prompt.size()) * kLetterTokens,
                        .last_node = node});
  }
  return std::move(builder).Build();
}

// Prompts that go on from, part from, or repeat earlier ones.
inline std::vector<std::string> RandomPrompts(std::mt19937_64& random, size_t count) {
  std::vector<std::string> prompts;
  while (prompts.size() < count) {
    std::string prompt;
    if (!prompts.empty() && random() % 8 != 0) prompt = prompts[random() % prompts.size()];
    prompt.resize(random() % 3 == 0 ? random() % (prompt.size() + 1) : prompt.size());
    for (uint64_t more = random() % 4; more > 0; --more) {
      prompt += static_cast<char>('a' + random() % 3);
    }
    prompts.push_back(prompt.substr(0, 12));
  }
  return prompts;
}

}  // namespace weir::test
