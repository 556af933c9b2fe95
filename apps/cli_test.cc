#include "cli.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "support/gguf_builder.h"

namespace weir {
namespace {

using test::GgufBuilder;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

struct Outcome {
  int exit_code = 0;
  std::string out;
  std::string err;
};

// Runs `weir` with these arguments, in this process.
Outcome Weir(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "weir");
  std::vector<const char*> argv;
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  argv.push_back(nullptr);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Outcome outcome;
  outcome.exit_code = RunCommandLine(static_cast<int>(arguments.size()), argv.data());
  std::fflush(stdout);
  outcome.out = testing::internal::GetCapturedStdout();
  outcome.err = testing::internal::GetCapturedStderr();
  return outcome;
}

class CommandLine : public testing::Test {
 protected:
  CommandLine() { std::filesystem::create_directories(folder_); }
  ~CommandLine() override {
    for (const char* name : {"WEIR_MODEL", "WEIR_CTX", "WEIR_CONFIG", "WEIR_WINDOW"})
      unsetenv(name);
    std::filesystem::remove_all(folder_);
  }

  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = folder_ / name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  // 6 layers, every 6th full, 1 KV head of 256 and 256: 1 KiB a token and layer.
  std::string WriteGemma() {
    GgufBuilder builder;
    builder.String("general.architecture", "gemma3")
        .U32("gemma3.block_count", 6)
        .U32("gemma3.context_length", 4096)
        .U32("gemma3.embedding_length", 640)
        .U32("gemma3.feed_forward_length", 64)
        .U32("gemma3.attention.head_count", 4)
        .U32("gemma3.attention.head_count_kv", 1)
        .U32("gemma3.attention.key_length", 256)
        .U32("gemma3.attention.value_length", 256)
        .U32("gemma3.attention.sliding_window", 512)
        .F32Tensor("token_embd.weight", {640, 4});
    const auto bytes = builder.Bytes();
    return Write("gemma.gguf", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }

  std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) /
                                  ("cli_" + std::to_string(getpid()) + "_" +
                                   testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(CommandLine, ListsItsCommands) {
  const Outcome help = Weir({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, AllOf(HasSubstr("inspect"), HasSubstr("plan")));
  EXPECT_EQ(Weir({}).exit_code, 2);
  EXPECT_THAT(Weir({"--version"}).out, testing::MatchesRegex("weir [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST_F(CommandLine, FitsEveryHelpOnAScreen) {
  const std::string commands = Weir({"--help"}).out;
  size_t at = commands.find("Commands:\n") + 10;
  size_t seen = 0;
  while (commands.compare(at, 2, "  ") == 0) {
    const std::string name = commands.substr(at + 2, commands.find(' ', at + 2) - at - 2);
    const Outcome help = Weir({name, "--help"});
    EXPECT_EQ(help.exit_code, 0) << name;
    EXPECT_LE(std::count(help.out.begin(), help.out.end(), '\n'), 40) << name;
    std::istringstream lines(help.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
    at = commands.find('\n', at) + 1;
    ++seen;
  }
  EXPECT_EQ(seen, 8U);
}

TEST_F(CommandLine, EndsWith2AndOneLineWhenItIsWrong) {
  const std::string model = WriteGemma();
  for (const auto& arguments :
       std::vector<std::vector<std::string>>{{"nonsense"},
                                             {"--model", model},
                                             {"plan"},
                                             {"plan", model, "--no-such-flag"},
                                             {"plan", model, "surplus"},
                                             {"plan", model, "--ctx"},
                                             {"plan", model, "--ctx", "-5"},
                                             {"plan", model, "--ctx", "4294967295"},
                                             {"plan", model, "--ctx", "99999999999999999999"},
                                             {"plan", model, "--ctx", "many\nlines"},
                                             {"plan", model, "--window", "0"},
                                             {"plan", model, "--window", "-3"},
                                             {"plan", model, "--window", "4097"},
                                             {"plan", model, "--kv-memory", "much"},
                                             {"plan", model, "--config", "/no/such/file"},
                                             {"inspect", folder_}}) {
    const Outcome outcome = Weir(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments.back();
    EXPECT_EQ(outcome.out, "") << arguments.back();
    EXPECT_EQ(outcome.err.rfind("weir: ", 0), 0U) << outcome.err;
    EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
  }
}

TEST_F(CommandLine, EndsWith1WhenAFileIsMissingOrForeign) {
  const Outcome missing = Weir({"inspect", "/no/such/file"});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_EQ(missing.err, "weir: cannot open '/no/such/file': No such file or directory\n");
  const Outcome foreign = Weir({"inspect", Write("f", "#!/bin/sh\n")});
  EXPECT_EQ(foreign.exit_code, 1);
  EXPECT_THAT(foreign.err, HasSubstr("not a GGUF file"));
}

TEST_F(CommandLine, TakesFlagsFromTheLineThenTheFileThenTheEnvironment) {
  const std::string model = WriteGemma();
  setenv("WEIR_MODEL", model.c_str(), 1);
  setenv("WEIR_CTX", "111", 1);
  EXPECT_THAT(Weir({"plan"}).out, HasSubstr("of 111 tokens"));
  const std::string config = Write("weir.toml", "ctx = 222\n");
  EXPECT_THAT(Weir({"plan", "--config", config}).out, HasSubstr("of 222 tokens"));
  EXPECT_THAT(Weir({"plan", "--config", config, "-c", "333"}).out, HasSubstr("of 333 tokens"));
  setenv("WEIR_CONFIG", config.c_str(), 1);
  EXPECT_THAT(Weir({"plan"}).out, HasSubstr("of 222 tokens"));
}

TEST_F(CommandLine, SharesOneConfigFileAmongCommands) {
  const std::string model = WriteGemma();
  // `ctx` is no flag of inspect; sections are for one command and win.
  const std::string config = Write("weir.toml", "model = \"" + model +
                                                    "\"\nctx = 100\n[plan]\nctx = 200\n"
                                                    "[inspect]\nmodel = \"/elsewhere\"\n");
  EXPECT_THAT(Weir({"plan", "--config", config}).out, HasSubstr("of 200 tokens"));
  EXPECT_THAT(Weir({"inspect", "--config", config}).err, HasSubstr("'/elsewhere'"));
  const std::string typo = Write("typo.toml", "ctxx = 100\n");
  const Outcome outcome = Weir({"plan", model, "--config", typo});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("ctxx"));
}

TEST_F(CommandLine, PlansTheBytesOfAContext) {
  const Outcome outcome = Weir({"plan", WriteGemma(), "-c", "4096", "--kv-memory", "1G"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  // 1 full layer of 1 KiB a token; 5 window layers of at most 5 tiles; 6 layers without windows.
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("(4194304 bytes)"), HasSubstr("(3276800 bytes)"),
                                 HasSubstr("(25165824 bytes)"), HasSubstr("(6.00x)"),
                                 HasSubstr("1.00 GiB hold 143 such sequences")));
}

TEST_F(CommandLine, PlansWithAnotherWindow) {
  const std::string model = WriteGemma();
  // 5 window layers of at most ceil(128 / 128) + 1 = 2 tiles of 128 KiB.
  EXPECT_THAT(Weir({"plan", model, "-c", "4096", "--window", "129"}).out,
              HasSubstr("(1310720 bytes)"));
  setenv("WEIR_WINDOW", "129", 1);
  EXPECT_THAT(Weir({"plan", model, "-c", "4096"}).out, HasSubstr("(1310720 bytes)"));
  const Outcome longer = Weir({"plan", model, "--window", "4097"});
  EXPECT_EQ(longer.exit_code, 2);
  EXPECT_THAT(longer.err, HasSubstr("4097 tokens is longer than the model's context of 4096"));
}

TEST_F(CommandLine, PlansAModelWithoutWindowsInOneFigure) {
  GgufBuilder builder;
  builder.String("general.architecture", "llama")
      .U32("llama.block_count", 2)
      .U32("llama.context_length", 4096)
      .U32("llama.embedding_length", 64)
      .U32("llama.attention.head_count", 2)
      .F32Tensor("token_embd.weight", {64, 4});
  const auto bytes = builder.Bytes();
  const Outcome outcome = Weir(
      {"plan", Write("llama.gguf", {reinterpret_cast<const char*>(bytes.data()), bytes.size()})});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  // 2 layers of 2 heads of 32, K and V, 2 bytes each
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("Every layer is full. A further token adds 512 B."),
                                 Not(HasSubstr(", not "))));
}

TEST_F(CommandLine, RefusesABenchThatNoMemoryHoldsBeforeItMeasures) {
  const Outcome outcome = Weir({"bench", "-m", WriteGemma(), "-p", "16,999999999"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("pp999999999"), HasSubstr("of KV memory are above")));
}

TEST_F(CommandLine, InspectsMetadataGroupsAndTensors) {
  const Outcome outcome = Weir({"inspect", WriteGemma()});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("gemma3.attention.sliding_window"), HasSubstr("wwwwwF"),
                    HasSubstr("640.0 KiB"), HasSubstr("F32"), Not(HasSubstr("cannot run"))));
}

TEST_F(CommandLine, StillShowsTheMetadataOfAFileItCannotUse) {
  GgufBuilder builder;
  builder.String("general.architecture", "llama").Tensor("w", {256, 1}, 11, 110);
  const auto bytes = builder.Bytes();
  const std::string path =
      Write("q3.gguf", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  const Outcome outcome = Weir({"inspect", path});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("general.architecture"));
  EXPECT_THAT(outcome.err, HasSubstr("Q3_K"));
}

}  // namespace
}  // namespace weir
