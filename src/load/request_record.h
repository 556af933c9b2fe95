// What one request of a load came to. A plain value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weir {

struct RequestRecord {
  uint32_t class_index = 0;
  uint32_t script = 0;
  uint32_t turn = 0;

  double at_s = 0;                     // sent, since the load began
  std::vector<double> text_at_s = {};  // each event with text, since it was sent
  double total_s = 0;                  // until the answer's end or the failure

  uint32_t prompt_tokens = 0;  // as the server counts them
  uint32_t cached_tokens = 0;
  uint32_t answer_tokens = 0;  // events with text, where the server does not count

  int status = 0;  // HTTP; 0: no answer
  std::string error =
      {};  // "": it was answered to the end. Else a kind: "HTTP 503", "timeout", ...
  std::string message = {};  // what the server said with it
};

}  // namespace weir
