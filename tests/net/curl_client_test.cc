#include "net/curl_client.h"

#include <algorithm>
#include <cstdlib>

#include "gtest/gtest.h"
#include <event2/event.h>

#include "tests/net/name_service.h"
#include "tests/net/scripted_peer.h"
#include "tests/net/world.h"

namespace lastcall::net {
namespace {

using std::chrono::milliseconds;

class CurlClientTest : public testing::Test {
 protected:
  // The outcome of one GET against a server that behaves like `script`; its address reads "PEER".
  std::string get(const ScriptedServer::Script& script, HttpLimits limits = {}) {
    ScriptedServer server(world_, script);
    server_ = server.peer();
    HttpRequest request;
    request.url = server.url();
    request.limits = limits;
    std::string outcome = fetch(request);
    if (const auto at = outcome.find(server_); at != std::string::npos) {
      outcome.replace(at, server_.size(), "PEER");
    }
    return outcome;
  }

  // The same against a server that only ever says `answer` and closes.
  std::string get(const std::string& answer, HttpLimits limits = {}) {
    return get(
        [&answer](Wire& wire) {
          wire.say(answer);
          wire.close();
        },
        limits);
  }

  std::string fetch(const HttpRequest& request) {
    const auto call = client_.start(request, recorder_);
    EXPECT_FALSE(recorder_.ended()) << "no callback from inside start()";
    world_.until([&] { return recorder_.ended(); });
    return recorder_.outcome();
  }

  std::size_t events() {
    return static_cast<std::size_t>(event_base_get_num_events(
        world_.loop.base(), EVENT_BASE_COUNT_ACTIVE | EVENT_BASE_COUNT_ADDED));
  }

  World world_;
  std::string server_;
  CurlClient client_{world_.loop};
  Recorder recorder_{world_};
};

TEST_F(CurlClientTest, ReceivesAnAnswerWithALength) {
  EXPECT_EQ(get("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nDate: now \r\n\r\nhello"), "ok");
  EXPECT_EQ(recorder_.status(), 200);
  EXPECT_EQ(recorder_.body, "hello");
  ASSERT_NE(recorder_.heads.front().headers.find("date"), nullptr);
  EXPECT_EQ(*recorder_.heads.front().headers.find("date"), "now");
  EXPECT_EQ(recorder_.heads.front().headers.fields().size(), 2U);
}

TEST_F(CurlClientTest, ReceivesAnAnswerInPieces) {
  std::unique_ptr<Timer> later;
  const std::string answer =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n, "
      "you!\r\n0\r\n\r\n";
  std::size_t said = 0;
  EXPECT_EQ(get([&](Wire& wire) {
              later = world_.loop.make_timer([&] {
                wire.say(answer.substr(said++, 1));
                if (said < answer.size()) later->arm(world_.loop.now());
              });
              later->arm(world_.loop.now());
            }),
            "ok");
  EXPECT_EQ(recorder_.body, "hello, you!");
  EXPECT_EQ(recorder_.heads.size(), 1U);
}

TEST_F(CurlClientTest, HandsOverABodyAsItComes) {
  Wire* peer = nullptr;
  int parts = 0;
  recorder_.when_body = [&] {
    EXPECT_EQ(recorder_.chunks, ++parts);
    parts < 3 ? peer->say("next") : peer->close();
  };
  EXPECT_EQ(get([&](Wire& wire) {
              peer = &wire;
              wire.say("HTTP/1.1 200 OK\r\n\r\nnext");
            }),
            "ok");
  EXPECT_EQ(recorder_.body, "nextnextnext");
}

TEST_F(CurlClientTest, SkipsInformationalHeads) {
  EXPECT_EQ(get("HTTP/1.1 100 Continue\r\nX-Early: 1\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n"
                "HTTP/1.1 204 No Content\r\nX-Final: 1\r\n\r\n"),
            "ok");
  ASSERT_EQ(recorder_.heads.size(), 1U);
  EXPECT_EQ(recorder_.status(), 204);
  EXPECT_EQ(recorder_.heads.front().headers.find("X-Early"), nullptr);
  EXPECT_NE(recorder_.heads.front().headers.find("X-Final"), nullptr);
}

TEST_F(CurlClientTest, KeepsTrailersOutOfTheHead) {
  EXPECT_EQ(get("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n"
                "X-Trailer: 1\r\n\r\n"),
            "ok");
  EXPECT_EQ(recorder_.body, "hi");
  EXPECT_EQ(recorder_.heads.front().headers.find("X-Trailer"), nullptr);
}

TEST_F(CurlClientTest, TakesAnErrorStatusForAnAnswer) {
  EXPECT_EQ(get("HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 4\r\n\r\n"
                "busy"),
            "ok");
  EXPECT_EQ(recorder_.status(), 503);
  EXPECT_EQ(recorder_.body, "busy");
}

TEST_F(CurlClientTest, FollowsNoRedirect) {
  EXPECT_EQ(get("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"),
            "ok");
  EXPECT_EQ(recorder_.status(), 302);
}

TEST_F(CurlClientTest, AsksForNothingItWasNotTold) {
  std::string heard;
  EXPECT_EQ(get([&](Wire& wire) {
              heard = wire.heard;
              wire.say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
            }),
            "ok");
  EXPECT_EQ(heard, "GET / HTTP/1.1\r\nHost: " + server_ + "\r\nAccept: */*\r\n\r\n");
}

TEST_F(CurlClientTest, SendsMethodHeadersAndBody) {
  std::string heard;
  ScriptedServer server(world_, [&](Wire& wire) {
    heard = wire.heard;
    wire.say("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n");
  });
  HttpRequest request;
  request.method = "POST";
  request.url = server.url("/events?dry=1");
  request.headers.add("Authorization", "Bearer secret");
  request.headers.add("Accept", "application/json");
  request.headers.add("X-Empty", "");
  request.body = std::string("a\0b", 3);
  EXPECT_EQ(fetch(request), "ok");
  EXPECT_EQ(heard, "POST /events?dry=1 HTTP/1.1\r\nHost: " + server.peer() +
                       "\r\nAuthorization: Bearer secret\r\nAccept: application/json\r\n"
                       "X-Empty:\r\nContent-Length: 3\r\n\r\n" +
                       request.body);
}

TEST_F(CurlClientTest, SendsLargeBodiesWithoutWaitingForLeave) {
  constexpr std::size_t kBodyBytes = 2'000'000;
  ScriptedServer server(world_, [&](Wire& wire) {
    if (wire.heard.size() < kBodyBytes) return;
    EXPECT_EQ(wire.heard.find("Expect"), std::string::npos);
    wire.say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    wire.when_heard = nullptr;
  });
  HttpRequest request;
  request.method = "PUT";
  request.url = server.url();
  request.body.assign(kBodyBytes, 'x');
  EXPECT_EQ(fetch(request), "ok");
}

TEST_F(CurlClientTest, ExpectsNoBodyAfterHead) {
  ScriptedServer server(world_, [&](Wire& wire) {
    EXPECT_TRUE(wire.heard.starts_with("HEAD / "));
    wire.say("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
  });
  HttpRequest request;
  request.method = "HEAD";
  request.url = server.url();
  EXPECT_EQ(fetch(request), "ok");
}

TEST_F(CurlClientTest, RefusesLineBreaksInTheHead) {
  HttpRequest request;
  request.url = "http://127.0.0.1:1/";
  request.headers.add("Authorization", "Bearer secret\r\nX-Evil: 1");
  EXPECT_EQ(fetch(request), "fatal 127.0.0.1:1: a line break in the request's head");
}

TEST_F(CurlClientTest, RefusesWhatIsNotAnHttpUrl) {
  for (const std::string url : {"", "http://", "ftp://127.0.0.1/", "file:///etc/passwd",
                                "http://127.0.0.1:99999/", "gopher://x/?secret"}) {
    Recorder recorder(world_);
    HttpRequest request;
    request.url = url;
    const auto call = client_.start(request, recorder);
    world_.until([&] { return recorder.ended(); });
    EXPECT_EQ(recorder.outcome(), "fatal " + url.substr(0, url.find('?')) + ": not a URL to use");
  }
}

TEST_F(CurlClientTest, TellsOfARefusedConnection) {
  const std::string peer = "127.0.0.1:" + std::to_string(closed_port());
  HttpRequest request;
  request.url = "http://" + peer + "/secret?token=secret";
  EXPECT_EQ(fetch(request), "retry " + peer + ": connection refused");
}

TEST_F(CurlClientTest, TellsOfAnUnknownName) {
  HttpRequest request;
  request.url = "http://unknown.test/";
  EXPECT_EQ(fetch(request), "retry unknown.test:80: name not resolved");
}

TEST_F(CurlClientTest, DoesNotWaitForASilentNameServer) {
  const SlowNames names;
  HttpRequest request;
  request.url = "http://slow.test/";
  request.limits.connect = milliseconds(100);
  EXPECT_EQ(fetch(request), "retry slow.test:80: not connected in time");
  EXPECT_TRUE(names.asked());

  Recorder forgotten(world_);
  client_.start(request, forgotten).reset();
  auto cancelled = client_.start(request, forgotten);
  world_.run_for(milliseconds(5));
  cancelled.reset();
  EXPECT_EQ(forgotten.ends, 0);
}

TEST_F(CurlClientTest, TellsOfAConnectionClosedWithoutAnAnswer) {
  EXPECT_EQ(get(""), "retry PEER: closed without an answer");
}

TEST_F(CurlClientTest, TellsOfAReset) {
  const std::string outcome = get([](Wire& wire) { wire.reset(); });
  EXPECT_EQ(outcome, "retry PEER: Recv failure: Connection reset by peer");
}

TEST_F(CurlClientTest, TellsOfABodyCutShort) {
  EXPECT_EQ(get("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"),
            "retry PEER: answer cut short");
  EXPECT_EQ(recorder_.body, "hello");
}

TEST_F(CurlClientTest, TellsOfAChunkedBodyCutShort) {
  EXPECT_EQ(get("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"),
            "retry PEER: answer cut short");
  EXPECT_EQ(recorder_.body, "hello");
}

TEST_F(CurlClientTest, TellsOfAHeadCutShort) {
  EXPECT_EQ(get("HTTP/1.1 200 OK\r\nContent-Le"), "retry PEER: answer cut short");
  EXPECT_TRUE(recorder_.heads.empty());
}

TEST_F(CurlClientTest, RefusesGarbage) {
  const std::string outcome = get("SSH-2.0-OpenSSH_9.2\r\n\r\n");
  EXPECT_TRUE(outcome.starts_with("invalid PEER: not an HTTP answer: ")) << outcome;
  EXPECT_TRUE(recorder_.heads.empty());
}

TEST_F(CurlClientTest, RefusesBrokenChunks) {
  const std::string outcome =
      get("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n");
  EXPECT_TRUE(outcome.starts_with("retry PEER: ")) << outcome;
}

TEST_F(CurlClientTest, BoundsTheHead) {
  HttpLimits limits;
  limits.header_bytes_max = 1000;
  std::string many = "HTTP/1.1 200 OK\r\n";
  while (many.size() < 2000) many += "X-Padding: 0123456789\r\n";
  EXPECT_EQ(get(many + "\r\n", limits), "invalid PEER: the head of the answer is over 1000 bytes");
  EXPECT_TRUE(recorder_.heads.empty());
}

TEST_F(CurlClientTest, BoundsOneEndlessHeaderLine) {
  const std::string outcome =
      get("HTTP/1.1 200 OK\r\nX-Padding: " + std::string(1'000'000, 'x') + "\r\n\r\n");
  EXPECT_TRUE(outcome.starts_with("invalid PEER: ")) << outcome;
  EXPECT_TRUE(recorder_.heads.empty());
}

TEST_F(CurlClientTest, BoundsTheWaitForTheHead) {
  HttpLimits limits;
  limits.first_byte = milliseconds(20);
  EXPECT_EQ(get([](Wire&) {}, limits), "retry PEER: no answer within 20 ms");
}

TEST_F(CurlClientTest, CountsADribbledHeadAsNoAnswer) {
  HttpLimits limits;
  limits.first_byte = milliseconds(20);
  EXPECT_EQ(get([](Wire& wire) { wire.say("HTTP/1.1 200 OK\r\n"); }, limits),
            "retry PEER: no answer within 20 ms");
}

TEST_F(CurlClientTest, BoundsTheWaitBetweenChunks) {
  HttpLimits limits;
  limits.idle = milliseconds(20);
  EXPECT_EQ(get([](Wire& wire) { wire.say("HTTP/1.1 200 OK\r\n\r\nhello"); }, limits),
            "retry PEER: nothing received for 20 ms");
  EXPECT_EQ(recorder_.body, "hello");
}

TEST_F(CurlClientTest, BoundsTheWhole) {
  HttpLimits limits;
  limits.total = milliseconds(100);
  std::unique_ptr<Timer> drip;
  const std::string outcome = get(
      [&](Wire& wire) {
        wire.say("HTTP/1.1 200 OK\r\n\r\n");
        drip = world_.loop.make_timer([&] {
          wire.say("x");
          drip->arm(world_.loop.now() + milliseconds(1));
        });
        drip->arm(world_.loop.now());
      },
      limits);
  EXPECT_EQ(outcome, "retry PEER: not done within 100 ms");
}

TEST_F(CurlClientTest, HasNoBoundsWhereNoneAreAsked) {
  HttpLimits limits;
  limits.idle = milliseconds::zero();
  limits.total = milliseconds::zero();
  limits.first_byte = milliseconds(100);
  std::unique_ptr<Timer> later;
  const std::string outcome = get(
      [&](Wire& wire) {
        wire.say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
        later = world_.loop.make_timer([&] { wire.say("hello"); });
        later->arm(world_.loop.now() + milliseconds(150));
      },
      limits);
  EXPECT_EQ(outcome, "ok");
}

TEST_F(CurlClientTest, BoundsTheTimeToConnect) {
  ScriptedServer server(world_, [](Wire&) { FAIL(); });  // never answers the TLS hello
  HttpRequest request;
  request.url = "https://" + server.peer() + "/";
  request.limits.connect = milliseconds(30);
  EXPECT_EQ(fetch(request), "retry " + server.peer() + ": not connected in time");
}

TEST_F(CurlClientTest, ForgetsACallDestroyedBeforeTheLoopRuns) {
  ScriptedServer server(world_, [](Wire&) { FAIL(); });
  HttpRequest request;
  request.url = server.url();
  client_.start(request, recorder_).reset();
  world_.run_for(milliseconds(5));
  EXPECT_EQ(recorder_.ends, 0);
  EXPECT_TRUE(server.wires.empty());
}

TEST_F(CurlClientTest, ForgetsACallDestroyedWhileItWaits) {
  ScriptedServer server(world_, [](Wire&) {});
  HttpRequest request;
  request.url = server.url();
  auto call = client_.start(request, recorder_);
  world_.until([&] { return !server.wires.empty() && !server.wires[0]->heard.empty(); });
  call.reset();
  world_.until([&] { return server.wires[0]->peer_closed; });
  EXPECT_EQ(recorder_.ends, 0);
}

// The handler destroys its call at one of the callbacks, and hears no more.
class CancellationTest : public CurlClientTest {
 protected:
  void run() {
    ScriptedServer server(
        world_, [](Wire& wire) { wire.say("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"); });
    HttpRequest request;
    request.url = server.url();
    call_ = client_.start(request, recorder_);
    world_.until([&] { return call_ == nullptr; });
    world_.until([&] { return server.wires[0]->peer_closed; });
    EXPECT_EQ(recorder_.ends, 0);
  }

  std::unique_ptr<HttpCall> call_;
  std::function<void()> destroy_ = [this] {
    call_.reset();
    world_.touch();
  };
};

TEST_F(CancellationTest, WorksAtTheHead) {
  recorder_.when_head = destroy_;
  run();
  EXPECT_EQ(recorder_.chunks, 0);
}

TEST_F(CancellationTest, WorksAtAChunk) {
  recorder_.when_body = destroy_;
  run();
  EXPECT_EQ(recorder_.chunks, 1);
}

TEST_F(CancellationTest, WorksAtTheEnd) {
  recorder_.when_end = destroy_;
  ScriptedServer server(
      world_, [](Wire& wire) { wire.say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"); });
  HttpRequest request;
  request.url = server.url();
  call_ = client_.start(request, recorder_);
  world_.until([&] { return call_ == nullptr; });
  EXPECT_EQ(recorder_.outcome(), "ok");
}

TEST_F(CancellationTest, WorksWhenATimeoutStrikes) {
  recorder_.when_end = destroy_;
  ScriptedServer server(world_, [](Wire&) {});
  HttpRequest request;
  request.url = server.url();
  request.limits.first_byte = milliseconds(10);
  call_ = client_.start(request, recorder_);
  world_.until([&] { return call_ == nullptr; });
  EXPECT_EQ(recorder_.ends, 1);
}

TEST_F(CancellationTest, WorksFromAnotherCallsCallback) {
  const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
  ScriptedServer silent(world_, [](Wire&) {});
  ScriptedServer prompt(world_, [&](Wire& wire) { wire.say(answer); });
  HttpRequest request;
  request.url = silent.url();
  call_ = client_.start(request, recorder_);
  world_.until([&] { return !silent.wires.empty() && !silent.wires[0]->heard.empty(); });

  Recorder other(world_);
  other.when_head = destroy_;
  request.url = prompt.url();
  const auto call = client_.start(request, other);
  world_.until([&] { return other.ended() && silent.wires[0]->peer_closed; });
  EXPECT_EQ(other.outcome(), "ok");
  EXPECT_EQ(recorder_.ends, 0);
}

TEST_F(CurlClientTest, StartsACallFromWithinACallback) {
  ScriptedServer server(world_, [](Wire& wire) {
    wire.heard.clear();
    wire.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
  });
  HttpRequest request;
  request.url = server.url();
  Recorder second(world_);
  Recorder third(world_);
  std::vector<std::unique_ptr<HttpCall>> calls;
  recorder_.when_body = [&] { calls.push_back(client_.start(request, second)); };
  second.when_end = [&] { calls.push_back(client_.start(request, third)); };
  calls.push_back(client_.start(request, recorder_));
  world_.until([&] { return third.ended(); });
  EXPECT_EQ(recorder_.outcome(), "ok");
  EXPECT_EQ(second.outcome(), "ok");
  EXPECT_EQ(third.body, "hi");
}

TEST_F(CurlClientTest, UsesAConnectionAgain) {
  ScriptedServer server(world_, [](Wire& wire) {
    wire.heard.clear();
    wire.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
  });
  HttpRequest request;
  request.url = server.url();
  for (int i = 0; i < 3; ++i) {
    Recorder recorder(world_);
    const auto call = client_.start(request, recorder);
    world_.until([&] { return recorder.ended(); });
    EXPECT_EQ(recorder.outcome(), "ok");
  }
  EXPECT_EQ(server.wires.size(), 1U);
}

TEST_F(CurlClientTest, WatchesNothingWhileIdleAndOutlivesAClosedConnection) {
  ScriptedServer server(world_, [](Wire& wire) {
    wire.heard.clear();
    wire.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
  });
  HttpRequest request;
  request.url = server.url();
  const std::size_t events_before = events();
  for (int i = 0; i < 2; ++i) {
    Recorder recorder(world_);
    const auto call = client_.start(request, recorder);
    world_.until([&] { return recorder.ended(); });
    EXPECT_EQ(recorder.outcome(), "ok");
    ASSERT_EQ(server.wires.size(), static_cast<std::size_t>(i) + 1);
    server.wires.back()->close();
    world_.run_for(milliseconds(1));  // libevent frees what was closed one turn later
    EXPECT_EQ(events(), events_before);
  }
}

TEST_F(CurlClientTest, KeepsFewIdleConnections) {
  std::vector<Wire*> waiting;
  ScriptedServer server(world_, [&](Wire& wire) {
    waiting.push_back(&wire);
    world_.touch();
  });
  HttpRequest request;
  request.url = server.url();
  std::vector<std::unique_ptr<Recorder>> recorders;
  std::vector<std::unique_ptr<HttpCall>> calls;
  for (int i = 0; i < 10; ++i) {
    recorders.push_back(std::make_unique<Recorder>(world_));
    calls.push_back(client_.start(request, *recorders.back()));
  }
  world_.until([&] { return waiting.size() == 10; });
  for (Wire* wire : waiting) wire->say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  const auto closed = [&] {
    return std::count_if(waiting.begin(), waiting.end(),
                         [](const Wire* wire) { return wire->peer_closed; });
  };
  world_.until([&] { return closed() >= 6; });
  EXPECT_TRUE(std::all_of(recorders.begin(), recorders.end(),
                          [](const auto& recorder) { return recorder->outcome() == "ok"; }));
}

TEST_F(CurlClientTest, IgnoresTheEnvironmentsProxy) {
  setenv("http_proxy", "http://127.0.0.1:1", 1);
  setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
  EXPECT_EQ(get("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), "ok");
  unsetenv("http_proxy");
  unsetenv("ALL_PROXY");
}

TEST_F(CurlClientTest, TakesALargeBodyWhole) {
  const std::string body(5'000'000, 'x');
  EXPECT_EQ(get("HTTP/1.1 200 OK\r\nContent-Length: 5000000\r\n\r\n" + body), "ok");
  EXPECT_EQ(recorder_.body.size(), body.size());
}

TEST(CurlClient, CanGoWithCallsUnderWay) {
  World world;
  ScriptedServer server(world, [](Wire&) {});
  Recorder recorder(world);
  HttpRequest request;
  request.url = server.url();
  {
    CurlClient client(world.loop);
    auto waiting = client.start(request, recorder);
    auto running = client.start(request, recorder);
    world.until([&] { return server.wires.size() == 2; });
    auto fresh = client.start(request, recorder);
  }
  EXPECT_EQ(recorder.ends, 0);
}

}  // namespace
}  // namespace lastcall::net
