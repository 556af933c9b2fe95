// Methods that cut strings into pieces; pieces keep their origin.
#include <algorithm>

#include "jinja/text_methods.h"

namespace weir::jinja {

namespace {

constexpr size_t kNone = std::string_view::npos;

using Cut = std::pair<size_t, size_t>;  // bytes [begin, end)

Result<Value> MakePieces(Meter& meter, const Text& text, const std::vector<Cut>& cuts,
                         ListKind kind = ListKind::kList) {
  std::vector<Value> pieces;
  pieces.reserve(cuts.size());
  for (const auto& [begin, end] : cuts) {
    pieces.push_back(WEIR_TRY(MakeText(meter, text.Slice(begin, end))));
  }
  return MakeList(meter, std::move(pieces), kind);
}

struct SplitArguments {
  const Text* separator = nullptr;  // null: runs of white space
  size_t max_cuts = kNone;
};

Result<SplitArguments> ReadArguments(Meter& meter, const Value& self, const Arguments& arguments,
                                     std::string_view method) {
  const auto bound = WEIR_TRY(Bind(arguments, method, {"sep", "maxsplit"}));
  WEIR_TRY(meter.Scan(self.text()->byte_count()));
  SplitArguments split;
  if (bound[0] != nullptr && !bound[0]->is_none()) {
    split.separator = WEIR_TRY(TextArgument(bound[0], method));
    if (split.separator->byte_count() == 0) return TemplateError("the separator is empty");
  }
  if (bound[1] != nullptr) {
    const int64_t count = WEIR_TRY(ToInteger(*bound[1], "'maxsplit'"));
    if (count >= 0) split.max_cuts = static_cast<size_t>(count);
  }
  return split;
}

std::vector<Cut> CutAtSpace(std::string_view view, size_t max_cuts) {
  std::vector<Cut> cuts;
  for (size_t at = SkipSpace(view, 0); at < view.size();) {
    if (cuts.size() == max_cuts) {
      cuts.emplace_back(at, view.size());
      break;
    }
    size_t end = at;
    while (end < view.size() && SkipSpace(view, end) == end) end = NextCharacter(view, end);
    cuts.emplace_back(at, end);
    at = SkipSpace(view, end);
  }
  return cuts;
}

std::vector<Cut> CutAtSpaceFromRight(std::string_view view, size_t max_cuts) {
  std::vector<Cut> cuts;
  for (size_t end = EndWithoutSpace(view); end > 0;) {
    if (cuts.size() == max_cuts) {
      cuts.emplace_back(0, end);
      break;
    }
    size_t begin = end;  // back over bytes until white space ends there
    while (begin > 0 && EndWithoutSpace(view.substr(0, begin)) == begin) {
      --begin;
      while (begin > 0 && (static_cast<unsigned char>(view[begin]) & 0xC0) == 0x80) --begin;
    }
    cuts.emplace_back(begin, end);
    end = EndWithoutSpace(view.substr(0, begin));
  }
  std::reverse(cuts.begin(), cuts.end());
  return cuts;
}

}  // namespace

Result<Value> SplitMethod(Meter& meter, const Value& self, const Arguments& arguments) {
  const SplitArguments split = WEIR_TRY(ReadArguments(meter, self, arguments, "split"));
  const std::string_view view = self.text()->view();
  if (split.separator == nullptr) {
    return MakePieces(meter, *self.text(), CutAtSpace(view, split.max_cuts));
  }
  std::vector<Cut> cuts;
  size_t begin = 0;
  while (cuts.size() < split.max_cuts) {
    const size_t found = view.find(split.separator->view(), begin);
    if (found == kNone) break;
    cuts.emplace_back(begin, found);
    begin = found + split.separator->byte_count();
  }
  cuts.emplace_back(begin, view.size());
  return MakePieces(meter, *self.text(), cuts);
}

Result<Value> RightSplitMethod(Meter& meter, const Value& self, const Arguments& arguments) {
  const SplitArguments split = WEIR_TRY(ReadArguments(meter, self, arguments, "rsplit"));
  const std::string_view view = self.text()->view();
  if (split.separator == nullptr) {
    return MakePieces(meter, *self.text(), CutAtSpaceFromRight(view, split.max_cuts));
  }
  std::vector<Cut> cuts;
  size_t end = view.size();
  while (cuts.size() < split.max_cuts) {
    const size_t found = view.substr(0, end).rfind(split.separator->view());
    if (found == kNone) break;
    cuts.emplace_back(found + split.separator->byte_count(), end);
    end = found;
  }
  cuts.emplace_back(0, end);
  std::reverse(cuts.begin(), cuts.end());
  return MakePieces(meter, *self.text(), cuts);
}

namespace {

bool EndsLine(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

}  // namespace

Result<Value> SplitLinesMethod(Meter& meter, const Value& self, const Arguments& arguments) {
  const auto bound = WEIR_TRY(Bind(arguments, "splitlines", {"keepends"}));
  const bool keeps_ends = bound[0] != nullptr && bound[0]->IsTrue();
  const std::string_view view = self.text()->view();
  WEIR_TRY(meter.Scan(view.size()));
  std::vector<Cut> cuts;
  size_t begin = 0;
  for (size_t at = 0; at < view.size();) {
    size_t next = NextCharacter(view, at);
    const bool is_invalid = next == at + 1 && static_cast<signed char>(view[at]) < 0;
    if (!is_invalid && EndsLine(CodePointAt(view, at))) {
      if (view.substr(at, 2) == "\r\n") ++next;
      cuts.emplace_back(begin, keeps_ends ? next : at);
      begin = next;
    }
    at = next;
  }
  if (begin < view.size()) cuts.emplace_back(begin, view.size());
  return MakePieces(meter, *self.text(), cuts);
}

namespace {

Result<Value> Partition(Meter& meter, const Value& self, const Arguments& arguments,
                        bool from_right) {
  const auto bound = WEIR_TRY(Bind(arguments, "partition", {"sep"}));
  const Text* separator = WEIR_TRY(TextArgument(bound[0], "partition"));
  if (separator->byte_count() == 0) return TemplateError("the separator is empty");
  const std::string_view view = self.text()->view();
  WEIR_TRY(meter.Scan(view.size()));
  const size_t found = from_right ? view.rfind(separator->view()) : view.find(separator->view());
  std::vector<Cut> cuts;
  if (found != kNone) {
    const size_t end = found + separator->byte_count();
    cuts = {{0, found}, {found, end}, {end, view.size()}};
  } else if (from_right) {
    cuts = {{0, 0}, {0, 0}, {0, view.size()}};
  } else {
    cuts = {{0, view.size()}, {0, 0}, {0, 0}};
  }
  return MakePieces(meter, *self.text(), cuts, ListKind::kTuple);
}

}  // namespace

Result<Value> PartitionMethod(Meter& meter, const Value& self, const Arguments& arguments) {
  return Partition(meter, self, arguments, false);
}

Result<Value> RightPartitionMethod(Meter& meter, const Value& self, const Arguments& arguments) {
  return Partition(meter, self, arguments, true);
}

}  // namespace weir::jinja
