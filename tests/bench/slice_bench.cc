// How fast slices are read (DESIGN.md section 8): at least 1 GB/s on one core of a desktop CPU,
// no allocation per endpoint.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>

#include <benchmark/benchmark.h>

#include "k8s/list_splitter.h"
#include "k8s/slice_view.h"

namespace {

std::size_t allocations = 0;

}  // namespace

// Not inlined, or GCC takes our malloc and free for a mismatch.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* const memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  ++allocations;
  return std::malloc(size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}

namespace {

using lastcall::k8s::ListSplitter;
using lastcall::k8s::PaddedText;
using lastcall::k8s::PodIdentity;
using lastcall::k8s::SliceParser;

// What libcurl hands out at most at a time.
constexpr std::size_t kChunk = std::size_t{16} * 1024;

std::string uid_of(std::size_t endpoint) {
  const std::string digits = std::to_string(endpoint);
  return std::string(8 - digits.size(), '0') + digits + "-0c1f-4b57-9d3e-5a7d0e6b1c42";
}

PodIdentity identity() {
  return {.uid = uid_of(42),
          .node_name = "ip-10-0-12-34.eu-central-1.compute.internal",
          .addresses = {"10.244.0.42"},
          .host_network = false,
          .ports = {8080}};
}

std::string endpoint_json(std::size_t i) {
  const std::string n = std::to_string(i);
  return R"({"addresses":["10.244.)" + std::to_string(i / 256) + "." + std::to_string(i % 256) +
         R"("],"conditions":{"ready":true,"serving":true,"terminating":false},)"
         R"("targetRef":{"kind":"Pod","namespace":"shop","name":"checkout-7d9c5b6f4-)" +
         n + R"(","uid":")" + uid_of(i) +
         R"("},"nodeName":"ip-10-0-12-34.eu-central-1.compute.internal","zone":"eu-central-1a"})";
}

// As the API server prints it: compact, with managedFields.
std::string slice_json(std::size_t endpoints) {
  std::string text =
      R"({"metadata":{"name":"checkout-x2v9k","generateName":"checkout-","namespace":"shop",)"
      R"("uid":"0b6f1a52-6c3b-4a58-8f0e-2d1c7b9e4f10","resourceVersion":"81234567",)"
      R"("generation":17,"creationTimestamp":"2026-01-02T03:04:05Z","labels":{"app":"checkout",)"
      R"("endpointslice.kubernetes.io/managed-by":"endpointslice-controller.k8s.io",)"
      R"("kubernetes.io/service-name":"checkout"},"annotations":{)"
      R"("endpoints.kubernetes.io/last-change-trigger-time":"2026-01-02T03:04:05Z"},)"
      R"("ownerReferences":[{"apiVersion":"v1","kind":"Service","name":"checkout",)"
      R"("uid":"5f0d7f6e-7f3c-4d55-9a4e-0c8a7b1d2e3f","controller":true,)"
      R"("blockOwnerDeletion":true}],"managedFields":[{"manager":"kube-controller-manager",)"
      R"("operation":"Update","apiVersion":"discovery.k8s.io/v1","time":"2026-01-02T03:04:05Z",)"
      R"("fieldsType":"FieldsV1","fieldsV1":{"f:addressType":{},"f:endpoints":{},"f:metadata":{)"
      R"("f:annotations":{".":{},"f:endpoints.kubernetes.io/last-change-trigger-time":{}},)"
      R"("f:generateName":{},"f:labels":{".":{},"f:app":{},)"
      R"("f:endpointslice.kubernetes.io/managed-by":{},"f:kubernetes.io/service-name":{}},)"
      R"("f:ownerReferences":{".":{},"k:{\"uid\":\"5f0d7f6e-7f3c-4d55-9a4e-0c8a7b1d2e3f\"}":{}}},)"
      R"("f:ports":{}}}]},"addressType":"IPv4","endpoints":[)";
  for (std::size_t i = 0; i < endpoints; ++i) text += (i == 0 ? "" : ",") + endpoint_json(i);
  return text + R"(],"ports":[{"name":"http","port":8080,"protocol":"TCP"}]})";
}

std::string list_json(std::size_t slices) {
  std::string text = R"({"kind":"EndpointSliceList","apiVersion":"discovery.k8s.io/v1",)"
                     R"("metadata":{"resourceVersion":"81234999"},"items":[)";
  for (std::size_t i = 0; i < slices; ++i) text += (i == 0 ? "" : ",") + slice_json(100);
  return text + "]}\n";
}

void require(bool condition) {
  if (!condition) std::abort();
}

template <class Work>
std::size_t allocations_of(Work work) {
  const std::size_t before = allocations;
  work();
  return allocations - before;
}

void count_bytes(benchmark::State& state, std::size_t bytes_per_iteration) {
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes_per_iteration));
}

void parse_slice(benchmark::State& state) {
  const PaddedText slice(slice_json(static_cast<std::size_t>(state.range(0))));
  const PodIdentity us = identity();
  SliceParser parser;
  for (auto _ : state) {
    const auto view = parser.parse(slice, us);
    require(view && view.value().own.size() == 1);
  }
  count_bytes(state, slice.size());
}
BENCHMARK(parse_slice)->Arg(100)->Arg(1000);

// Per slice with a warm parser, and what 900 endpoints more add to that.
void allocations_per_endpoint(benchmark::State& state) {
  const PaddedText small(slice_json(100));
  const PaddedText large(slice_json(1000));
  const PodIdentity us = identity();
  SliceParser parser;
  const auto parse = [&](const PaddedText& text) { require(parser.parse(text, us).ok()); };
  parse(large);
  std::size_t of_small = 0;
  std::size_t of_large = 0;
  for (auto _ : state) {
    of_small = allocations_of([&] { parse(small); });
    of_large = allocations_of([&] { parse(large); });
  }
  state.counters["allocs_per_slice"] = static_cast<double>(of_small);
  state.counters["allocs_per_endpoint"] = static_cast<double>(of_large - of_small) / 900;
}
BENCHMARK(allocations_per_endpoint);

template <class OnItem>
void split(std::string_view list, OnItem on_item) {
  ListSplitter splitter(on_item);
  for (std::size_t at = 0; at < list.size(); at += kChunk) {
    require(splitter.feed(list.substr(at, kChunk)).ok());
  }
  require(splitter.finish().ok());
}

void split_list(benchmark::State& state) {
  const std::string list = list_json(100);
  for (auto _ : state) {
    split(list, [](const PaddedText&) { return lastcall::net::Status(lastcall::net::Done{}); });
  }
  count_bytes(state, list.size());
}
BENCHMARK(split_list);

void split_and_parse_list(benchmark::State& state) {
  const std::string list = list_json(100);
  const PodIdentity us = identity();
  SliceParser parser;
  std::size_t allocated = 0;
  for (auto _ : state) {
    std::size_t own = 0;
    allocated = allocations_of([&] {
      split(list, [&](const PaddedText& item) -> lastcall::net::Status {
        auto view = parser.parse(item, us);
        if (!view) return view.error();
        own += view.value().own.size();
        return lastcall::net::Done{};
      });
    });
    require(own == 100);
  }
  count_bytes(state, list.size());
  state.counters["allocs_per_slice"] = static_cast<double>(allocated) / 100;
}
BENCHMARK(split_and_parse_list);

}  // namespace

BENCHMARK_MAIN();
