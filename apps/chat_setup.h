// Which chat template a command renders conversations with.
#pragma once

#include "base/result.h"
#include "loaded_model.h"
#include "text/chat_template.h"

namespace weir {

// --chat-template as a built-in name or a file, else the model's own, else the built-in transcript,
// which is said on standard error.
[[nodiscard]] Result<ChatTemplate> LoadChatTemplate(const LoadedModel& loaded,
                                                    const ModelOptions& options);

// "29 Nov 2026", as templates print the day.
[[nodiscard]] std::string Today();

}  // namespace weir
