// Renders a conversation into a prompt: the GGUF's Jinja template, or a built-in one.
//
// Covers the subset of Jinja that chat templates use and equals Python's jinja2 there, set up as
// Hugging Face transformers does (sandbox, trim_blocks, lstrip_blocks, loop controls, its tojson);
// anything else is an Error at Create() or Render() that names line and construct. Rendering is
// bounded in steps, bytes and depth: a template from a model file is not trusted.
//
// Templates write `bos_text` themselves where the model wants it: encode a prompt with AddBos::kNo.
//
// Threads: immutable after Create(); any thread.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/prompt_part.h"

namespace weir {

struct ChatInput {
  nlohmann::ordered_json messages = {};  // [{role, content, ...}], as the API received them
  nlohmann::ordered_json tools = {};     // null or a list
  nlohmann::ordered_json extra = {};  // null or further template variables (chat_template_kwargs)
  bool add_generation_prompt = true;
  std::string bos_text = {};
  std::string eos_text = {};
  std::string today = {};  // "29 Nov 2026", for strftime_now; empty: templates see no such function
};

class ChatTemplate {
 public:
  // Source in Jinja. kInvalidArgument naming line and construct.
  static Result<ChatTemplate> Create(std::string_view source);
  // "gemma", "chatml" or "transcript".
  static Result<ChatTemplate> BuiltIn(std::string_view name);
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();

  // The prompt in parts: everything that comes from `messages`, `tools` or `extra` is the user's
  // and must not become control tokens (see prompt_part.h). kInvalidArgument when the template
  // itself refuses (raise_exception), with its words, or when it fails, with the line.
  [[nodiscard]] Result<Prompt> Render(const ChatInput& input) const;

  // Strings that end an answer besides end tokens ("\nUser:" for transcript).
  [[nodiscard]] const std::vector<std::string>& stop_strings() const;

  // The prompt ends right before a space that the model writes first ("Assistant:"): whoever shows
  // the answer drops one leading space of it.
  [[nodiscard]] bool strips_leading_space() const;

 private:
  struct State;
  explicit ChatTemplate(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace weir
