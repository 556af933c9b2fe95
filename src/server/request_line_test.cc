#include "server/request_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

RequestRecord Read(uint64_t prompt, uint32_t full_length, TokenSources sources, ResumeVeto veto) {
  RequestRecord record;
  record.id = "cmpl-1";
  record.usage = {.prompt_tokens = prompt, .completion_tokens = 5, .prompt_sources = sources};
  record.full_length = full_length;
  record.veto = veto;
  record.first_token_seconds = 0.061;
  record.total_seconds = 0.103;
  return record;
}

TEST(RequestLine, NamesTheSourcesAndWhatWasMissing) {
  EXPECT_EQ(RequestLine(Read(900, 640, {.computed = 644, .device = 256}, ResumeVeto::kWindow)),
            "cmpl-1 stop prompt=900 device=256 replayed=0 computed=644 answer=5 first=61ms "
            "total=103ms miss=window:384,unseen:260");
  EXPECT_THAT(RequestLine(Read(700, 699, {.computed = 1, .device = 320, .replayed = 250},
                               ResumeVeto::kOwedRows)),
              EndsWith(" miss=owed:129"));
}

TEST(RequestLine, SaysWhoLeftWhoseItWasAndHowManyAnswers) {
  RequestRecord record = Read(100, 0, {.computed = 100}, ResumeVeto::kNone);
  record.outcome = Outcome::kCancelled;
  record.gone = Gone::kSlow;
  record.key_name = "team-a";
  record.choices = 2;
  EXPECT_THAT(RequestLine(record),
              StartsWith("cmpl-1 cancelled gone=slow key=team-a choices=2 prompt=100 "));
}

TEST(RequestLine, AMissOfATileIsNone) {
  EXPECT_THAT(RequestLine(Read(512, 384, {.computed = 256, .device = 256}, ResumeVeto::kWindow)),
              Not(HasSubstr("miss")));
  EXPECT_THAT(RequestLine(Read(128, 0, {.computed = 128}, ResumeVeto::kNone)),
              Not(HasSubstr("miss")));
  EXPECT_THAT(RequestLine(Read(129, 0, {.computed = 129}, ResumeVeto::kNone)),
              EndsWith(" miss=unseen:129"));
}

TEST(RequestLine, APromptThatWasNotReadMissedNothing) {
  RequestRecord record = Read(900, 0, {}, ResumeVeto::kNone);
  record.outcome = Outcome::kCancelled;
  record.first_token_seconds.reset();
  EXPECT_EQ(RequestLine(record),
            "cmpl-1 cancelled prompt=900 device=0 replayed=0 computed=0 answer=5 first=0ms "
            "total=103ms");
}

}  // namespace
}  // namespace weir
