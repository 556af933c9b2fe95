#include "jinja/text_methods.h"

#include <algorithm>
#include <array>

#include "jinja/case.h"
#include "jinja/format.h"
#include "jinja/write.h"

namespace weir::jinja {

namespace {

constexpr size_t kNone = std::string_view::npos;

Value Integer(size_t value) { return Value(static_cast<int64_t>(value)); }

enum class Side : uint8_t { kLeft, kRight, kBoth };

bool IsOneOf(std::string_view character, std::string_view set) {
  for (size_t at = 0; at < set.size();) {
    const size_t next = NextCharacter(set, at);
    if (set.substr(at, next - at) == character) return true;
    at = next;
  }
  return false;
}

// Strips characters of `set` from the ends of `view`.
std::pair<size_t, size_t> StripSet(std::string_view view, std::string_view set, Side side) {
  size_t begin = 0;
  size_t end = view.size();
  while (side != Side::kRight && begin < end) {
    const size_t next = NextCharacter(view, begin);
    if (!IsOneOf(view.substr(begin, next - begin), set)) break;
    begin = next;
  }
  while (side != Side::kLeft && end > begin) {
    size_t last = end - 1;
    while (last > begin && (static_cast<unsigned char>(view[last]) & 0xC0) == 0x80) --last;
    if (!IsOneOf(view.substr(last, end - last), set)) break;
    end = last;
  }
  return {begin, end};
}

Result<Value> StripSide(Meter& meter, const Value& self, const Arguments& arguments, Side side) {
  const auto bound = WEIR_TRY(Bind(arguments, "strip", {"chars"}));
  const std::string_view view = self.text()->view();
  if (bound[0] == nullptr || bound[0]->is_none()) {
    const size_t end = side == Side::kLeft ? view.size() : EndWithoutSpace(view);
    const size_t begin = side == Side::kRight ? 0 : std::min(SkipSpace(view, 0), end);
    return MakeText(meter, self.text()->Slice(begin, end));
  }
  const Text* set = WEIR_TRY(TextArgument(bound[0], "strip"));
  WEIR_TRY(meter.Step(1 + view.size() / 64 * (1 + set->byte_count())));
  const auto [begin, end] = StripSet(view, set->view(), side);
  return MakeText(meter, self.text()->Slice(begin, end));
}

Result<Value> Strip(Meter& meter, const Value& self, const Arguments& arguments) {
  return StripSide(meter, self, arguments, Side::kBoth);
}
Result<Value> LeftStrip(Meter& meter, const Value& self, const Arguments& arguments) {
  return StripSide(meter, self, arguments, Side::kLeft);
}
Result<Value> RightStrip(Meter& meter, const Value& self, const Arguments& arguments) {
  return StripSide(meter, self, arguments, Side::kRight);
}

// startswith, endswith: one string or a tuple of them.
template <class Matches>
Result<Value> MatchesAny(Meter& meter, const Arguments& arguments, std::string_view method,
                         const Matches& matches) {
  const auto bound = WEIR_TRY(Bind(arguments, method, {"prefix"}));
  const List* list = bound[0] == nullptr ? nullptr : bound[0]->list();
  if (list == nullptr || list->kind != ListKind::kTuple) {
    return Value(matches(WEIR_TRY(TextArgument(bound[0], method))->view()));
  }
  for (const Value& item : list->items) {
    WEIR_TRY(meter.Step());
    if (matches(WEIR_TRY(TextArgument(&item, method))->view())) return Value(true);
  }
  return Value(false);
}

Result<Value> StartsWith(Meter& meter, const Value& self, const Arguments& arguments) {
  return MatchesAny(meter, arguments, "startswith", [&](std::string_view prefix) {
    return self.text()->view().starts_with(prefix);
  });
}

Result<Value> EndsWith(Meter& meter, const Value& self, const Arguments& arguments) {
  return MatchesAny(meter, arguments, "endswith",
                    [&](std::string_view suffix) { return self.text()->view().ends_with(suffix); });
}

Result<Value> Replace(Meter& meter, const Value& self, const Arguments& arguments) {
  const auto bound = WEIR_TRY(Bind(arguments, "replace", {"old", "new", "count"}));
  const Text* old_text = WEIR_TRY(TextArgument(bound[0], "replace"));
  const Text* new_text = WEIR_TRY(TextArgument(bound[1], "replace"));
  const int64_t limit = bound[2] == nullptr ? -1 : WEIR_TRY(ToInteger(*bound[2], "a count"));
  const Text& text = *self.text();
  const std::string_view view = text.view();
  WEIR_TRY(meter.Allocate(text.Footprint()));
  Text out;
  size_t done = 0;    // copied so far
  size_t search = 0;  // an empty `old` matches before each character and at the end
  for (int64_t count = 0; count != limit; ++count) {
    const size_t found = search > view.size() ? kNone : view.find(old_text->view(), search);
    if (found == kNone) break;
    WEIR_TRY(meter.Allocate(new_text->Footprint()));
    out.AppendSlice(text, done, found);
    out.Append(*new_text);
    done = found + old_text->byte_count();
    search = done;
    if (old_text->byte_count() == 0) {
      search = found < view.size() ? NextCharacter(view, found) : view.size() + 1;
    }
  }
  out.AppendSlice(text, done, view.size());
  return MakeText(meter, std::move(out));
}

using Change = std::string (*)(std::string_view);

Result<Value> Changed(Meter& meter, const Value& self, const Arguments& arguments, Change change) {
  WEIR_TRY(Bind(arguments, "upper", {}));
  WEIR_TRY(meter.Scan(self.text()->byte_count()));
  return MakeText(meter, WithOrigin(change(self.text()->view()), *self.text()));
}

Result<Value> Upper(Meter& meter, const Value& self, const Arguments& arguments) {
  return Changed(meter, self, arguments, ToUpper);
}
Result<Value> Lower(Meter& meter, const Value& self, const Arguments& arguments) {
  return Changed(meter, self, arguments, ToLower);
}
Result<Value> CapitalizeMethod(Meter& meter, const Value& self, const Arguments& arguments) {
  return Changed(meter, self, arguments, Capitalize);
}
Result<Value> Title(Meter& meter, const Value& self, const Arguments& arguments) {
  return Changed(meter, self, arguments, ToTitle);
}

Result<Value> Join(Meter& meter, const Value& self, const Arguments& arguments) {
  const auto bound = WEIR_TRY(Bind(arguments, "join", {"iterable"}));
  if (bound[0] == nullptr) return TemplateError("'join' needs something to join");
  Text out;
  bool is_first = true;
  for (const Value& item : WEIR_TRY(ToItems(meter, *bound[0]))) {
    const Text* text = WEIR_TRY(TextArgument(&item, "join"));
    WEIR_TRY(meter.Allocate(text->Footprint() + self.text()->Footprint()));
    if (!is_first) out.Append(*self.text());
    is_first = false;
    out.Append(*text);
  }
  return MakeText(meter, std::move(out));
}

// The byte offset of the first or last match, or kNone.
Result<size_t> Find(Meter& meter, const Value& self, const Arguments& arguments, Side from) {
  const auto bound = WEIR_TRY(Bind(arguments, "find", {"sub"}));
  const Text* wanted = WEIR_TRY(TextArgument(bound[0], "find"));
  const std::string_view view = self.text()->view();
  WEIR_TRY(meter.Scan(view.size()));
  return from == Side::kLeft ? view.find(wanted->view()) : view.rfind(wanted->view());
}

Result<Value> FindFrom(Meter& meter, const Value& self, const Arguments& arguments, Side from) {
  const size_t found = WEIR_TRY(Find(meter, self, arguments, from));
  if (found == kNone) return Value(int64_t{-1});
  return Integer(CountCharacters(self.text()->view().substr(0, found)));
}
Result<Value> FindLeft(Meter& meter, const Value& self, const Arguments& arguments) {
  return FindFrom(meter, self, arguments, Side::kLeft);
}
Result<Value> FindRight(Meter& meter, const Value& self, const Arguments& arguments) {
  return FindFrom(meter, self, arguments, Side::kRight);
}
Result<Value> Index(Meter& meter, const Value& self, const Arguments& arguments) {
  const Value found = WEIR_TRY(FindLeft(meter, self, arguments));
  if (*found.As<int64_t>() < 0) return TemplateError("'index' does not find the substring");
  return found;
}

Result<Value> Count(Meter& meter, const Value& self, const Arguments& arguments) {
  const auto bound = WEIR_TRY(Bind(arguments, "count", {"sub"}));
  const Text* wanted = WEIR_TRY(TextArgument(bound[0], "count"));
  const std::string_view view = self.text()->view();
  WEIR_TRY(meter.Scan(view.size()));
  if (wanted->byte_count() == 0) return Integer(CountCharacters(view) + 1);
  size_t count = 0;
  for (size_t at = view.find(wanted->view()); at != kNone;
       at = view.find(wanted->view(), at + wanted->byte_count())) {
    ++count;
  }
  return Integer(count);
}

Result<Value> Format(Meter& meter, const Value& self, const Arguments& arguments) {
  return FormatBraces(meter, *self.text(), arguments);
}

using CharacterTest = bool (*)(char32_t);

Result<Value> AllCharacters(Meter& meter, const Value& self, const Arguments& arguments,
                            CharacterTest test) {
  WEIR_TRY(Bind(arguments, "isdigit", {}));
  const std::string_view view = self.text()->view();
  WEIR_TRY(meter.Scan(view.size()));
  for (size_t at = 0; at < view.size(); at = NextCharacter(view, at)) {
    if (!test(CodePointAt(view, at))) return Value(false);
  }
  return Value(!view.empty());
}

Result<Value> IsDigit(Meter& meter, const Value& self, const Arguments& arguments) {
  return AllCharacters(meter, self, arguments, [](char32_t c) { return c >= '0' && c <= '9'; });
}
Result<Value> IsSpaceMethod(Meter& meter, const Value& self, const Arguments& arguments) {
  return AllCharacters(meter, self, arguments, IsSpace);
}

Result<Value> HasCase(Meter& meter, const Value& self, const Arguments& arguments,
                      LetterCase kind) {
  WEIR_TRY(Bind(arguments, "isupper", {}));
  WEIR_TRY(meter.Scan(self.text()->byte_count()));
  return Value(IsAllCase(self.text()->view(), kind));
}
Result<Value> IsUpper(Meter& meter, const Value& self, const Arguments& arguments) {
  return HasCase(meter, self, arguments, LetterCase::kUpper);
}
Result<Value> IsLower(Meter& meter, const Value& self, const Arguments& arguments) {
  return HasCase(meter, self, arguments, LetterCase::kLower);
}

Result<Value> RemovePrefix(Meter& meter, const Value& self, const Arguments& arguments) {
  const auto bound = WEIR_TRY(Bind(arguments, "removeprefix", {"prefix"}));
  const Text* prefix = WEIR_TRY(TextArgument(bound[0], "removeprefix"));
  const Text& text = *self.text();
  const bool matches = text.view().starts_with(prefix->view());
  return MakeText(meter, text.Slice(matches ? prefix->byte_count() : 0, text.byte_count()));
}

Result<Value> RemoveSuffix(Meter& meter, const Value& self, const Arguments& arguments) {
  const auto bound = WEIR_TRY(Bind(arguments, "removesuffix", {"suffix"}));
  const Text* suffix = WEIR_TRY(TextArgument(bound[0], "removesuffix"));
  const Text& text = *self.text();
  const bool matches = text.view().ends_with(suffix->view());
  return MakeText(meter, text.Slice(0, text.byte_count() - (matches ? suffix->byte_count() : 0)));
}

constexpr std::array<TextMethodEntry, 28> kTextMethods = {{{"strip", Strip},
                                                           {"lstrip", LeftStrip},
                                                           {"rstrip", RightStrip},
                                                           {"split", SplitMethod},
                                                           {"rsplit", RightSplitMethod},
                                                           {"splitlines", SplitLinesMethod},
                                                           {"partition", PartitionMethod},
                                                           {"rpartition", RightPartitionMethod},
                                                           {"startswith", StartsWith},
                                                           {"endswith", EndsWith},
                                                           {"replace", Replace},
                                                           {"upper", Upper},
                                                           {"lower", Lower},
                                                           {"capitalize", CapitalizeMethod},
                                                           {"title", Title},
                                                           {"join", Join},
                                                           {"find", FindLeft},
                                                           {"rfind", FindRight},
                                                           {"index", Index},
                                                           {"count", Count},
                                                           {"format", Format},
                                                           {"isdigit", IsDigit},
                                                           {"isdecimal", IsDigit},
                                                           {"isspace", IsSpaceMethod},
                                                           {"isupper", IsUpper},
                                                           {"islower", IsLower},
                                                           {"removeprefix", RemovePrefix},
                                                           {"removesuffix", RemoveSuffix}}};

}  // namespace

Result<const Text*> TextArgument(const Value* argument, std::string_view method) {
  if (argument != nullptr && argument->text() != nullptr) return argument->text();
  if (argument != nullptr && argument->is_undefined())
    return TemplateError(UndefinedReason(*argument));
  return TemplateError(fmt::format("'{}' needs a string, not '{}'", method,
                                   argument == nullptr ? "nothing" : argument->type_name()));
}

std::span<const TextMethodEntry> TextMethods() { return kTextMethods; }

}  // namespace weir::jinja
