// A chat request as variables of a template.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "jinja/functions.h"
#include "jinja/value.h"
#include "text/chat_template.h"

namespace weir {

struct TemplateVariables {
  std::vector<std::pair<std::string, jinja::Value>> values;
  std::optional<jinja::Date> today;
  uint64_t input_bytes = 0;
};

// Every string of messages, tools and extra is user text. A message's reasoning is offered under
// the names that templates read, as transformers does. Fails for a JSON nested too deep, messages
// that are no list of objects, or a date that is none.
Result<TemplateVariables> ReadTemplateInput(const ChatInput& input, uint32_t max_depth);

}  // namespace weir
