#include "tests/demo/replica.h"

#include <cstdio>
#include <list>
#include <memory>
#include <random>
#include <utility>

#include "net/event_loop.h"
#include "net/evhttp_server.h"

namespace lastcall::demo {
namespace {

class Replica {
 public:
  Replica(net::EventLoop& loop, std::uint64_t seed) : loop_(loop), random_(seed) {}

  net::Status listen(const std::string& address) {
    auto server = net::EvhttpServer::listen(loop_, address, {});
    if (!server.ok()) return server.error();
    server_ = std::move(server).value();
    server_->on_request(
        [this](const net::ServerRequest&, std::unique_ptr<net::Responder> responder) {
          work_on(std::move(responder));
        });
    return net::Done{};
  }

 private:
  struct Work {
    std::unique_ptr<net::Responder> responder;
    std::unique_ptr<net::Timer> done;
  };

  void work_on(std::unique_ptr<net::Responder> responder) {
    const auto work = works_.emplace(works_.end());
    work->responder = std::move(responder);
    work->done = loop_.make_timer([this, work] {
      work->responder->respond({.body = std::string(kReplicaBody)});
      works_.erase(work);
    });
    work->done->arm(loop_.now() + std::chrono::microseconds(pace_us_(random_)));
  }

  net::EventLoop& loop_;
  std::mt19937_64 random_;
  std::uniform_int_distribution<int> pace_us_{1000, 5000};
  std::list<Work> works_;
  std::unique_ptr<net::EvhttpServer> server_;
};

}  // namespace

int run_replica(const ReplicaOptions& options) {
  net::EventLoop loop;
  Replica replica(loop, options.seed);
  const auto started = loop.make_timer([&] {
    const net::Status listening = replica.listen(options.listen);
    if (listening.ok()) return;
    std::fputs((listening.error().message + "\n").c_str(), stderr);
    loop.stop();
  });
  started->arm(loop.now() + options.start_after);
  loop.run();
  return 1;
}

}  // namespace lastcall::demo
