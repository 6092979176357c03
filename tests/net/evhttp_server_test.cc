#include "net/evhttp_server.h"

#include <ctime>
#include <filesystem>

#include "gtest/gtest.h"
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/curl_client.h"
#include "tests/net/scripted_peer.h"
#include "tests/net/world.h"

namespace lastcall::net {
namespace {

using std::chrono::milliseconds;

// A server that keeps what it is asked and answers when told to.
class Desk {
 public:
  explicit Desk(World& world, ServerLimits limits = {}, const std::string& address = "127.0.0.1:0")
      : world_(world) {
    auto listening = EvhttpServer::listen(world.loop, address, limits);
    EXPECT_TRUE(listening.ok()) << listening.error().message;
    server = std::move(listening).value();
    server->on_request([this](const ServerRequest& request, std::unique_ptr<Responder> responder) {
      requests.push_back(request);
      if (answer_at_once) {
        responder->respond(answer);
      } else {
        responder->on_gone([this] {
          ++gone;
          world_.touch();
        });
        responders.push_back(std::move(responder));
      }
      world_.touch();
    });
  }

  [[nodiscard]] const std::string& address() const { return server->address(); }

  bool answer_at_once = true;
  ServerResponse answer{.body = "hello\n"};
  std::vector<ServerRequest> requests;
  std::vector<std::unique_ptr<Responder>> responders;
  int gone = 0;
  std::unique_ptr<EvhttpServer> server;

 private:
  World& world_;
};

bool ends_with(const Wire& wire, std::string_view text) { return wire.heard.ends_with(text); }

bool has(const Wire& wire, std::string_view text) {
  return wire.heard.find(text) != std::string::npos;
}

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

class EvhttpServerTest : public testing::Test {
 protected:
  World world_;
};

TEST_F(EvhttpServerTest, AnswersPlainly) {
  Desk desk(world_);
  Wire wire(world_, desk.address());
  wire.say("GET /hold%20on?a=b%20c HTTP/1.1\r\nHost: x\r\n\r\n");
  world_.until([&] { return ends_with(wire, "hello\n"); });
  EXPECT_TRUE(wire.heard.starts_with("HTTP/1.1 200 OK\r\n"));
  EXPECT_TRUE(has(wire, "Content-Type: text/plain; charset=utf-8\r\n"));
  EXPECT_TRUE(has(wire, "Content-Length: 6\r\n"));
  EXPECT_FALSE(has(wire, "chunked"));
  EXPECT_FALSE(has(wire, "Server:"));
  ASSERT_EQ(desk.requests.size(), 1U);
  EXPECT_EQ(desk.requests[0].method, "GET");
  EXPECT_EQ(desk.requests[0].path, "/hold on");
  EXPECT_EQ(desk.requests[0].query, "a=b%20c");
  EXPECT_EQ(desk.requests[0].body, "");
  EXPECT_EQ(desk.requests[0].peer, "127.0.0.1");
}

TEST_F(EvhttpServerTest, AnswersAnEmptyBodyWithLengthZero) {
  Desk desk(world_);
  desk.answer = {};
  Wire wire(world_, desk.address());
  wire.say("GET / HTTP/1.1\r\n\r\n");
  world_.until([&] { return ends_with(wire, "\r\n\r\n"); });
  EXPECT_TRUE(has(wire, "Content-Length: 0\r\n"));
  EXPECT_FALSE(has(wire, "Content-Type"));
}

TEST_F(EvhttpServerTest, AnswersHeadWithoutABody) {
  Desk desk(world_);
  Wire wire(world_, desk.address());
  wire.say("HEAD / HTTP/1.1\r\n\r\nGET /next HTTP/1.1\r\n\r\n");
  world_.until([&] { return ends_with(wire, "hello\n"); });
  EXPECT_EQ(count(wire.heard, "hello"), 1U);
  EXPECT_EQ(count(wire.heard, "Content-Length: 6"), 2U);
  EXPECT_EQ(desk.requests[0].method, "HEAD");
}

TEST_F(EvhttpServerTest, TakesBodies) {
  Desk desk(world_);
  Wire wire(world_, desk.address());
  wire.say(
      "POST /drain HTTP/1.1\r\nContent-Length: 3\r\n\r\nnowPOST /drain HTTP/1.1\r\n"
      "Transfer-Encoding: chunked\r\n\r\n2\r\nla\r\n3\r\nter\r\n0\r\n\r\n");
  world_.until([&] { return count(wire.heard, "hello\n") == 2; });
  ASSERT_EQ(desk.requests.size(), 2U);
  EXPECT_EQ(desk.requests[0].method, "POST");
  EXPECT_EQ(desk.requests[0].body, "now");
  EXPECT_EQ(desk.requests[1].body, "later");
}

TEST_F(EvhttpServerTest, AnswersOldClientsAndCloses) {
  Desk desk(world_);
  Wire wire(world_, desk.address());
  wire.say("GET / HTTP/1.0\r\n\r\n");
  world_.until([&] { return wire.peer_closed; });
  EXPECT_TRUE(ends_with(wire, "hello\n"));
}

TEST_F(EvhttpServerTest, RefusesOtherMethods) {
  Desk desk(world_);
  for (const std::string method : {"PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "BREW"}) {
    Wire wire(world_, desk.address());
    wire.say(method + " / HTTP/1.1\r\nContent-Length: 0\r\n\r\n");
    world_.until([&] { return wire.peer_closed; });
    EXPECT_TRUE(wire.heard.starts_with("HTTP/1.1 501 ")) << method << wire.heard;
  }
  EXPECT_TRUE(desk.requests.empty());
}

TEST_F(EvhttpServerTest, SendsALargeAnswerWhole) {
  Desk desk(world_);
  desk.answer.body.assign(3'000'000, 'x');
  CurlClient client(world_.loop);
  Recorder recorder(world_);
  HttpRequest request;
  request.url = "http://" + desk.address() + "/metrics";
  const auto call = client.start(request, recorder);
  world_.until([&] { return recorder.ended(); });
  EXPECT_EQ(recorder.outcome(), "ok");
  EXPECT_EQ(recorder.body, desk.answer.body);
}

TEST_F(EvhttpServerTest, AnswersLater) {
  Desk desk(world_);
  desk.answer_at_once = false;
  Wire wire(world_, desk.address());
  wire.say("GET /hold HTTP/1.1\r\n\r\n");
  world_.until([&] { return desk.responders.size() == 1; });
  EXPECT_EQ(wire.heard, "");
  desk.responders[0]->respond({.body = "released\n"});
  desk.responders[0]->respond({.body = "twice\n"});
  world_.until([&] { return ends_with(wire, "released\n"); });

  desk.responders.clear();
  wire.say("GET /hold HTTP/1.1\r\n\r\n");
  world_.until([&] { return desk.responders.size() == 1; });
  desk.responders[0]->respond({.body = "again\n"});
  world_.until([&] { return ends_with(wire, "again\n"); });
  EXPECT_FALSE(has(wire, "twice"));
  EXPECT_EQ(desk.gone, 0);
}

TEST_F(EvhttpServerTest, Answers503ForAForgottenRequest) {
  Desk desk(world_);
  desk.answer_at_once = false;
  Wire wire(world_, desk.address());
  wire.say("GET /hold HTTP/1.1\r\n\r\n");
  world_.until([&] { return desk.responders.size() == 1; });
  desk.responders.clear();
  world_.until([&] { return ends_with(wire, "not answered\n"); });
  EXPECT_TRUE(wire.heard.starts_with("HTTP/1.1 503 "));
}

TEST_F(EvhttpServerTest, Answers503WithoutAHandler) {
  auto server = EvhttpServer::listen(world_.loop, "127.0.0.1:0", {});
  Wire wire(world_, server.value()->address());
  wire.say("GET / HTTP/1.1\r\n\r\n");
  world_.until([&] { return ends_with(wire, "not answered\n"); });
}

TEST_F(EvhttpServerTest, BoundsParkedRequests) {
  ServerLimits limits;
  limits.parked_max = 2;
  Desk desk(world_, limits);
  desk.answer_at_once = false;
  Wire first(world_, desk.address());
  Wire second(world_, desk.address());
  first.say("GET / HTTP/1.1\r\n\r\n");
  second.say("GET / HTTP/1.1\r\n\r\n");
  world_.until([&] { return desk.responders.size() == 2; });
  Wire third(world_, desk.address());
  third.say("GET / HTTP/1.1\r\n\r\n");
  world_.until([&] { return ends_with(third, "too many waiting requests\n"); });
  EXPECT_TRUE(third.heard.starts_with("HTTP/1.1 503 "));

  desk.responders[0]->respond({});
  third.say("GET / HTTP/1.1\r\n\r\n");
  world_.until([&] { return desk.responders.size() == 3; });
  second.close();
  world_.until([&] { return desk.gone == 1; });
  first.say("GET / HTTP/1.1\r\n\r\n");
  world_.until([&] { return desk.responders.size() == 4; });
}

// What a peer does while its request is parked.
class ParkedTest : public EvhttpServerTest {
 protected:
  ParkedTest() { desk_.answer_at_once = false; }

  void park(std::string_view request = "GET /hold HTTP/1.1\r\n\r\n") {
    wire_.say(request);
    world_.until([&] { return desk_.responders.size() == 1; });
  }

  Desk desk_{world_};
  Wire wire_{world_, desk_.address()};
};

TEST_F(ParkedTest, NoticesAPeerThatCloses) {
  park();
  wire_.close();
  world_.until([&] { return desk_.gone == 1; });
  desk_.responders[0]->respond({.body = "too late\n"});
}

TEST_F(ParkedTest, NoticesAPeerThatResets) {
  park();
  wire_.reset();
  world_.until([&] { return desk_.gone == 1; });
}

TEST_F(ParkedTest, TakesAHalfClosedPeerForGone) {
  park();
  wire_.half_close();
  world_.until([&] { return desk_.gone == 1 && wire_.peer_closed; });
}

TEST_F(ParkedTest, NoticesTheCloseAfterABody) {
  park("POST /drain HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi");
  wire_.close();
  world_.until([&] { return desk_.gone == 1; });
}

TEST_F(ParkedTest, NoticesTheCloseAfterAChunkedBody) {
  park("POST /drain HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n");
  wire_.close();
  world_.until([&] { return desk_.gone == 1; });
}

TEST_F(ParkedTest, LetsTheResponderGoAtTheClose) {
  park();
  desk_.responders[0]->on_gone([&] {
    desk_.responders.clear();
    world_.touch();
  });
  wire_.close();
  world_.until([&] { return desk_.responders.empty(); });
}

TEST_F(ParkedTest, SaysNothingOnceTheResponderHasGone) {
  park();
  wire_.close();
  desk_.responders.clear();
  world_.run_for(milliseconds(10));
  EXPECT_EQ(desk_.gone, 0);
}

TEST_F(ParkedTest, SaysNothingAfterTheAnswer) {
  park();
  desk_.responders[0]->respond({});
  world_.until([&] { return !wire_.heard.empty(); });
  wire_.close();
  world_.run_for(milliseconds(10));
  EXPECT_EQ(desk_.gone, 0);
}

TEST_F(ParkedTest, KeepsPipelinedRequestsForLater) {
  park();
  wire_.say("GET /second HTTP/1.1\r\n\r\nGET /th");
  world_.run_for(milliseconds(5));
  wire_.say("ird HTTP/1.1\r\n\r\n");
  world_.run_for(milliseconds(5));
  EXPECT_EQ(desk_.requests.size(), 1U);
  desk_.answer_at_once = true;
  desk_.responders[0]->respond({});
  world_.until([&] { return count(wire_.heard, "hello\n") == 2; });
  EXPECT_EQ(desk_.requests[1].path, "/second");
  EXPECT_EQ(desk_.requests[2].path, "/third");
}

TEST_F(ParkedTest, SurvivesPipelinedGarbage) {
  park();
  wire_.say(std::string("\0\1\r\n\r\n\xff nonsense\r\n\r\n", 20));
  world_.run_for(milliseconds(5));
  desk_.responders[0]->respond({.body = "released\n"});
  world_.until([&] { return wire_.peer_closed; });
  EXPECT_TRUE(has(wire_, "released\n"));
  EXPECT_EQ(desk_.gone, 0);
}

TEST_F(ParkedTest, CutsOffAPeerThatGoesOnTalking) {
  park();
  wire_.say(std::string(1'000'000, 'x'));
  world_.until([&] { return desk_.gone == 1; });
}

TEST_F(EvhttpServerTest, TakesNoParkedRequestForIdle) {
  ServerLimits limits;
  limits.idle = milliseconds(100);
  Desk desk(world_, limits);
  desk.answer_at_once = false;
  Wire wire(world_, desk.address());
  wire.say("GET /hold HTTP/1.1\r\n\r\n");
  world_.until([&] { return desk.responders.size() == 1; });
  world_.run_for(3 * limits.idle);
  EXPECT_EQ(desk.gone, 0);
  desk.responders[0]->respond({.body = "released\n"});
  world_.until([&] { return ends_with(wire, "released\n"); });
}

TEST_F(ParkedTest, OutlivesItsServer) {
  park();
  desk_.server.reset();
  EXPECT_EQ(desk_.gone, 0);
  desk_.responders[0]->respond({.body = "too late\n"});
  desk_.responders[0]->on_gone([] { FAIL(); });
  world_.until([&] { return wire_.peer_closed; });
  EXPECT_EQ(wire_.heard, "");
}

TEST_F(ParkedTest, LetsTheServerGoAtTheClose) {
  park();
  desk_.responders[0]->on_gone([&] {
    desk_.server.reset();
    world_.touch();
  });
  wire_.close();
  world_.until([&] { return desk_.server == nullptr; });
}

TEST_F(EvhttpServerTest, SurvivesGarbage) {
  Desk desk(world_);
  const std::vector<std::string> garbage = {
      "\r\n\r\n",
      std::string(200, '\0') + "\r\n\r\n",
      "GET\r\n\r\n",
      "GET / HTTP/9.9\r\n\r\n",
      "GET / HTTP/1.1\r\nno colon\r\n\r\n",
      "GET / HTTP/1.1\r\n : \r\n\r\n",
      "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
      "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
      "POST / HTTP/1.1\r\nExpect: miracles\r\nContent-Length: 1\r\n\r\n",
      "\x16\x03\x01\x02" + std::string(100, '\x01') + "\r\n",
  };
  for (const std::string& text : garbage) {
    Wire wire(world_, desk.address());
    wire.say(text);
    world_.until([&] { return wire.peer_closed; });
  }
  EXPECT_TRUE(desk.requests.empty());
  Wire wire(world_, desk.address());
  wire.say("GET /%zz%00%f HTTP/1.1\r\n\r\n");
  world_.until([&] { return ends_with(wire, "hello\n"); });
}

TEST_F(EvhttpServerTest, BoundsTheHead) {
  ServerLimits limits;
  limits.header_bytes_max = 1000;
  Desk desk(world_, limits);
  for (const std::string& head :
       {"GET /" + std::string(2000, 'x'), "GET / HTTP/1.1\r\nX-Padding: " + std::string(2000, 'x'),
        std::string(2000, 'x')}) {
    Wire wire(world_, desk.address());
    wire.say(head);
    world_.until([&] { return wire.peer_closed; });
    EXPECT_TRUE(has(wire, " 400 ")) << wire.heard;
  }
  EXPECT_TRUE(desk.requests.empty());
}

TEST_F(EvhttpServerTest, BoundsTheBody) {
  ServerLimits limits;
  limits.body_bytes_max = 1000;
  Desk desk(world_, limits);
  for (const std::string head :
       {"Content-Length: 1001\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n3e9\r\n",
        "Expect: 100-continue\r\nContent-Length: 1001\r\n\r\n"}) {
    Wire wire(world_, desk.address());
    wire.say("POST / HTTP/1.1\r\n" + head);
    world_.until([&] { return wire.peer_closed; });
    EXPECT_TRUE(wire.heard.starts_with("HTTP/1.1 413 ")) << wire.heard;
  }
  EXPECT_TRUE(desk.requests.empty());
  Wire wire(world_, desk.address());
  wire.say("POST / HTTP/1.1\r\nContent-Length: 1000\r\n\r\n" + std::string(1000, 'x'));
  world_.until([&] { return ends_with(wire, "hello\n"); });
}

TEST_F(EvhttpServerTest, ClosesIdleConnections) {
  ServerLimits limits;
  limits.idle = milliseconds(30);
  Desk desk(world_, limits);
  Wire silent(world_, desk.address());
  Wire halfway(world_, desk.address());
  Wire done(world_, desk.address());
  halfway.say("GET / HT");
  done.say("GET / HTTP/1.1\r\n\r\n");
  world_.until([&] { return silent.peer_closed && halfway.peer_closed && done.peer_closed; });
  EXPECT_EQ(silent.heard, "");
  EXPECT_EQ(halfway.heard, "");
}

TEST_F(EvhttpServerTest, ClosesConnectionsThatDribble) {
  ServerLimits limits;
  limits.idle = milliseconds(30);
  Desk desk(world_, limits);
  Wire wire(world_, desk.address());
  std::unique_ptr<Timer> drip;
  drip = world_.loop.make_timer([&] {
    wire.say("x");
    drip->arm(world_.loop.now() + milliseconds(1));
  });
  drip->arm(world_.loop.now());
  world_.until([&] { return wire.peer_closed; });
  EXPECT_EQ(wire.heard, "");
}

TEST_F(EvhttpServerTest, BoundsConnections) {
  ServerLimits limits;
  limits.connections_max = 3;
  Desk desk(world_, limits);
  std::vector<std::unique_ptr<Wire>> wires;
  for (int i = 0; i < 10; ++i) {
    wires.push_back(std::make_unique<Wire>(world_, desk.address()));
    wires.back()->say("GET /" + std::to_string(i) + " HTTP/1.1\r\n\r\n");
  }
  world_.until([&] { return desk.requests.size() == 3; });
  world_.run_for(milliseconds(20));
  EXPECT_EQ(desk.requests.size(), 3U);
  wires[0]->close();
  world_.until([&] { return desk.requests.size() == 4; });
  for (auto& wire : wires) wire->close();
  world_.run_for(milliseconds(5));
  Wire last(world_, desk.address());
  last.say("GET /last HTTP/1.1\r\n\r\n");
  world_.until([&] { return ends_with(last, "hello\n"); });
}

TEST_F(EvhttpServerTest, CountsConnectionsThatNeverAsk) {
  ServerLimits limits;
  limits.connections_max = 2;
  Desk desk(world_, limits);
  auto silent = std::make_unique<Wire>(world_, desk.address());
  auto halfway = std::make_unique<Wire>(world_, desk.address());
  halfway->say("GET / HT");
  world_.run_for(milliseconds(5));
  Wire third(world_, desk.address());
  third.say("GET / HTTP/1.1\r\n\r\n");
  world_.run_for(milliseconds(20));
  EXPECT_TRUE(desk.requests.empty());
  silent.reset();
  world_.until([&] { return ends_with(third, "hello\n"); });
}

#if defined(__has_feature)
#if __has_feature(undefined_behavior_sanitizer)
#define LASTCALL_UBSAN_NEEDS_DESCRIPTORS
#endif
#endif

TEST_F(EvhttpServerTest, RestsWhileDescriptorsAreShort) {
#ifdef LASTCALL_UBSAN_NEEDS_DESCRIPTORS
  GTEST_SKIP() << "clang's UBSan opens a pipe to look at a vptr, and none can be opened here";
#endif
  Desk desk(world_);
  const int free_descriptor = dup(STDERR_FILENO);
  close(free_descriptor);
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  Wire wire(world_, desk.address());  // takes the free one
  wire.say("GET / HTTP/1.1\r\n\r\n");
  rlimit short_of_one = before;
  short_of_one.rlim_cur = static_cast<rlim_t>(free_descriptor) + 1;
  setrlimit(RLIMIT_NOFILE, &short_of_one);

  const std::clock_t cpu_before = std::clock();
  world_.run_for(milliseconds(50));
  EXPECT_LT(std::clock() - cpu_before, CLOCKS_PER_SEC / 50) << "accepting spins";
  EXPECT_TRUE(desk.requests.empty());
  setrlimit(RLIMIT_NOFILE, &before);
  world_.until([&] { return ends_with(wire, "hello\n"); });
}

TEST_F(EvhttpServerTest, ListensOnBothFamilies) {
  Desk desk(world_, {}, "[::]:0");
  const std::string port = desk.address().substr(desk.address().rfind(':'));
  Wire v4(world_, "127.0.0.1" + port);
  v4.say("GET / HTTP/1.1\r\n\r\n");
  world_.until([&] { return ends_with(v4, "hello\n"); });
  EXPECT_EQ(desk.requests.back().peer, "127.0.0.1");
  if (!desk.address().starts_with("[")) GTEST_SKIP() << "no IPv6 on this host";
  Wire v6(world_, "[::1]" + port);
  v6.say("GET / HTTP/1.1\r\n\r\n");
  world_.until([&] { return ends_with(v6, "hello\n"); });
  EXPECT_EQ(desk.requests.back().peer, "::1");
}

TEST_F(EvhttpServerTest, ListensOnAUnixSocket) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("lastcall-" + std::to_string(getpid()) + ".sock"))
          .string();
  {
    Desk desk(world_, {}, "unix:" + path);
    EXPECT_EQ(desk.address(), "unix:" + path);
    Wire wire(world_, desk.address());
    wire.say("POST /drain HTTP/1.1\r\nContent-Length: 0\r\n\r\n");
    world_.until([&] { return ends_with(wire, "hello\n"); });
    EXPECT_EQ(desk.requests[0].peer, "");
    desk.answer_at_once = false;
    wire.say("POST /drain HTTP/1.1\r\nContent-Length: 0\r\n\r\n");
    world_.until([&] { return desk.responders.size() == 1; });
    wire.close();
    world_.until([&] { return desk.gone == 1; });
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(EvhttpServerTest, RefusesABadAddress) {
  const auto server = EvhttpServer::listen(world_.loop, "nonsense", {});
  ASSERT_FALSE(server.ok());
  EXPECT_EQ(server.error().code, ErrorCode::kFatal);
}

TEST_F(EvhttpServerTest, GoesWithConnectionsOfEveryKind) {
  auto desk = std::make_unique<Desk>(world_);
  desk->answer_at_once = false;
  Wire parked(world_, desk->address());
  Wire halfway(world_, desk->address());
  Wire silent(world_, desk->address());
  parked.say("GET / HTTP/1.1\r\n\r\n");
  halfway.say("GET / HT");
  world_.until([&] { return desk->responders.size() == 1; });
  Wire unaccepted(world_, desk->address());
  desk.reset();
  world_.until([&] {
    return parked.peer_closed && halfway.peer_closed && silent.peer_closed &&
           unaccepted.peer_closed;
  });
}

}  // namespace
}  // namespace lastcall::net
