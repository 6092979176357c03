#include "k8s/list_splitter.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace lastcall::k8s {
namespace {

struct Split {
  bool ok = false;
  std::vector<std::string> items;
  std::string metadata;
  std::string kind;

  friend bool operator==(const Split&, const Split&) = default;
};

// Feeds `chunks` one after another, then finishes.
Split split(const std::vector<std::string_view>& chunks) {
  Split result;
  ListSplitter splitter([&](const PaddedText& item) {
    result.items.emplace_back(item.view());
    return net::Status(net::Done{});
  });
  for (const std::string_view chunk : chunks) {
    if (!splitter.feed(chunk)) return result;
  }
  result.ok = splitter.finish().ok();
  result.metadata = splitter.metadata().view();
  result.kind = splitter.kind();
  return result;
}

Split split(std::string_view text) { return split(std::vector<std::string_view>{text}); }

std::string list_of(const std::string& items) {
  return R"({"kind":"FooList","metadata":{"resourceVersion":"7"},"items":)" + items + "}";
}

TEST(ListSplitter, TakesAListApart) {
  const Split result = split(list_of(R"([{"a":1},{"b":{"c":[]}}])"));
  EXPECT_TRUE(result.ok);
  EXPECT_EQ(result.items, (std::vector<std::string>{R"({"a":1})", R"({"b":{"c":[]}})"}));
  EXPECT_EQ(result.metadata, R"({"resourceVersion":"7"})");
  EXPECT_EQ(result.kind, "FooList");
}

TEST(ListSplitter, TakesKeysInAnyOrder) {
  std::vector<std::string> fields = {R"("kind":"FooList")", R"("apiVersion":"v1")",
                                     R"("items":[{"a":1}])", R"("metadata":{"x":"}"})"};
  std::sort(fields.begin(), fields.end());
  do {
    const std::string text =
        "{" + fields[0] + "," + fields[1] + "," + fields[2] + "," + fields[3] + "}";
    const Split result = split(text);
    EXPECT_TRUE(result.ok) << text;
    EXPECT_EQ(result.items, std::vector<std::string>{R"({"a":1})"});
    EXPECT_EQ(result.metadata, R"({"x":"}"})");
    EXPECT_EQ(result.kind, "FooList");
  } while (std::next_permutation(fields.begin(), fields.end()));
}

TEST(ListSplitter, NullAndNothingAreEmptyLists) {
  EXPECT_TRUE(split(list_of("null")).ok);
  EXPECT_TRUE(split(list_of("[]")).ok);
  EXPECT_TRUE(split(list_of(" [ \n ] ")).ok);
  EXPECT_TRUE(split(R"({"items":[],"metadata":null,"kind":null})").ok);
  EXPECT_EQ(split(R"({"items":[],"metadata":null})").metadata, "{}");
}

TEST(ListSplitter, IsNotFooledByWhatStandsInStrings) {
  const std::string tricky = R"({"a":"}]{[\"","b\\":"\\","\"items\"":["\\\"]}"]})";
  const Split result = split(list_of("[" + tricky + "," + tricky + "]"));
  EXPECT_TRUE(result.ok);
  EXPECT_EQ(result.items, (std::vector<std::string>{tricky, tricky}));
}

// Longer than the scanner's blocks, with escapes at every distance from their borders.
TEST(ListSplitter, GivesTheSameForEverySplit) {
  std::string items = "[";
  for (std::size_t i = 0; i < 12; ++i) {
    items += std::string(i == 0 ? "" : ", ") + R"({"k)" + std::string(i * 7, 'x') +
             R"(\\":[{"}":"\\\"{"},["\"",{}]],"n":-1.5e3,"e":"\\"})";
  }
  const std::string text = "\n {\"apiVersion\" : \"v1\",\"other\":[1,{\"a\":[]},true],\"n\":12," +
                           list_of(items + " ]").substr(1) + " \n";
  const Split whole = split(text);
  ASSERT_TRUE(whole.ok);
  ASSERT_EQ(whole.items.size(), 12U);
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const std::string_view view = text;
    ASSERT_EQ(split({view.substr(0, at), view.substr(at)}), whole) << at;
  }
  for (std::size_t size = 1; size < 200; ++size) {
    std::vector<std::string_view> chunks;
    for (std::size_t at = 0; at < text.size(); at += size) {
      chunks.push_back(std::string_view(text).substr(at, size));
    }
    ASSERT_EQ(split(chunks), whole) << size;
  }
}

TEST(ListSplitter, EveryPrefixIsIncomplete) {
  const std::string text = list_of(R"([{"a":1},{"b":"}"}])");
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(split(text.substr(0, size)).ok) << size;
  }
}

TEST(ListSplitter, RefusesWhatIsNoList) {
  for (const char* text : {"",
                           "[]",
                           "null",
                           "{}",
                           R"({"metadata":{}})",
                           R"({"items":{}})",
                           R"({"items":"x"})",
                           R"({"items":true})",
                           R"({"items":[1]})",
                           R"({"items":["a"]})",
                           R"({"items":[[]]})",
                           R"({"items":[{},]})",
                           R"({"items":[,{}]})",
                           R"({"items":[{} {}]})",
                           R"({"items":[]]})",
                           R"({"items":[]}x)",
                           R"({"items":[]}{})",
                           R"({"items":[],})",
                           R"({"items":[],"items":[]})",
                           R"({items:[]})",
                           R"({"items" []})",
                           R"({"items":[],"a":})",
                           R"({"items":[],"a":tru})",
                           R"({"items":[],"a":nulll})",
                           R"({"items":[],"metadata":[]})",
                           R"({"items":[],"metadata":"x"})",
                           R"({"items":[],"kind":{}})",
                           R"({"items":[],"kind":7})",
                           "{\"items\":[],\"a\nb\":1}",
                           "<html>"}) {
    EXPECT_FALSE(split(text).ok) << text;
  }
}

TEST(ListSplitter, AnItemsErrorEndsIt) {
  int items = 0;
  ListSplitter splitter([&](const PaddedText&) -> net::Status {
    ++items;
    return net::Error{net::ErrorCode::kForbidden, "enough", std::nullopt};
  });
  const net::Status status = splitter.feed(list_of("[{},{}]"));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "enough");
  EXPECT_EQ(items, 1);
}

TEST(ListSplitter, ResetBeginsTheNextPage) {
  int items = 0;
  ListSplitter splitter([&](const PaddedText&) {
    ++items;
    return net::Status(net::Done{});
  });
  for (int page = 1; page <= 3; ++page) {
    ASSERT_TRUE(splitter.feed(list_of("[{}]")).ok());
    ASSERT_TRUE(splitter.finish().ok());
    EXPECT_EQ(items, page);
    splitter.reset();
    EXPECT_FALSE(splitter.finish().ok());
    EXPECT_EQ(splitter.metadata().view(), "{}");
    EXPECT_EQ(splitter.kind(), "");
  }
}

std::string repeat(std::string_view text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

TEST(ListSplitter, BoundsTheDepth) {
  const auto nested = [](int depth) {
    return list_of("[{\"a\":" + repeat("[", depth - 1) + repeat("]", depth - 1) + "}]");
  };
  EXPECT_TRUE(split(nested(ContainerScanner::kDepthMax)).ok);
  EXPECT_FALSE(split(nested(ContainerScanner::kDepthMax + 1)).ok);
  EXPECT_FALSE(split(list_of("[{\"a\":" + repeat("[", 1'000'000))).ok);
}

TEST(ListSplitter, BoundsTheNumberOfFields) {
  const auto with_fields = [](int count) {
    return "{" + repeat("\"a\":1,", count - 1) + "\"items\":[]}";
  };
  EXPECT_TRUE(split(with_fields(ListSplitter::kFieldsMax)).ok);
  EXPECT_FALSE(split(with_fields(ListSplitter::kFieldsMax + 1)).ok);
}

// How much of an endless text is taken before it is refused.
std::optional<std::size_t> bytes_taken(std::string_view begin, std::string_view chunk,
                                       std::size_t bytes_max) {
  ListSplitter splitter([](const PaddedText&) { return net::Status(net::Done{}); });
  if (!splitter.feed(begin)) return 0;
  for (std::size_t taken = 0; taken < bytes_max; taken += chunk.size()) {
    if (!splitter.feed(chunk)) return taken;
  }
  return std::nullopt;
}

TEST(ListSplitter, BoundsEveryPart) {
  constexpr std::size_t kEnough = 3 * ListSplitter::kItemBytesMax;
  const std::string chunk(16 * 1024, 'x');
  const std::size_t field_max = ListSplitter::kFieldBytesMax;
  EXPECT_LE(bytes_taken("{\"", chunk, kEnough), field_max);
  EXPECT_LE(bytes_taken("{\"kind\":\"", chunk, kEnough), field_max);
  EXPECT_LE(bytes_taken("{\"a\":\"", chunk, kEnough), field_max);
  EXPECT_LE(bytes_taken("{\"a\":", chunk, kEnough), field_max);
  EXPECT_LE(bytes_taken("{\"a\":[\"", chunk, kEnough), field_max);
  EXPECT_LE(bytes_taken("{\"metadata\":{\"a\":\"", chunk, kEnough), field_max);
  EXPECT_LE(bytes_taken("{\"items\":[{\"a\":\"", chunk, kEnough), ListSplitter::kItemBytesMax);
}

TEST(ListSplitter, TakesAnItemAtTheBound) {
  const std::string filler(ListSplitter::kItemBytesMax - std::string(R"({"a":""})").size(), 'x');
  EXPECT_TRUE(split(list_of(R"([{"a":")" + filler + R"("}])")).ok);
  EXPECT_FALSE(split(list_of(R"([{"a":")" + filler + R"(x"}])")).ok);
}

TEST(ListSplitter, AFloodOfWhiteSpaceIsHarmless) {
  const std::string spaces(1024 * 1024, ' ');
  EXPECT_EQ(bytes_taken("{", spaces, 64 * spaces.size()), std::nullopt);
  EXPECT_EQ(bytes_taken("{\"items\":[{},", spaces, 64 * spaces.size()), std::nullopt);
}

TEST(ListSplitter, AGigabyteOfItemsNeedsTheMemoryOfOne) {
  const std::string item = R"({"metadata":{"name":"x"},"endpoints":[)" +
                           repeat(R"({"addresses":["10.0.0.1"]},)", 1000) + "{}]},";
  std::size_t items = 0;
  std::size_t capacity_max = 0;
  ListSplitter splitter([&](const PaddedText& text) {
    ++items;
    capacity_max = std::max(capacity_max, text.capacity());
    return net::Status(net::Done{});
  });
  const std::string_view chunk = std::string_view(item).substr(0, item.size());
  ASSERT_TRUE(splitter.feed(R"({"kind":"FooList","items":[)").ok());
  std::size_t fed = 0;
  while (fed < std::size_t{1} << 30) {
    // Cut where no item ends.
    ASSERT_TRUE(splitter.feed(chunk.substr(0, 1000)).ok());
    ASSERT_TRUE(splitter.feed(chunk.substr(1000)).ok());
    fed += item.size();
  }
  ASSERT_TRUE(splitter.feed(R"({}],"metadata":{}})").ok());
  EXPECT_TRUE(splitter.finish().ok());
  EXPECT_EQ(items, fed / item.size() + 1);
  EXPECT_LT(capacity_max, 4 * item.size());
}

}  // namespace
}  // namespace lastcall::k8s
