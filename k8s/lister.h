// One consistent LIST: all pages of it, streamed.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "k8s/api_client.h"
#include "k8s/list_splitter.h"

namespace lastcall::k8s {

struct ListRequest {
  std::string path;            // "/apis/discovery.k8s.io/v1/namespaces/NS/endpointslices"
  std::string_view resource;   // "endpointslices"
  std::string label_selector;  // not yet percent-encoded; empty: none
  std::string field_selector;
  std::string kind;  // "EndpointSliceList": anything else is kInvalid
  int page_limit = 500;
  // How long a WATCH may be silent before it is begun anew, healthy or not.
  std::chrono::seconds watch_idle{30};
};

// Lists with no resourceVersion, which is the consistent kind: "0" may be stale and must never
// release a hold. Items arrive as they stream; they count only once `done` has said so.
class Lister {
 public:
  struct Callbacks {
    // A first page begins (again, when a continue token had expired with 410): forget items.
    std::function<void()> on_begin;
    // An error ends the listing with it. Must not destroy the lister.
    std::function<net::Status(const PaddedText& item)> on_item;
    // The metadata.resourceVersion of the first page, or why there is none. Called once; may
    // destroy the lister.
    std::function<void(net::Result<std::string> resource_version)> done;
  };

  // `api` must outlive the lister. Starts at once; destroying the lister cancels without a
  // callback. A continue token that expired (410) makes it begin again, twice at most; any
  // other failure ends it: retrying is the caller's business.
  Lister(ApiClient& api, ListRequest request, Callbacks callbacks);
  ~Lister();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lastcall::k8s
