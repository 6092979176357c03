// A WATCH stream through the reflector, whole and in chunks: the sink must hear the same.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "k8s/reflector.h"
#include "k8s/slice_view.h"
#include "tests/fakes/fake_loop.h"
#include "tests/fakes/scripted_http.h"
#include "tests/fuzz/chunks.h"

namespace {

using namespace lastcall;

class Sink final : public k8s::ReflectorSink {
 public:
  void on_list_begin() override { heard.emplace_back("begin"); }
  net::Status on_list_item(const k8s::PaddedText& item) override {
    heard.emplace_back(item.view());
    return net::Done{};
  }
  void on_list_end() override { heard.emplace_back("end"); }
  // As the observer does: an object that is no slice is an error.
  net::Status on_change(k8s::WatchVerb verb, const k8s::PaddedText& object) override {
    heard.push_back(std::to_string(static_cast<int>(verb)) + std::string(object.view()));
    const auto view = parser_.parse(object, {.uid = "u",
                                             .node_name = "n",
                                             .addresses = {"10.0.0.1"},
                                             .host_network = true,
                                             .ports = {80}});
    return view ? net::Status(net::Done{}) : net::Status(view.error());
  }
  void on_blind(const net::Error& error) override { heard.push_back("blind " + error.message); }
  void on_sight() override { heard.emplace_back("sight"); }

  std::vector<std::string> heard;

 private:
  k8s::SliceParser parser_;
};

std::vector<std::string> watch(const std::vector<std::string_view>& chunks) {
  fakes::FakeLoop loop;
  fakes::ScriptedHttp http(loop);
  k8s::ApiClient client(loop, http, {"http://api", "", ""});
  Sink sink;
  k8s::ListRequest request;
  request.path = "/slices";
  request.resource = "slices";
  request.kind = "L";
  const k8s::Reflector reflector(client, request, sink);
  http.last().answer(200, R"({"kind":"L","metadata":{"resourceVersion":"1"},"items":[]})");
  fakes::ScriptedExchange& stream = http.last();
  stream.head(200);
  for (const std::string_view chunk : chunks) stream.body(chunk);
  stream.end();
  // Where it goes on from is part of what it understood.
  loop.run_next();
  sink.heard.push_back(http.last().path());
  return sink.heard;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Chunked input = fuzz::cut(data, size);
  if (watch(input.chunks) != watch({input.text})) std::abort();
  return 0;
}
