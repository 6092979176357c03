#include "k8s/lister.h"

#include <utility>

#include "k8s/json_walk.h"
#include "k8s/list_path.h"

namespace lastcall::k8s {
namespace {

constexpr int kRestartsMax = 2;
// Half a million objects at the usual page size.
constexpr int kPagesMax = 1000;

struct ListMeta {
  std::string resource_version;
  std::string continue_token;
};

net::Result<ListMeta> parse_list_meta(const PaddedText& json) {
  std::string_view resource_version;
  std::string_view continue_token;
  simdjson::ondemand::parser parser;
  JsonWalk walk(parser);
  const auto field = [&](JsonWalk::Key key, JsonWalk::Value value) {
    if (key == "resourceVersion") return walk.string(value, "resourceVersion", resource_version);
    if (key == "continue") return walk.string(value, "continue", continue_token);
    return true;
  };
  if (!walk.document(json, field)) return walk.error("metadata");
  if (resource_version.empty()) {
    walk.misfit("resourceVersion", "there");
    return walk.error("metadata");
  }
  return ListMeta{std::string(resource_version), std::string(continue_token)};
}

}  // namespace

class Lister::Impl final : private ApiHandler {
 public:
  Impl(ApiClient& api, ListRequest request, Callbacks callbacks)
      : api_(api),
        request_(std::move(request)),
        callbacks_(std::move(callbacks)),
        splitter_([this](const PaddedText& item) { return callbacks_.on_item(item); }) {
    ask();
  }

 private:
  void ask() {
    splitter_.reset();
    ApiRequest page;
    page.path = list_path(request_, continue_token_);
    page.verb = "list";
    page.resource = request_.resource;
    call_ = api_.stream(std::move(page), *this);
  }

  void on_start(std::optional<net::WallTime> /*date*/) override {
    if (continue_token_.empty()) callbacks_.on_begin();
  }

  void on_body(std::string_view chunk) override {
    const net::Status status = splitter_.feed(chunk);
    if (!status) finish(in_context(status.error()));
  }

  void on_end(const net::Status& outcome) override {
    if (outcome.ok()) return end_page();
    const bool expired =
        outcome.error().code == net::ErrorCode::kRelist && !continue_token_.empty();
    if (!expired || restarts_ == kRestartsMax) return finish(outcome.error());
    ++restarts_;
    pages_ = 0;
    continue_token_.clear();
    resource_version_.clear();
    ask();
  }

  void end_page() {
    if (const net::Status status = splitter_.finish(); !status) {
      return finish(in_context(status.error()));
    }
    if (splitter_.kind() != request_.kind) {
      return invalid("the answer's kind is not " + request_.kind);
    }
    net::Result<ListMeta> meta = parse_list_meta(splitter_.metadata());
    if (!meta) return finish(in_context(meta.error()));
    if (++pages_ > kPagesMax) return invalid("too many pages");

    // A WATCH must go on from the oldest state listed: that of the first page.
    if (resource_version_.empty()) resource_version_ = std::move(meta.value().resource_version);
    continue_token_ = std::move(meta.value().continue_token);
    if (continue_token_.empty()) {
      finish(std::move(resource_version_));
    } else {
      ask();
    }
  }

  [[nodiscard]] net::Error in_context(const net::Error& error) const {
    return error.in("list " + std::string(request_.resource));
  }

  void invalid(std::string message) {
    finish(in_context({net::ErrorCode::kInvalid, std::move(message), std::nullopt}));
  }

  // Last in every callback: `done` may destroy this.
  void finish(net::Result<std::string> result) {
    call_.reset();
    const auto done = std::move(callbacks_.done);
    done(std::move(result));
  }

  ApiClient& api_;
  ListRequest request_;
  Callbacks callbacks_;
  ListSplitter splitter_;
  std::string continue_token_;
  std::string resource_version_;
  int pages_ = 0;
  int restarts_ = 0;
  std::unique_ptr<ApiCall> call_;
};

Lister::Lister(ApiClient& api, ListRequest request, Callbacks callbacks)
    : impl_(std::make_unique<Impl>(api, std::move(request), std::move(callbacks))) {}

Lister::~Lister() = default;

}  // namespace lastcall::k8s
