#include "config/wording.h"

#include <gtest/gtest.h>

namespace lastcall::config {
namespace {

const std::vector<std::string_view> kCandidates{"hold.min", "hold.max", "settle", "quiet"};

TEST(Wording, QuotesAreFitForOneLineOfALog) {
  EXPECT_EQ(in_quotes("5s"), "'5s'");
  EXPECT_EQ(in_quotes(""), "''");
  EXPECT_EQ(in_quotes(std::string_view("a\n\0\x1b\x7f", 5)), "'a\\x0a\\x00\\x1b\\x7f'");
  EXPECT_EQ(in_quotes("\xc3\xa4\xff"), "'\\xc3\\xa4\\xff'");
  EXPECT_EQ(in_quotes(std::string(1000, 'a')), "'" + std::string(60, 'a') + "...'");
}

TEST(Wording, WhatWasFoundStandsBesideWhatWasExpected) {
  EXPECT_EQ(not_expected("a\nb", "a name"), "'a\\x0ab', expected a name");
}

TEST(Wording, TheNearestCandidateIsOneSlipAway) {
  EXPECT_EQ(nearest("hold.mx", kCandidates), "hold.max");
  EXPECT_EQ(nearest("hold.maxx", kCandidates), "hold.max");
  EXPECT_EQ(nearest("hold-max", kCandidates), "hold.max");
  EXPECT_EQ(nearest("hlod.max", kCandidates), "hold.max");
  EXPECT_EQ(nearest("settel", kCandidates), "settle");
}

TEST(Wording, NothingIsNearestToADifferentWord) {
  EXPECT_EQ(nearest("", kCandidates), "");
  EXPECT_EQ(nearest("grace", kCandidates), "");
  EXPECT_EQ(nearest("drain", kCandidates), "");
  EXPECT_EQ(nearest(std::string(100'000, 'x'), kCandidates), "");
  EXPECT_EQ(nearest("settle", {}), "");
}

TEST(Wording, AnUnknownWordComesWithTheGuess) {
  EXPECT_EQ(unknown("key", "setle", kCandidates), "unknown key, did you mean settle?");
  EXPECT_EQ(unknown("key", "grace", kCandidates), "unknown key");
}

}  // namespace
}  // namespace lastcall::config
