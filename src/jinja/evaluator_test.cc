#include "jinja/evaluator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "jinja/parser.h"

// What templates write is compared with Python's in text/chat_template_golden_test.cc.
namespace weir::jinja {
namespace {

using ::testing::HasSubstr;

Result<std::string> Render(std::string_view source) {
  const Body body = WEIR_TRY(Parse(source));
  Meter meter(Limits{});
  Evaluator evaluator(meter, {});
  const Text output = WEIR_TRY(evaluator.Run(body));
  return std::string(output.view());
}

std::string FailureOf(std::string_view source) {
  const auto output = Render(source);
  EXPECT_FALSE(output.has_value());
  return output ? std::string() : output.error().message;
}

TEST(Evaluator, ErrorsNameLineAndConstruct) {
  EXPECT_EQ(FailureOf("a\nb\n{% include 'x' %}"),
            "template line 3: unsupported statement 'include'");
  EXPECT_EQ(FailureOf("\n{{ 1 | wordwrap }}"), "template line 2: unsupported filter 'wordwrap'");
  EXPECT_EQ(FailureOf("{% for i in x recursive %}{% endfor %}"),
            "template line 1: unsupported 'recursive' loop");
  EXPECT_EQ(FailureOf("{% if true %}\n\n{{ user.name }}{% endif %}"),
            "template line 3: 'user' is undefined");
  EXPECT_EQ(FailureOf("{{ 'a' + {}.y }}"), "template line 1: 'dict object' has no attribute 'y'");
  EXPECT_EQ(FailureOf("{{ raise_exception('Roles must alternate.') }}"), "Roles must alternate.");
}

TEST(Evaluator, HostileTemplatesEndInAnError) {
  const auto fails_with = [](std::string_view source, std::string_view why) {
    EXPECT_THAT(FailureOf(source), HasSubstr(why)) << source;
  };
  fails_with(
      "{% set ns = namespace(s='x') %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% "
      "endfor %}",
      "bytes");
  fails_with("{{ 'x' * 999999999999 }}", "bytes");
  fails_with("{% set r = range(99999) %}{% for i in r %}{% for j in r %}{% endfor %}{% endfor %}",
             "steps");
  fails_with("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "nested deeper");
  fails_with(
      "{% set ns = namespace(s=[]) %}{% for i in range(999) %}{% set ns.s = [ns.s] %}{% endfor %}",
      "nested deeper");
  fails_with("{{ " + std::string(5000, '(') + "1" + std::string(5000, ')') + " }}",
             "nested deeper");
  fails_with("{{ " + std::string(5000, '-') + "1 }}", "nested deeper");
  std::string sum = "{{ 1";
  for (int i = 0; i < 5000; ++i) sum += " + 1";
  fails_with(sum + " }}", "nested deeper");
  std::string ifs;
  for (int i = 0; i < 5000; ++i) ifs += "{% if true %}";
  fails_with(ifs, "nested deeper");
}

TEST(Evaluator, NamespacesThatHoldThemselvesAreFreed) {  // the leak checker's test
  const auto output =
      Render("{% set ns = namespace() %}{% set ns.self = ns %}{{ ns.self.self is defined }}");
  ASSERT_TRUE(output.has_value());
  EXPECT_EQ(*output, "True");
}

}  // namespace
}  // namespace weir::jinja
