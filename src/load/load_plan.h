// What a load generator sends, and when: scripts of turns, without text or network.
//
// A script is one client's conversation; most have one turn. Prompts are pieces of text that are
// named by a seed, so requests that begin with equal pieces share a prefix. Lengths are in tokens;
// PromptText (prompt_text.h) makes text of them.
//
// Everything follows from the options and the seed: the same plan for every server. Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/result.h"
#include "load/mix.h"
#include "sim/trace.h"

namespace weir {

// Text that is the same wherever the seed is; ends `end_tokens` from the start of the message.
struct TextPiece {
  uint64_t seed = 0;
  uint32_t end_tokens = 0;
};

struct LoadTurn {
  uint32_t class_index = 0;
  std::vector<TextPiece> message;  // what is said; earlier turns and answers stand before it
  uint32_t answer_tokens = 0;
};

struct LoadScript {
  double at_s = 0;  // of the first turn; meaningful in open loops only
  std::vector<LoadTurn> turns;
};

struct LoadPlan {
  std::vector<std::string> classes;      // names
  std::vector<LoadScript> scripts = {};  // in the order in which they begin
  // Closed loop: so many clients take a script's next turn each, and the script goes to the end of
  // the line; an answer frees its client. 0: open loop, every script begins at its time.
  uint32_t clients = 0;

  [[nodiscard]] uint64_t TurnCount() const;
};

// `mix`, shuffled. With `shared_tokens` all prompts begin with the same text of so many tokens.
struct MixLoad {
  std::vector<MixClass> mix;
  uint32_t clients = 1;   // of a closed loop
  double rate_per_s = 0;  // above 0: Poisson arrivals instead of clients
  uint32_t shared_tokens = 0;
  uint64_t seed = 1;
};
[[nodiscard]] Result<LoadPlan> PlanMix(const MixLoad& load);

// Conversations in turns: each question has `prompt_tokens`, the first one `first_tokens`.
struct ConversationLoad {
  uint32_t conversations = 8;
  uint32_t turns = 4;
  uint32_t first_tokens = 512;
  uint32_t prompt_tokens = 64;
  uint32_t answer_tokens = 64;
  uint32_t clients = 1;
  uint64_t seed = 1;
};
[[nodiscard]] LoadPlan PlanConversations(const ConversationLoad& load);

// A trace on a smaller machine. Blocks that requests of the trace share are shared text. Classes
// are prompt lengths: 0-4K, 4-16K, 16-64K, 64K+.
struct TraceLoad {
  double time_scale = 1;   // 2: arrivals twice as far apart
  double token_scale = 1;  // 0.5: half the tokens, of prompts and of answers
  uint32_t limit = std::numeric_limits<uint32_t>::max();              // requests, from the first
  uint32_t prompt_tokens_max = std::numeric_limits<uint32_t>::max();  // longer ones are cut
  uint32_t clients = 0;  // above 0: a closed loop, without the trace's times
  uint64_t seed = 1;
};
[[nodiscard]] Result<LoadPlan> PlanTrace(const Trace& trace, const TraceLoad& load);

}  // namespace weir
