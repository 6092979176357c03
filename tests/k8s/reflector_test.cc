#include "k8s/reflector.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/fakes/fake_loop.h"
#include "tests/fakes/scripted_http.h"

namespace lastcall::k8s {
namespace {

using namespace std::chrono_literals;
using Log = std::vector<std::string>;

// Writes down what it is told, in one line each.
class Sink final : public ReflectorSink {
 public:
  void on_list_begin() override { note("begin"); }
  net::Status on_list_item(const PaddedText& item) override {
    note("item " + std::string(item.view()));
    return status;
  }
  void on_list_end() override { note("end"); }
  net::Status on_change(WatchVerb verb, const PaddedText& object) override {
    const char* const names[] = {"added ", "modified ", "deleted "};
    note(names[static_cast<int>(verb)] + std::string(object.view()));
    return status;
  }
  void on_blind(const net::Error& error) override {
    note("blind " + std::string(net::to_string(error.code)));
    last_error = error.message;
  }
  void on_sight() override { note("sight"); }

  // What came since the last call.
  Log take() { return std::exchange(log_, {}); }

  net::Status status = net::Done{};
  std::string last_error;
  std::string relist_at;  // the line that makes it call relist()
  Reflector* reflector = nullptr;

 private:
  void note(std::string line) {
    const bool relist = !relist_at.empty() && line == relist_at;
    log_.push_back(std::move(line));
    if (!relist) return;
    relist_at.clear();
    reflector->relist();
  }

  Log log_;
};

std::string blind(net::ErrorCode code) { return "blind " + std::string(net::to_string(code)); }

std::string object(const std::string& version) {
  return R"({"metadata":{"name":"x","resourceVersion":")" + version + R"("}})";
}
std::string event(const std::string& type, const std::string& version) {
  return R"({"type":")" + type + R"(","object":)" + object(version) + "}\n";
}
std::string error_event(int code) {
  return R"({"type":"ERROR","object":{"kind":"Status","metadata":{},"message":"too old","code":)" +
         std::to_string(code) + "}}\n";
}

class ReflectorTest : public testing::Test {
 protected:
  ReflectorTest() {
    ListRequest request;
    request.path = "/slices";
    request.resource = "endpointslices";
    request.label_selector = "a in (b)";
    request.field_selector = "metadata.name=x";
    request.kind = "EndpointSliceList";
    reflector_ = std::make_unique<Reflector>(client_, std::move(request), sink_);
    sink_.reflector = reflector_.get();
    reflector_->on_restart(
        [this](WatchRestart reason) { restarts_.emplace_back(to_string(reason)); });
  }

  static bool is_list(const fakes::ScriptedExchange& exchange) {
    return exchange.path().find("watch=") == std::string::npos;
  }
  // The request under way, which must be of that kind.
  fakes::ScriptedExchange& list_request() {
    EXPECT_TRUE(is_list(http_.last())) << http_.last().path();
    EXPECT_TRUE(http_.last().open());
    return http_.last();
  }
  fakes::ScriptedExchange& watch_request() {
    EXPECT_NE(http_.last().path().find("?watch=true"), std::string::npos) << http_.last().path();
    EXPECT_TRUE(http_.last().open());
    return http_.last();
  }
  std::string watched_version() {
    const std::string path = watch_request().path();
    const std::string name = "resourceVersion=";
    const std::size_t begin = path.find(name) + name.size();
    return path.substr(begin, path.find('&', begin) - begin);
  }
  void answer_list(const std::string& version, const std::string& items = "[]") {
    list_request().answer(200, R"({"kind":"EndpointSliceList","metadata":{"resourceVersion":")" +
                                   version + R"("},"items":)" + items + "}");
  }
  // LIST at version 10, WATCH accepted, log emptied.
  void start_watch() {
    answer_list("10");
    watch_request().head(200);
    sink_.take();
  }
  // Time until the next request was sent.
  net::Duration wait_for_request() {
    const std::size_t before = http_.count();
    const net::Instant begin = loop_.now();
    while (http_.count() == before) {
      if (!loop_.run_next()) ADD_FAILURE() << "nothing will happen any more";
    }
    return loop_.now() - begin;
  }

  fakes::FakeLoop loop_;
  fakes::ScriptedHttp http_{loop_};
  ApiClient client_{loop_, http_, {"http://api", "", ""}};
  Sink sink_;
  Log restarts_;
  std::unique_ptr<Reflector> reflector_;
};

TEST_F(ReflectorTest, ListsAndWatchesOnFromThere) {
  answer_list("10", "[{\"a\":1},{\"b\":2}]");
  EXPECT_EQ(sink_.take(), (Log{"begin", "item {\"a\":1}", "item {\"b\":2}", "end"}));
  EXPECT_EQ(watch_request().path(),
            "/slices?watch=true&allowWatchBookmarks=true&resourceVersion=10"
            "&labelSelector=a%20in%20%28b%29&fieldSelector=metadata.name%3Dx");
  EXPECT_EQ(watch_request().request.limits.total, 0ms);
  EXPECT_EQ(watch_request().request.limits.idle, 30s);
  watch_request().head(200);
  EXPECT_EQ(sink_.take(), Log{});
}

TEST_F(ReflectorTest, PassesChangesOnWithTheObjectAlone) {
  start_watch();
  watch_request().body(event("ADDED", "11") + event("MODIFIED", "12") + event("DELETED", "13"));
  EXPECT_EQ(sink_.take(),
            (Log{"added " + object("11"), "modified " + object("12"), "deleted " + object("13")}));
}

TEST_F(ReflectorTest, EverySplitOfTheStreamGivesTheSame) {
  start_watch();
  const std::string text = event("ADDED", "11") + "\n" +
                           R"({"object":{"a":"}\"\\","metadata":{"resourceVersion":"12"}},)" +
                           R"("type":"MODIFIED"})" + "\n" + event("BOOKMARK", "13");
  const Log expected = {"added " + object("11"),
                        R"(modified {"a":"}\"\\","metadata":{"resourceVersion":"12"}})"};
  for (std::size_t at = 0; at <= text.size(); ++at) {
    watch_request().body(std::string_view(text).substr(0, at));
    watch_request().body(std::string_view(text).substr(at));
    ASSERT_EQ(sink_.take(), expected) << at;
  }
  for (const char c : text) watch_request().body({&c, 1});
  EXPECT_EQ(sink_.take(), expected);
}

TEST_F(ReflectorTest, GoesOnFromTheLastVersionAfterAClose) {
  start_watch();
  watch_request().body(event("ADDED", "11"));
  watch_request().end();
  EXPECT_LE(wait_for_request(), 200ms);
  EXPECT_EQ(watched_version(), "11");
  EXPECT_EQ(sink_.take(), Log{"added " + object("11")});
  EXPECT_EQ(restarts_, Log{"server_closed"});
}

TEST_F(ReflectorTest, BookmarksMoveTheVersionOnly) {
  start_watch();
  watch_request().body(event("BOOKMARK", "99"));
  EXPECT_EQ(sink_.take(), Log{});
  watch_request().end();
  wait_for_request();
  EXPECT_EQ(watched_version(), "99");
}

TEST_F(ReflectorTest, HalfALineAtTheCloseIsDropped) {
  start_watch();
  const std::string half = event("ADDED", "12");
  watch_request().body(event("ADDED", "11") + half.substr(0, half.size() - 1));
  watch_request().end();
  EXPECT_EQ(sink_.take(), Log{"added " + object("11")});
  wait_for_request();
  EXPECT_EQ(watched_version(), "11");
  watch_request().head(200);
  watch_request().body(event("ADDED", "12"));
  EXPECT_EQ(sink_.take(), Log{"added " + object("12")});
}

TEST_F(ReflectorTest, A410EventRelists) {
  start_watch();
  watch_request().body(error_event(410));
  EXPECT_EQ(sink_.take(), Log{blind(net::ErrorCode::kRelist)});
  EXPECT_EQ(sink_.last_error, "watch endpointslices: ERROR event: HTTP 410: too old");
  EXPECT_EQ(restarts_, Log{"expired"});
  EXPECT_LE(wait_for_request(), 200ms);
  answer_list("20", "[{}]");
  EXPECT_EQ(sink_.take(), (Log{"begin", "item {}", "end"}));
  EXPECT_EQ(watched_version(), "20");
}

TEST_F(ReflectorTest, A410StatusRelists) {
  answer_list("10");
  watch_request().answer(410, "");
  EXPECT_EQ(restarts_, Log{"expired"});
  wait_for_request();
  list_request();
}

TEST_F(ReflectorTest, AnotherErrorEventRelistsToo) {
  start_watch();
  watch_request().body(error_event(500));
  EXPECT_EQ(sink_.take(), Log{blind(net::ErrorCode::kRetry)});
  EXPECT_EQ(restarts_, Log{"error"});
  wait_for_request();
  list_request();
}

TEST_F(ReflectorTest, NothingBehindAnErrorEventIsRead) {
  start_watch();
  watch_request().body(error_event(410) + event("ADDED", "11"));
  EXPECT_EQ(sink_.take(), Log{blind(net::ErrorCode::kRelist)});
}

TEST_F(ReflectorTest, WhatItCannotUnderstandMakesItRelist) {
  for (const std::string& line :
       {std::string("nonsense\n"), std::string("{}\n"), std::string("{\"type\":\"ADDED\"}\n"),
        std::string("{\"type\":\"ADDED\",\"object\":{}}\n"),
        std::string("{\"type\":\"ADDED\",\"object\":null}\n"),
        std::string("{\"type\":7,\"object\":{}}\n"), event("RENAMED", "11"),
        std::string("{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{}}}\n"),
        event("ADDED", "11").substr(0, 60) + "\n"}) {
    start_watch();
    watch_request().body(line);
    EXPECT_EQ(sink_.take(), Log{blind(net::ErrorCode::kInvalid)}) << line;
    EXPECT_EQ(restarts_.back(), "invalid");
    wait_for_request();
  }
}

TEST_F(ReflectorTest, AnEndlessLineMakesItRelist) {
  start_watch();
  const std::string chunk(1024 * 1024, 'x');
  for (int i = 0; i < 5; ++i) watch_request().body(chunk);
  EXPECT_EQ(sink_.take(), Log{blind(net::ErrorCode::kInvalid)});
  wait_for_request();
  list_request();
}

TEST_F(ReflectorTest, TheSinksErrorMakesItRelist) {
  start_watch();
  sink_.status = net::Error{net::ErrorCode::kRetry, "cannot", std::nullopt};
  watch_request().body(event("ADDED", "11"));
  EXPECT_EQ(sink_.take(), (Log{"added " + object("11"), blind(net::ErrorCode::kInvalid)}));
  sink_.status = net::Done{};
  wait_for_request();
  answer_list("20");
}

TEST_F(ReflectorTest, ABadListItemIsListedAgain) {
  sink_.status = net::Error{net::ErrorCode::kInvalid, "bad", std::nullopt};
  answer_list("10", "[{},{}]");
  EXPECT_EQ(sink_.take(), (Log{"begin", "item {}", blind(net::ErrorCode::kInvalid)}));
  wait_for_request();
  list_request();
}

TEST_F(ReflectorTest, ALostConnectionIsBlindUntilTheNextWatch) {
  start_watch();
  watch_request().body(event("ADDED", "11"));
  watch_request().fail(net::ErrorCode::kRetry, "reset");
  EXPECT_EQ(sink_.take(), (Log{"added " + object("11"), blind(net::ErrorCode::kRetry)}));
  EXPECT_EQ(restarts_, Log{"error"});
  EXPECT_LE(wait_for_request(), 200ms);
  EXPECT_EQ(watched_version(), "11");
  watch_request().head(200);
  EXPECT_EQ(sink_.take(), Log{"sight"});
}

TEST_F(ReflectorTest, AStalledStreamIsBegunAnewWithoutBlindness) {
  start_watch();
  watch_request().body(event("ADDED", "11"));
  loop_.advance(29s);
  EXPECT_TRUE(http_.last().open());
  loop_.advance(1s);
  EXPECT_EQ(restarts_, Log{"stalled"});
  EXPECT_EQ(sink_.take(), Log{"added " + object("11")});
  EXPECT_LE(wait_for_request(), 200ms);
  EXPECT_EQ(watched_version(), "11");
  watch_request().fail(net::ErrorCode::kRetry, "no route");
  EXPECT_EQ(sink_.take(), Log{blind(net::ErrorCode::kRetry)});
}

TEST_F(ReflectorTest, AWatchThatIsClosedAtOnceBacksOff) {
  start_watch();
  net::Duration waited{};
  for (int i = 0; i < 10; ++i) {
    watch_request().end();
    EXPECT_EQ(sink_.take().back(), blind(net::ErrorCode::kRetry));
    waited = wait_for_request();
    if (is_list(http_.last())) answer_list("10");
    watch_request().head(200);
  }
  EXPECT_GE(waited, 2500ms);
  EXPECT_LE(waited, 5s);
}

TEST_F(ReflectorTest, A410RightAfterEachListBacksOff) {
  net::Duration waited{};
  for (int i = 0; i < 10; ++i) {
    answer_list("10");
    watch_request().head(200);
    watch_request().body(error_event(410));
    waited = wait_for_request();
  }
  EXPECT_GE(waited, 2500ms);
}

TEST_F(ReflectorTest, AWatchThatLivedResetsTheBackoff) {
  for (int i = 0; i < 6; ++i) {
    list_request().answer(503, "");
    wait_for_request();
  }
  start_watch();
  loop_.advance(6s);
  watch_request().end();
  EXPECT_LE(wait_for_request(), 200ms);
}

TEST_F(ReflectorTest, ForbiddenIsToldEachTimeAndTriedForEver) {
  for (int i = 0; i < 20; ++i) {
    list_request().answer(403, R"({"kind":"Status","message":"no"})");
    EXPECT_EQ(sink_.take(), Log{blind(net::ErrorCode::kForbidden)});
    const net::Duration waited = wait_for_request();
    EXPECT_GE(waited, 100ms);
    EXPECT_LE(waited, 5s);
  }
  answer_list("10");
  EXPECT_EQ(sink_.take(), (Log{"begin", "end"}));
}

TEST_F(ReflectorTest, ARefusedWatchIsTriedAgainFromTheSameVersion) {
  for (const int status : {401, 403, 404, 429, 500, 503, 504}) {
    start_watch();
    watch_request().body(event("ADDED", "11"));
    watch_request().end();
    wait_for_request();
    sink_.take();
    watch_request().answer(status, "");
    EXPECT_EQ(sink_.take().size(), 1U) << status;
    wait_for_request();
    EXPECT_EQ(watched_version(), "11");
    watch_request().head(200);
    EXPECT_EQ(sink_.take(), Log{"sight"});
    watch_request().body(error_event(410));
    wait_for_request();
  }
}

TEST_F(ReflectorTest, WatchesThatAreOfNoUseMakeItList) {
  start_watch();
  watch_request().body(event("ADDED", "11"));
  watch_request().fail(net::ErrorCode::kRetry, "reset");
  for (int useless = 1; useless <= 2; ++useless) {
    wait_for_request();
    EXPECT_EQ(watched_version(), "11");
    watch_request().answer(403, "");
  }
  wait_for_request();
  watch_request().fail(net::ErrorCode::kRetry, "closed without an answer");
  // From now on each attempt begins with what a LIST shows.
  for (int attempt = 0; attempt < 3; ++attempt) {
    EXPECT_GE(wait_for_request(), 400ms);
    sink_.take();
    answer_list("20");
    EXPECT_EQ(sink_.take(), (Log{"begin", "end"}));
    watch_request().answer(403, "");
  }
  wait_for_request();
  answer_list("30");
  watch_request().head(200);
  watch_request().body(event("ADDED", "31"));
  watch_request().end();
  wait_for_request();
  EXPECT_EQ(watched_version(), "31");
  watch_request().fail(net::ErrorCode::kRetry, "reset");
  wait_for_request();
  EXPECT_EQ(watched_version(), "31");
}

TEST_F(ReflectorTest, AServerThatAsksForTimeIsNotAskedForLists) {
  start_watch();
  for (int i = 0; i < 10; ++i) {
    watch_request().answer(429, R"({"kind":"Status","details":{"retryAfterSeconds":1}})");
    wait_for_request();
    EXPECT_EQ(watched_version(), "10");
  }
}

TEST_F(ReflectorTest, ABadRequestRelists) {
  answer_list("10");
  watch_request().answer(400, "");
  wait_for_request();
  list_request();
}

TEST_F(ReflectorTest, HonoursRetryAfter) {
  net::Headers headers;
  headers.add("Retry-After", "30");
  list_request().answer(429, "", headers);
  EXPECT_EQ(wait_for_request(), 30s);
  answer_list("10");
  watch_request().answer(503, R"({"kind":"Status","details":{"retryAfterSeconds":9}})");
  EXPECT_EQ(wait_for_request(), 9s);
}

TEST_F(ReflectorTest, RelistsWhenAskedTo) {
  start_watch();
  fakes::ScriptedExchange& old_watch = watch_request();
  reflector_->relist();
  old_watch.body(event("ADDED", "11"));
  loop_.run_until_idle();
  EXPECT_TRUE(old_watch.cancelled());
  answer_list("20");
  EXPECT_EQ(sink_.take(), (Log{"begin", "end"}));
  EXPECT_EQ(watched_version(), "20");
  EXPECT_EQ(restarts_, Log{});
}

TEST_F(ReflectorTest, RelistReplacesAListUnderWay) {
  fakes::ScriptedExchange& old_list = list_request();
  old_list.head(200);
  old_list.body(R"({"items":[{"old":1},)");
  reflector_->relist();
  old_list.body(R"({"old":2}],"kind":"EndpointSliceList","metadata":{"resourceVersion":"9"}})");
  old_list.end();
  EXPECT_EQ(sink_.take(), (Log{"begin", "item {\"old\":1}"}));
  loop_.run_until_idle();
  answer_list("10", "[{\"new\":1}]");
  EXPECT_EQ(sink_.take(), (Log{"begin", "item {\"new\":1}", "end"}));
}

TEST_F(ReflectorTest, RelistCutsABackoffShort) {
  list_request().answer(429, R"({"kind":"Status","details":{"retryAfterSeconds":60}})");
  reflector_->relist();
  loop_.run_until_idle();
  answer_list("10");
}

TEST_F(ReflectorTest, TheSinkMayRelistFromAnyCallback) {
  const Log lines = {
      "begin", "item {}", "end", "added " + object("11"), blind(net::ErrorCode::kRetry), "sight"};
  for (const std::string& line : lines) {
    sink_.relist_at = line;
    const std::size_t requests = http_.count();
    answer_list("10", "[{}]");
    if (http_.count() > requests) {
      watch_request().head(200);
      watch_request().body(event("ADDED", "11") + event("ADDED", "12"));
      if (!sink_.relist_at.empty()) {
        watch_request().fail(net::ErrorCode::kRetry, "reset");
        if (!sink_.relist_at.empty()) {
          wait_for_request();
          watch_request().head(200);
        }
      }
    }
    EXPECT_EQ(sink_.relist_at, "") << line;
    EXPECT_EQ(sink_.take().back(), line);
    loop_.run_until_idle();
    list_request();
  }
}

TEST_F(ReflectorTest, DestroyingItCancelsEverything) {
  start_watch();
  watch_request();
  reflector_.reset();
  EXPECT_TRUE(http_.last().cancelled());
  EXPECT_EQ(loop_.armed_timers(), 0U);
}

TEST_F(ReflectorTest, AnyAnswersKeepTheRequestRateBounded) {
  for (int i = 0; i < 500; ++i) {
    fakes::ScriptedExchange& request = http_.last();
    switch (loop_.random() % 6) {
      case 0:
        request.fail(net::ErrorCode::kRetry, "refused");
        break;
      case 1:
        request.answer(200, "");
        break;
      case 2:
        request.answer(200, error_event(410));
        break;
      case 3:
        request.answer(503, "");
        break;
      case 4:
        request.answer(200, R"({"kind":"EndpointSliceList","metadata":{"resourceVersion":"1"},)"
                            R"("items":[]})");
        break;
      default:
        request.answer(200, event("ADDED", "11"));
        break;
    }
    if (!http_.last().open()) wait_for_request();
  }
  // A LIST and its WATCH may follow each other at once; anything else waits at least 100 ms.
  const net::Duration spent = loop_.now() - net::Instant(std::chrono::hours(1));
  EXPECT_GE(spent, 500 / 2 * 100ms);
}

}  // namespace
}  // namespace lastcall::k8s
