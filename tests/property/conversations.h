// What users ask next: random conversations that begin, go on, change in the middle, are asked
// again and branch.
//
// Ownership: borrows the random numbers. Threads: the test's.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"

namespace weir::test {

struct Conversation {
  uint32_t name_space = 0;  // 0 or 1
  std::vector<TokenId> tokens;
  std::vector<uint32_t> message_starts;  // ascending
  uint32_t prompt_count = 0;             // of the newest request
};

class Conversations {
 public:
  // No prompt is longer than `token_limit`. `window`: W, 0 for none.
  Conversations(uint32_t token_limit, uint32_t vocab_size, uint32_t window,
                std::mt19937_64& random);

  struct Ask {
    size_t index = 0;  // of the conversation
    std::string what;  // for the log
  };
  // Changes a conversation, or begins one: its tokens are the next prompt.
  Ask Next();
  [[nodiscard]] const Conversation& operator[](size_t index) const { return all_[index]; }
  // The conversation goes on behind this answer, unless it has changed since it was asked.
  void TakeAnswer(size_t index, uint32_t name_space, std::span<const TokenId> tokens,
                  uint32_t prompt_count);

  // Lengths of all sizes, tile boundaries and their neighbours more often than chance would have
  // it. Requires most > 0.
  [[nodiscard]] uint32_t DrawCount(uint32_t most);

 private:
  uint32_t Below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }
  bool OneIn(uint32_t count) { return Below(count) == 0; }
  // Below `end`; often where a window begins with a tile, and beside that.
  uint32_t DrawPosition(uint32_t end);
  size_t NewPlace();
  void AddTurn(Conversation& conversation);
  std::string Change(Conversation& conversation);
  std::string ChangeMiddle(Conversation& conversation);

  const uint32_t token_limit_;
  const uint32_t vocab_size_;
  const uint32_t window_;
  std::mt19937_64& random_;
  std::vector<TokenId> system_prompt_;  // many begin with it
  std::vector<Conversation> all_;
};

}  // namespace weir::test
