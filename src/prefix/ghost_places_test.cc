#include "prefix/ghost_places.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace weir {
namespace {

bool Knows(const GhostPlaces& places, uint64_t tile, uint64_t key) {
  return std::ranges::any_of(places.Near(tile), [&](const GhostPlaces::Place& place) {
    return place.tile == tile && place.key == key;
  });
}

TEST(GhostPlaces, KeepTheNewestEightOfATile) {
  GhostPlaces places(0);
  for (uint64_t key = 1; key <= 20; ++key) places.Add({.tile = 7, .key = key, .count = 3});
  for (uint64_t key = 1; key <= 20; ++key) EXPECT_EQ(Knows(places, 7, key), key > 12) << key;
}

TEST(GhostPlaces, KeepAPlaceOnceHoweverOftenItIsLost) {
  GhostPlaces places(0);
  for (uint64_t key = 1; key <= 8; ++key) places.Add({.tile = 7, .key = key, .count = 3});
  for (int i = 0; i < 20; ++i) places.Add({.tile = 7, .key = 8, .count = 3});
  for (uint64_t key = 1; key <= 8; ++key) EXPECT_TRUE(Knows(places, 7, key)) << key;
}

}  // namespace
}  // namespace weir
