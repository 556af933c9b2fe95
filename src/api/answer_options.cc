#include "api/answer_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "api/logit_bias.h"

namespace weir {
namespace {

float Real(Fields& fields, std::string_view name, double if_absent, NumberRange range) {
  return static_cast<float>(fields.Number(name, if_absent, range));
}

SamplingParams ReadSampling(Fields& fields) {
  SamplingParams out;
  out.temperature = Real(fields, "temperature", 1, {0, 100});
  // 0 means "only the best": the smallest share that is still one token.
  out.top_p = std::max(Real(fields, "top_p", 1, {0, 1}), std::numeric_limits<float>::min());
  out.top_k = static_cast<uint32_t>(
      std::max<int64_t>(fields.Integer("top_k", 0, -1, std::numeric_limits<int32_t>::max()), 0));
  out.min_p = std::min(Real(fields, "min_p", 0, {0, 1}), std::nextafter(1.0F, 0.0F));
  const NumberRange above_zero{0.01, 100};
  out.repeat_penalty = Real(fields, "repetition_penalty", 1, above_zero);
  out.repeat_penalty = Real(fields, "repeat_penalty", out.repeat_penalty, above_zero);
  out.frequency_penalty = Real(fields, "frequency_penalty", 0, {-2, 2});
  out.presence_penalty = Real(fields, "presence_penalty", 0, {-2, 2});
  return out;
}

// -1 is llama.cpp's "any"; other negative seeds are seeds.
std::optional<uint64_t> ReadSeed(Fields& fields) {
  const Json* seed = fields.Find("seed");
  const bool negative = seed != nullptr && seed->is_number_integer() &&
                        !seed->is_number_unsigned() && seed->get<int64_t>() < 0;
  if (!negative) return fields.Count("seed");
  const int64_t number = fields.Integer("seed", -1, std::numeric_limits<int64_t>::min() + 1, -1);
  return number == -1 ? std::nullopt : std::optional(static_cast<uint64_t>(number));
}

std::vector<std::string> ReadStops(Fields& fields) {
  const Json* stop = fields.Find("stop");
  if (stop == nullptr) return {};
  std::vector<std::string> out;
  const auto add = [&](const Json& text) {
    if (!text.is_string()) {
      fields.Refuse("stop",
                    fmt::format("must be a string or a list of strings, and has {}", KindOf(text)));
    } else if (text.get_ref<const std::string&>().size() > kStopStringBytesMax) {
      fields.Refuse("stop",
                    fmt::format("a stop string may have at most {} bytes, and one has {}",
                                kStopStringBytesMax, text.get_ref<const std::string&>().size()));
    } else if (!text.get_ref<const std::string&>().empty()) {  // an empty one stops nothing
      out.push_back(text.get<std::string>());
    }
  };
  if (!stop->is_array()) {
    add(*stop);
    return out;
  }
  if (stop->size() > kStopStringsMax) {
    fields.Refuse("stop", fmt::format("may have at most {} strings, and has {}", kStopStringsMax,
                                      stop->size()));
    return out;
  }
  for (const Json& text : *stop) add(text);
  return out;
}

// C0, DEL and C1 of valid UTF-8.
bool HasControlCharacter(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if (byte < 0x20 || byte == 0x7F) return true;
    if (byte == 0xC2 && static_cast<uint8_t>(text[i + 1]) < 0xA0) return true;
  }
  return false;
}

std::string ReadCacheSalt(Fields& fields) {
  std::optional<std::string> salt = fields.Text("cache_salt");
  if (!salt) return {};
  if (salt->empty() || salt->size() > kCacheSaltBytesMax) {
    fields.Refuse("cache_salt", fmt::format("must have from 1 to {} bytes, and has {}",
                                            kCacheSaltBytesMax, salt->size()));
  } else if (HasControlCharacter(*salt)) {
    fields.Refuse("cache_salt", "may have no control characters");
  }
  return *std::move(salt);
}

// A parameter that is known, changes the answer, and has only its neutral values built.
struct Unbuilt {
  std::string_view name;
  std::vector<Json> neutral;
};

const std::vector<Unbuilt>& UnbuiltParameters() {
  static const std::vector<Unbuilt> all = {
      {"tools", {Json::array()}},
      {"tool_choice", {"none", "auto"}},
      {"functions", {Json::array()}},
      {"function_call", {"none", "auto"}},
      {"modalities", {Json::array({"text"})}},
      {"audio", {}},
      {"prediction", {}},
      {"web_search_options", {}},
      {"suffix", {""}},
      // of other servers
      {"grammar", {""}},
      {"json_schema", {}},
      {"guided_json", {}},
      {"guided_regex", {}},
      {"guided_choice", {}},
      {"guided_grammar", {}},
      {"structured_outputs", {}},
      {"stop_token_ids", {Json::array()}},
      {"bad_words", {Json::array()}},
      {"allowed_token_ids", {Json::array()}},
      {"prompt_logprobs", {0, false}},
      {"use_beam_search", {false}},
      {"length_penalty", {1}},
      {"chat_template", {}},
      {"documents", {Json::array()}},
      {"add_generation_prompt", {true}},
      {"continue_final_message", {false}},
      {"typical_p", {1}},
      {"mirostat", {0}},
      {"dry_multiplier", {0}},
      {"xtc_probability", {0}},
      {"dynatemp_range", {0}},
  };
  return all;
}

void RefuseResponseFormat(Fields& fields) {
  const Json* format = fields.Find("response_format");
  if (format == nullptr) return;
  if (!format->is_object()) {
    fields.Refuse("response_format", fmt::format("must be an object, and is {}", KindOf(*format)));
    return;
  }
  const auto type = format->find("type");
  if (type == format->end() || !type->is_string()) {
    fields.Refuse("response_format", "must have a type");
    return;
  }
  const auto& name = type->get_ref<const std::string&>();
  if (name == "text") return;
  if (name == "json_object" || name == "json_schema") {
    fields.RefuseUnsupported("response_format",
                             fmt::format("type \"{}\" is not supported yet; only \"text\"", name));
  } else {
    fields.Refuse("response_format", "type must be \"text\"");
  }
}

// n, and best_of, which may only say the same.
uint32_t ReadChoices(Fields& fields) {
  const auto choices = static_cast<uint32_t>(fields.Integer("n", 1, 1, kChoicesMax));
  const int64_t best_of =
      fields.Integer("best_of", choices, 1, std::numeric_limits<int32_t>::max());
  if (best_of != choices) {
    fields.RefuseUnsupported("best_of",
                             fmt::format("is not supported unless it equals n, {}", choices));
  }
  return choices;
}

}  // namespace

AnswerOptions ReadAnswerOptions(Fields& fields, const ServedModel& model,
                                uint64_t default_max_tokens, uint64_t random_seed) {
  AnswerOptions out;
  out.sampling = ReadSampling(fields);
  const std::optional<uint64_t> seed = ReadSeed(fields);
  out.is_seeded = seed.has_value();
  out.sampling.seed = seed.value_or(random_seed);
  out.sampling.logit_bias = ReadLogitBias(fields, model.vocab_size);
  out.choices = ReadChoices(fields);
  const uint64_t older_name = fields.Count("max_tokens").value_or(default_max_tokens);
  out.max_tokens = fields.Count("max_completion_tokens").value_or(older_name);
  out.min_tokens = static_cast<uint32_t>(
      fields.Integer("min_tokens", 0, 0, std::numeric_limits<uint32_t>::max()));
  if (out.min_tokens > out.max_tokens) {
    fields.Refuse("min_tokens",
                  fmt::format("is {}, above max_tokens {}", out.min_tokens, out.max_tokens));
  }
  out.ignore_eos = fields.Flag("ignore_eos", false);
  out.stops = ReadStops(fields);
  out.cache_salt = ReadCacheSalt(fields);
  out.stream = fields.Flag("stream", false);
  if (const Json* options = fields.Find("stream_options")) {
    if (options->is_object()) {
      Fields inner(*options, "stream_options.");
      out.include_usage = inner.Flag("include_usage", false);
      if (inner.error()) fields.Refuse("stream_options", inner.error()->message);
    } else {
      fields.Refuse("stream_options",
                    fmt::format("must be an object, and is {}", KindOf(*options)));
    }
  }
  return out;
}

void RefuseUnbuilt(Fields& fields) {
  (void)fields.Text("model");  // any name is served by the one model; other types are a mistake
  RefuseResponseFormat(fields);
  for (const Unbuilt& parameter : UnbuiltParameters()) {
    const Json* value = fields.Find(parameter.name);
    if (value == nullptr) continue;
    const bool neutral = std::any_of(parameter.neutral.begin(), parameter.neutral.end(),
                                     [&](const Json& allowed) { return *value == allowed; });
    if (!neutral) fields.RefuseUnsupported(parameter.name, "is not supported yet");
  }
}

}  // namespace weir
