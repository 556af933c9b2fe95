// Values of the template engine: what Python objects a chat template can meet.
//
// Immutable but for namespaces; shared by reference. Lists and dicts know their nesting depth,
// which is bounded, so that recursion over a value (also its destruction) is bounded too.
//
// Threads: one rendering at a time, except literals of a template, which nobody changes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "jinja/meter.h"
#include "jinja/text.h"

namespace weir::jinja {

struct List;
class Dict;
struct Namespace;
struct Loop;
struct Callable;

struct Undefined {
  std::shared_ptr<const std::string> reason;  // null: just "undefined"
};
struct None {};

class Value {
 public:
  using TextPtr = std::shared_ptr<const Text>;
  using ListPtr = std::shared_ptr<const List>;
  using DictPtr = std::shared_ptr<const Dict>;
  using NamespacePtr = std::shared_ptr<Namespace>;
  using LoopPtr = std::shared_ptr<const Loop>;
  using CallablePtr = std::shared_ptr<const Callable>;
  // uint64_t holds only integers above INT64_MAX, which can be printed and compared, no more.
  using Storage = std::variant<Undefined, None, bool, int64_t, uint64_t, double, TextPtr, ListPtr,
                               DictPtr, NamespacePtr, LoopPtr, CallablePtr>;

  Value() = default;  // undefined
  template <class T>
  requires(!std::is_same_v<std::remove_cvref_t<T>, Value>) explicit Value(T&& value)
      : storage_(std::forward<T>(value)) {}
  static Value FromText(Text text) { return Value(std::make_shared<const Text>(std::move(text))); }
  static Value FromString(std::string text) { return FromText(Text(std::move(text))); }
  static Value UndefinedBecause(std::string reason);

  template <class T>
  [[nodiscard]] const T* As() const {
    return std::get_if<T>(&storage_);
  }
  [[nodiscard]] const Text* text() const { return Get<TextPtr>(); }
  [[nodiscard]] const List* list() const { return Get<ListPtr>(); }
  [[nodiscard]] const Dict* dict() const { return Get<DictPtr>(); }
  [[nodiscard]] const Callable* callable() const { return Get<CallablePtr>(); }
  [[nodiscard]] const Loop* loop() const { return Get<LoopPtr>(); }
  [[nodiscard]] Namespace* name_space() const { return Get<NamespacePtr>(); }
  [[nodiscard]] bool is_undefined() const { return As<Undefined>() != nullptr; }
  [[nodiscard]] bool is_none() const { return As<None>() != nullptr; }
  [[nodiscard]] bool is_number() const;  // bool included, as in Python

  [[nodiscard]] uint32_t depth() const;
  // Python's name: "str", "NoneType", ...
  [[nodiscard]] std::string_view type_name() const;
  [[nodiscard]] bool IsTrue() const;

 private:
  template <class Pointer>
  [[nodiscard]] typename Pointer::element_type* Get() const {
    const Pointer* pointer = As<Pointer>();
    return pointer == nullptr ? nullptr : pointer->get();
  }

  Storage storage_;
};

// kView: dict.items() and its kin. kIterator: what map, select, reversed, ... give in Python.
enum class ListKind : uint8_t { kList, kTuple, kRange, kView, kIterator };

struct List {
  ListKind kind = ListKind::kList;
  uint32_t depth = 1;
  std::vector<Value> items;
  mutable bool is_spent = false;  // an iterator gives its items once
};

class Dict {
 public:
  // kInvalidArgument for a key that Python cannot hash.
  Result<void> Set(Value key, Value value);
  // Null if absent; the key's type must be hashable to be found.
  [[nodiscard]] const Value* Find(const Value& key) const;
  [[nodiscard]] const Value* Find(std::string_view key) const;
  [[nodiscard]] const std::vector<std::pair<Value, Value>>& entries() const { return entries_; }
  [[nodiscard]] uint32_t depth() const { return depth_; }

 private:
  std::vector<std::pair<Value, Value>> entries_;  // in order of insertion
  std::map<std::string, size_t, std::less<>> index_;
  uint32_t depth_ = 1;
};

struct Namespace {
  std::map<std::string, Value, std::less<>> attributes;
};

// The variable `loop`. `position` moves on.
struct Loop {
  std::shared_ptr<const std::vector<Value>> items;  // never null
  mutable size_t position = 0;
  uint32_t depth = 1;
};

// 32 bytes for each item, then the depth check.
Result<Value> MakeList(Meter& meter, std::vector<Value> items, ListKind kind = ListKind::kList);
Result<Value> MakeText(Meter& meter, Text text);
Result<Value> MakeDict(Meter& meter, Dict dict);

// Python's ==. The work is charged.
Result<bool> Equal(Meter& meter, const Value& left, const Value& right);
// Negative, 0 or positive; fails for types that Python does not order.
Result<int> Compare(Meter& meter, const Value& left, const Value& right);

// Why an undefined value is undefined: "'foo' is undefined".
[[nodiscard]] std::string UndefinedReason(const Value& value);

// An integer (or bool), or fails naming `what`.
Result<int64_t> ToInteger(const Value& value, std::string_view what);
[[nodiscard]] double ToDouble(const Value& number);

// The items of anything iterable: list, dict keys, characters, undefined (none).
Result<std::vector<Value>> ToItems(Meter& meter, const Value& value);
// The same without a copy where `value` is a list.
Result<std::shared_ptr<const std::vector<Value>>> ShareItems(Meter& meter, const Value& value);

[[nodiscard]] inline tl::unexpected<Error> TemplateError(std::string message) {
  return Fail(ErrorCode::kInvalidArgument, std::move(message));
}

}  // namespace weir::jinja
