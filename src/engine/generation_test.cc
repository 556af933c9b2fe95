#include "engine/generation.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(ChunkPacer, FirstChunkIsShortThenThePaceBinds) {
  using std::chrono::milliseconds;
  ChunkPacer pacer(512, milliseconds(250));
  EXPECT_EQ(pacer.Next(2000), 64U);
  EXPECT_EQ(pacer.Next(50), 50U);
  pacer.Record(512, milliseconds(1000));  // 128 tokens in 250 ms
  EXPECT_EQ(pacer.Next(2000), 128U);
  pacer.Record(128, milliseconds(180));  // 177.8: down to whole granules of 32
  EXPECT_EQ(pacer.Next(2000), 160U);
  pacer.Record(160, milliseconds(60000));
  EXPECT_EQ(pacer.Next(2000), 32U);
  EXPECT_EQ(pacer.Next(7), 7U);
  pacer.Record(7, milliseconds(1));  // too short to tell
  EXPECT_EQ(pacer.Next(2000), 32U);
  pacer.Record(32, milliseconds(0));
  EXPECT_EQ(pacer.Next(2000), 512U);
}

}  // namespace
}  // namespace weir
