// What `weir bench` measures: the rows of its table, from flags that llama-bench and
// llama-batched-bench have too.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace weir {

// One row of the table.
struct BenchTest {
  uint32_t prompt_tokens = 0;   // "pp"
  uint32_t answer_tokens = 0;   // "tg", a sequence
  uint32_t depth = 0;           // tokens already in each sequence
  uint32_t sequence_count = 1;  // "pl": each step computes one row of each

  // Positions that each sequence reaches.
  [[nodiscard]] uint64_t TokensEach() const {
    return uint64_t{depth} + prompt_tokens + answer_tokens;
  }
  // Tokens that are timed, of all sequences.
  [[nodiscard]] uint64_t TimedTokens() const {
    return uint64_t{sequence_count} * (uint64_t{prompt_tokens} + answer_tokens);
  }
  [[nodiscard]] std::string Name() const;  // "pp512", "tg64 pl4 @ d4096", "pp512+tg128"
};

// The flags, each a list of counts as text.
struct BenchPlan {
  std::string prompt_tokens = "512";
  std::string answer_tokens = "128";
  std::string depths = "0";
  std::string sequence_counts = "1";
  std::vector<std::string> prompt_and_answer = {};  // "512,128"
};

// In llama-bench's order: for each depth prefill, decode, both in one. Only decode rows are
// measured for each number of sequences. kInvalidArgument, naming the flag.
[[nodiscard]] Result<std::vector<BenchTest>> ListTests(const BenchPlan& plan);

}  // namespace weir
