#include "text/chat_template_builtin.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace weir {

namespace {

// Content may be a string or a list of parts, of which the texts count.
constexpr std::string_view kGemma = R"({%- macro text(content) -%}
{%- if content is string -%}
{{ content | trim }}
{%- else -%}
{%- for part in content if part.type == 'text' -%}{{ part.text | trim }}{%- endfor -%}
{%- endif -%}
{%- endmacro -%}
{{- bos_token -}}
{%- set ns = namespace(system='') -%}
{%- for message in messages -%}
{%- if message.role == 'system' or message.role == 'developer' -%}
{%- set ns.system = ns.system + text(message.content) + '\n\n' -%}
{%- else -%}
{{- '<start_of_turn>' + ('model' if message.role == 'assistant' else message.role) + '\n' -}}
{%- if message.role != 'assistant' -%}{{- ns.system -}}{%- set ns.system = '' -%}{%- endif -%}
{{- text(message.content) + '<end_of_turn>\n' -}}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<start_of_turn>model\n' -}}{%- endif -%})";

constexpr std::string_view kChatMl = R"({%- for message in messages -%}
{{- '<|im_start|>' + message.role + '\n' -}}
{%- if message.content is string -%}
{{- message.content -}}
{%- else -%}
{%- for part in message.content if part.type == 'text' -%}{{- part.text -}}{%- endfor -%}
{%- endif -%}
{{- '<|im_end|>\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\n' -}}{%- endif -%})";

// For base models: plain lines that a model without chat training carries on.
constexpr std::string_view kTranscript = R"({%- macro text(content) -%}
{%- if content is string -%}
{{ content | trim }}
{%- else -%}
{%- for part in content if part.type == 'text' -%}{{ part.text | trim }}{%- endfor -%}
{%- endif -%}
{%- endmacro -%}
{{- bos_token -}}
The following is a conversation with a helpful assistant. The assistant answers every question correctly and in a full sentence.
{%- for message in messages if message.role == 'system' or message.role == 'developer' -%}
{{- ' ' + text(message.content) -}}
{%- endfor -%}
{{- '\n\nUser: What is the color of the sky?\nAssistant: The color of the sky is blue.\nUser: How many days does a week have?\nAssistant: A week has seven days.\n' -}}
{%- for message in messages if message.role != 'system' and message.role != 'developer' -%}
{{- ('Assistant: ' if message.role == 'assistant' else 'User: ') + text(message.content) + '\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- 'Assistant:' -}}{%- endif -%})";

constexpr std::array<BuiltInTemplate, 3> kTemplates = {
    {{"gemma", kGemma, "", false},
     {"chatml", kChatMl, "", false},
     {"transcript", kTranscript, "\nUser:", true}}};

}  // namespace

const BuiltInTemplate* FindBuiltInTemplate(std::string_view name) {
  const auto* found = std::find_if(kTemplates.begin(), kTemplates.end(),
                                   [&](const auto& known) { return known.name == name; });
  return found == kTemplates.end() ? nullptr : found;
}

}  // namespace weir
