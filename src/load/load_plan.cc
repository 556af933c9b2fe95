#include "load/load_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "load/seeded_draws.h"

namespace weir {
namespace {

// Seeds of texts that different things draw from one seed of the plan.
enum class TextOf : uint8_t { kShared, kRequest, kNode };

uint64_t TextSeed(uint64_t plan_seed, TextOf what, uint64_t number) {
  return MixBits(MixBits(plan_seed * 4 + static_cast<uint64_t>(what)) + number);
}

void Shuffle(std::vector<LoadScript>& scripts, SeededDraws& draws) {
  for (size_t i = scripts.size(); i > 1; --i) std::swap(scripts[i - 1], scripts[draws.Below(i)]);
}

uint32_t DrawLength(const MixClass& of, SeededDraws& draws) {
  const uint64_t choices = uint64_t{of.prompt_tokens_max} - of.prompt_tokens_min + 1;
  return of.prompt_tokens_min + static_cast<uint32_t>(draws.Below(choices));
}

// Names and ends of the classes of a trace.
constexpr std::array<std::pair<const char*, uint32_t>, 4> kLengths = {
    {{"0-4K", 4096}, {"4-16K", 16384}, {"16-64K", 65536}, {"64K+", ~0U}}};

std::vector<std::string> LengthClasses() {
  std::vector<std::string> names;
  for (const auto& [name, end] : kLengths) names.emplace_back(name);
  return names;
}

uint32_t LengthClassOf(uint32_t tokens) {
  uint32_t index = 0;
  while (tokens > kLengths[index].second) ++index;
  return index;
}

uint32_t Scaled(uint64_t tokens, double scale) {
  constexpr double kMost = std::numeric_limits<int32_t>::max();
  return static_cast<uint32_t>(std::min(std::round(static_cast<double>(tokens) * scale), kMost));
}

// The blocks of a request as pieces, and a piece of its own for what comes after them.
std::vector<TextPiece> PromptOf(const Trace& trace, const TraceRequest& request, uint64_t number,
                                const TraceLoad& load) {
  const uint32_t length = std::clamp(Scaled(request.token_count, load.token_scale), 1U,
                                     std::max(load.prompt_tokens_max, 1U));
  std::vector<TextPiece> pieces;
  for (uint32_t node = request.last_node; node != 0; node = trace.nodes[node].parent) {
    const uint64_t end = uint64_t{trace.nodes[node].depth} * trace.block_tokens;
    pieces.push_back({.seed = TextSeed(load.seed, TextOf::kNode, node),
                      .end_tokens = Scaled(end, load.token_scale)});
  }
  std::reverse(pieces.begin(), pieces.end());
  while (!pieces.empty() && pieces.back().end_tokens > length) {
    const bool ends_in_it = pieces.size() == 1 || pieces[pieces.size() - 2].end_tokens < length;
    if (ends_in_it) {
      pieces.back().end_tokens = length;
    } else {
      pieces.pop_back();
    }
  }
  if (pieces.empty() || pieces.back().end_tokens < length) {
    pieces.push_back({.seed = TextSeed(load.seed, TextOf::kRequest, number), .end_tokens = length});
  }
  return pieces;
}

}  // namespace

uint64_t LoadPlan::TurnCount() const {
  uint64_t count = 0;
  for (const LoadScript& script : scripts) count += script.turns.size();
  return count;
}

Result<LoadPlan> PlanMix(const MixLoad& load) {
  LoadPlan plan;
  SeededDraws draws(load.seed);
  uint64_t number = 0;
  for (const MixClass& of : load.mix) {
    if (of.prompt_tokens_min <= load.shared_tokens && load.shared_tokens > 0) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("prompts of class '{}' have {} tokens, no more than the {} that all "
                              "prompts share",
                              of.name, of.prompt_tokens_min, load.shared_tokens));
    }
    const auto class_index = static_cast<uint32_t>(plan.classes.size());
    plan.classes.push_back(of.name);
    for (uint32_t i = 0; i < of.count; ++i) {
      LoadTurn turn{.class_index = class_index, .message = {}, .answer_tokens = of.answer_tokens};
      if (load.shared_tokens > 0) {
        turn.message.push_back(
            {.seed = TextSeed(load.seed, TextOf::kShared, 0), .end_tokens = load.shared_tokens});
      }
      turn.message.push_back({.seed = TextSeed(load.seed, TextOf::kRequest, number++),
                              .end_tokens = DrawLength(of, draws)});
      plan.scripts.push_back({.turns = {std::move(turn)}});
    }
  }
  Shuffle(plan.scripts, draws);
  if (load.rate_per_s <= 0) {
    plan.clients = std::max(load.clients, 1U);
    return plan;
  }
  double at_s = 0;
  for (LoadScript& script : plan.scripts) {
    script.at_s = at_s;
    at_s += draws.ExponentialSeconds(load.rate_per_s);
  }
  return plan;
}

LoadPlan PlanConversations(const ConversationLoad& load) {
  LoadPlan plan{.classes = {"first turn", "next turn"}, .clients = std::max(load.clients, 1U)};
  uint64_t number = 0;
  for (uint32_t i = 0; i < load.conversations; ++i) {
    LoadScript script;
    for (uint32_t turn = 0; turn < load.turns; ++turn) {
      script.turns.push_back(
          {.class_index = turn == 0 ? 0U : 1U,
           .message = {{.seed = TextSeed(load.seed, TextOf::kRequest, number++),
                        .end_tokens = turn == 0 ? load.first_tokens : load.prompt_tokens}},
           .answer_tokens = load.answer_tokens});
    }
    plan.scripts.push_back(std::move(script));
  }
  return plan;
}

Result<LoadPlan> PlanTrace(const Trace& trace, const TraceLoad& load) {
  if (trace.requests.empty()) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("trace {}: no requests", trace.name));
  }
  LoadPlan plan{.classes = LengthClasses(), .clients = load.clients};
  const double start_s = trace.requests.front().time_s;
  for (const TraceRequest& request : trace.requests) {
    if (plan.scripts.size() == load.limit) break;
    LoadTurn turn{.message = PromptOf(trace, request, plan.scripts.size(), load),
                  .answer_tokens = std::max(Scaled(request.answer_tokens, load.token_scale), 1U)};
    turn.class_index = LengthClassOf(turn.message.back().end_tokens);
    plan.scripts.push_back(
        {.at_s = (request.time_s - start_s) * load.time_scale, .turns = {std::move(turn)}});
  }
  return plan;
}

}  // namespace weir
