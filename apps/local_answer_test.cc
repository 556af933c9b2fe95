#include "local_answer.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(AnswerTiming, SpeedIsOfWhatWasNotCached) {
  AnswerTiming timing{.prompt_tokens = 20,
                      .cached_tokens = 8,
                      .answer_tokens = 40,
                      .prompt_seconds = 0.05,
                      .answer_seconds = 0.6};
  EXPECT_EQ(timing.Text(),
            "20 prompt tokens (8 cached) in 0.05 s (240.0 t/s), 40 tokens in 0.60 s (66.7 t/s)");
  timing.cached_tokens = 0;
  EXPECT_EQ(timing.Text(),
            "20 prompt tokens in 0.05 s (400.0 t/s), 40 tokens in 0.60 s (66.7 t/s)");
}

}  // namespace
}  // namespace weir
