#include "api/json_body.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace weir {
namespace {

// Builds the tree from nlohmann's events. Its own builder would search all earlier members of an
// object at each key, which is quadratic in hostile input.
class TreeBuilder {
 public:
  explicit TreeBuilder(Json& root) : root_(root) {}

  // The bool results are nlohmann's interface: false stops the parser.
  bool null() { return Add(nullptr); }
  bool boolean(bool value) { return Add(value); }
  bool number_integer(Json::number_integer_t value) { return Add(value); }
  bool number_unsigned(Json::number_unsigned_t value) { return Add(value); }
  bool number_float(Json::number_float_t value, const std::string&) { return Add(value); }
  bool string(std::string& value) { return Add(std::move(value)); }
  bool binary(Json::binary_t&) { return Refuse("binary value"); }
  bool start_object(size_t) { return Open(Json::object()); }
  bool start_array(size_t) { return Open(Json::array()); }
  bool end_array() { return Close(); }

  bool key(std::string& key) {
    Json::object_t& object = open_.back()->get_ref<Json::object_t&>();
    if (object.size() >= kJsonMembersMax) {
      return Refuse(fmt::format("an object with more than {} members", kJsonMembersMax));
    }
    // The vector below ordered_map: no search.
    static_cast<Json::object_t::Container&>(object).emplace_back(std::move(key), nullptr);
    return true;
  }

  bool end_object() {
    const Json::object_t& object = open_.back()->get_ref<const Json::object_t&>();
    std::vector<std::string_view> keys;
    keys.reserve(object.size());
    for (const auto& member : object) keys.emplace_back(member.first);
    std::sort(keys.begin(), keys.end());
    const auto twice = std::adjacent_find(keys.begin(), keys.end());
    if (twice != keys.end()) {
      return Refuse(fmt::format("the key \"{}\" comes twice in an object", twice->substr(0, 100)));
    }
    return Close();
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& error) {
    // "[json.exception.parse_error.101] parse error at ...: reason": the reason is for people.
    const std::string_view what = error.what();
    const size_t reason = what.find("] ");
    return Refuse(fmt::format(
        "byte {}: {}", position,
        reason == std::string_view::npos ? what.substr(0, 300) : what.substr(reason + 2, 300)));
  }

  [[nodiscard]] const std::string& refusal() const { return refusal_; }

 private:
  // Where the next value goes: the open array's end, or the value of the newest key.
  Json* Place(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (open_.back()->is_array()) {
      auto& array = open_.back()->get_ref<Json::array_t&>();
      array.push_back(std::move(value));
      return &array.back();
    }
    auto& member = open_.back()->get_ref<Json::object_t&>().back();
    member.second = std::move(value);
    return &member.second;
  }
  bool Add(Json value) {
    Place(std::move(value));
    return true;
  }
  bool Open(Json value) {
    if (open_.size() >= kJsonDepthMax) {
      return Refuse(fmt::format("nested deeper than {} levels", kJsonDepthMax));
    }
    open_.push_back(Place(std::move(value)));
    return true;
  }
  bool Close() {
    open_.pop_back();
    return true;
  }
  bool Refuse(std::string why) {
    refusal_ = std::move(why);
    return false;
  }

  Json& root_;
  std::vector<Json*> open_;  // containers from the root inwards; only the last one grows
  std::string refusal_;
};

}  // namespace

ApiResult<Json> ParseJson(std::string_view text) {
  Json root;
  TreeBuilder builder(root);
  if (!Json::sax_parse(text.begin(), text.end(), &builder)) {
    return tl::make_unexpected(InvalidBody("the body is not valid JSON: " + builder.refusal()));
  }
  return root;
}

ApiResult<Json> ParseJsonObject(std::string_view body) {
  Json root = WEIR_TRY(ParseJson(body));
  if (!root.is_object()) {
    return tl::make_unexpected(InvalidBody(
        fmt::format("the body must be a JSON object, and is of type {}", root.type_name())));
  }
  return root;
}

std::string DumpJson(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace weir
