#include "jinja/functions.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace weir::jinja {

namespace {

constexpr std::array<std::string_view, 12> kMonths = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};
constexpr std::array<std::string_view, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};
constexpr int64_t kMaxRange = 100'000;  // as jinja2's sandbox

bool IsLeap(int year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

int DayOfYear(const Date& date) {  // from 1
  static constexpr int kBefore[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
  return kBefore[date.month - 1] + date.day + (date.month > 2 && IsLeap(date.year) ? 1 : 0);
}

int DayOfWeek(const Date& date) {  // 0: Sunday
  const int years = date.year - 1;
  return (years + years / 4 - years / 100 + years / 400 + DayOfYear(date)) % 7;
}

std::optional<std::string> FormatCode(const Date& date, char code) {
  const std::string_view month = kMonths[static_cast<size_t>(date.month - 1)];
  const std::string_view day = kDays[static_cast<size_t>(DayOfWeek(date))];
  switch (code) {
    case 'Y':
      return fmt::format("{}", date.year);
    case 'y':
      return fmt::format("{:02}", date.year % 100);
    case 'm':
      return fmt::format("{:02}", date.month);
    case 'd':
      return fmt::format("{:02}", date.day);
    case 'e':
      return fmt::format("{:2}", date.day);
    case 'B':
      return std::string(month);
    case 'b':
    case 'h':
      return std::string(month.substr(0, 3));
    case 'A':
      return std::string(day);
    case 'a':
      return std::string(day.substr(0, 3));
    case 'j':
      return fmt::format("{:03}", DayOfYear(date));
    case 'F':
      return fmt::format("{}-{:02}-{:02}", date.year, date.month, date.day);
    case 'H':
    case 'M':
    case 'S':
      return "00";
    case 'I':
      return "12";
    case 'p':
      return "AM";
    case '%':
      return "%";
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<Date> ParseDate(std::string_view text) {
  Date date;
  const size_t first = text.find(' ');
  const size_t second = text.find(' ', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return std::nullopt;
  const auto parse = [](std::string_view part, int& value) {
    const auto parsed = std::from_chars(part.data(), part.data() + part.size(), value);
    return parsed.ec == std::errc() && parsed.ptr == part.data() + part.size();
  };
  if (!parse(text.substr(0, first), date.day) || !parse(text.substr(second + 1), date.year)) {
    return std::nullopt;
  }
  const std::string_view name = text.substr(first + 1, second - first - 1);
  const auto* month = std::find_if(kMonths.begin(), kMonths.end(), [&](std::string_view known) {
    return known.substr(0, 3) == name;
  });
  date.month = static_cast<int>(month - kMonths.begin()) + 1;
  if (month == kMonths.end() || date.day < 1 || date.day > 31 || date.year < 1 ||
      date.year > 9999) {
    return std::nullopt;
  }
  return date;
}

Result<std::string> FormatDate(const Date& date, std::string_view format) {
  std::string out;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 >= format.size()) {
      out += format[i];
      continue;
    }
    const char code = format[++i];
    const auto text = FormatCode(date, code);
    if (!text) return TemplateError(fmt::format("unsupported date format '%{}'", code));
    out += *text;
  }
  return out;
}

Result<Value> CallRange(Meter& meter, const Arguments& arguments) {
  const auto bound = WEIR_TRY(Bind(arguments, "range", {"start", "stop", "step"}));
  if (bound[0] == nullptr) return TemplateError("'range' needs an argument");
  int64_t numbers[3] = {0, 0, 1};
  if (bound[1] == nullptr) {
    numbers[1] = WEIR_TRY(ToInteger(*bound[0], "a range's bound"));
  } else {
    for (size_t i = 0; i < 3; ++i) {
      if (bound[i] != nullptr) numbers[i] = WEIR_TRY(ToInteger(*bound[i], "a range's bound"));
    }
  }
  const auto [start, stop, step] = numbers;
  if (step == 0) return TemplateError("the step of 'range' is 0");
  std::vector<Value> items;
  __int128 at = start;  // may pass the ends of 64 bits
  for (; step > 0 ? at < stop : at > stop; at += step) {
    if (static_cast<int64_t>(items.size()) >= kMaxRange) {
      return TemplateError(fmt::format("'range' is longer than {}", kMaxRange));
    }
    items.emplace_back(static_cast<int64_t>(at));
  }
  return MakeList(meter, std::move(items), ListKind::kRange);
}

Result<Value> CallDict(Meter& meter, const Arguments& arguments) {
  if (arguments.positional.size() > 1) return TemplateError("'dict' takes one argument");
  Dict dict;
  if (!arguments.positional.empty()) {
    const Value& source = arguments.positional[0];
    if (source.dict() != nullptr) {
      WEIR_TRY(meter.Allocate(source.dict()->entries().size() * 128));
      dict = *source.dict();
    } else {
      for (const Value& pair : WEIR_TRY(ToItems(meter, source))) {
        std::vector<Value> both = WEIR_TRY(ToItems(meter, pair));
        if (both.size() != 2) return TemplateError("'dict' needs pairs");
        WEIR_TRY(dict.Set(std::move(both[0]), std::move(both[1])));
      }
    }
  }
  for (const auto& [name, value] : arguments.named) {
    WEIR_TRY(dict.Set(Value::FromString(name), value));
  }
  return MakeDict(meter, std::move(dict));
}

Result<Value> CallStrftimeNow(const Functions& functions, const Arguments& arguments) {
  const auto bound = WEIR_TRY(Bind(arguments, "strftime_now", {"format"}));
  if (bound[0] == nullptr || bound[0]->text() == nullptr) {
    return TemplateError("'strftime_now' needs a format");
  }
  return Value::FromString(WEIR_TRY(FormatDate(*functions.today, bound[0]->text()->view())));
}

}  // namespace weir::jinja
