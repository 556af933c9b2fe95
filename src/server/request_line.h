// The line that the log has for each completion request.
//
// Pure, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/answer_json.h"
#include "server/server_metrics.h"

namespace weir {

struct RequestRecord {
  std::string_view id;
  std::string_view key_name = {};  // empty: no key
  uint32_t choices = 1;
  Outcome outcome = Outcome::kStop;
  std::optional<Gone> gone = {};
  Usage usage = {};
  // Of PromptEvent; zero if the prompt was not read.
  uint32_t full_length = 0;
  ResumeVeto veto = ResumeVeto::kNone;
  std::optional<double> first_token_seconds = {};  // since the request came
  double total_seconds = 0;
};

// "cmpl-1 stop prompt=900 device=256 replayed=0 computed=644 answer=5 first=61ms total=103ms
// miss=window:384,unseen:260"
//
// After the outcome may stand `gone` (when the client left), `key` (its name) and `choices` (if not
// one). `miss` names what was computed for more than a tile of tokens, and how many: `window` or
// `owed` tokens had their full KV there but not the window tiles or owed rows to go on from it,
// `unseen` ones belong to no prefix that is kept.
[[nodiscard]] std::string RequestLine(const RequestRecord& record);

}  // namespace weir
