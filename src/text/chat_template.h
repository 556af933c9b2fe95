// Renders a conversation into a prompt: the GGUF's Jinja template, or a built-in one.
//
// Covers the subset of Jinja that chat templates use and equals Python's jinja2 there (trim_blocks,
// lstrip_blocks on, as Hugging Face sets them); anything else is an Error at Create() or Render()
// that names line and construct. Rendering is bounded in steps and output bytes.
//
// Threads: immutable after Create(); any thread.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weir {

struct ChatInput {
  nlohmann::ordered_json messages;  // [{role, content, ...}], as the API received them
  nlohmann::ordered_json tools;     // null or a list
  nlohmann::ordered_json extra;     // null or further template variables (chat_template_kwargs)
  bool add_generation_prompt = true;
  std::string bos_text;
  std::string eos_text;
  std::string today;  // "29 Nov 2026": strftime_now and date_string, fixed by the caller
};

class ChatTemplate {
 public:
  // Source in Jinja.
  static Result<ChatTemplate> Create(std::string_view source);
  // "gemma", "chatml" or "transcript".
  static Result<ChatTemplate> BuiltIn(std::string_view name);
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();

  // kInvalidArgument when the template itself refuses (raise_exception), with its words.
  [[nodiscard]] Result<std::string> Render(const ChatInput& input) const;

  // Strings that end an answer besides end tokens ("\nUser:" for transcript).
  [[nodiscard]] const std::vector<std::string>& stop_strings() const;

 private:
  struct State;
  explicit ChatTemplate(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace weir
