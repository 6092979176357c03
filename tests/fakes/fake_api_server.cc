#include "tests/fakes/fake_api_server.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "tests/fakes/selector.h"

namespace lastcall::fakes {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::chrono::seconds kWatchLongest{1800};
constexpr std::string_view kReviewPath = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

std::string decode(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(&text[i + 1], &text[i + 1] + 2, value, 16).ec == std::errc()) {
      decoded.push_back(static_cast<char>(value));
      i += 2;
    } else {
      decoded.push_back(text[i] == '+' ? ' ' : text[i]);
    }
  }
  return decoded;
}

std::map<std::string, std::string> parameters(std::string_view query) {
  std::map<std::string, std::string> found;
  while (!query.empty()) {
    const auto pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    const auto equals = std::min(pair.find('='), pair.size());
    found[decode(pair.substr(0, equals))] =
        equals < pair.size() ? decode(pair.substr(equals + 1)) : "";
  }
  return found;
}

std::optional<std::uint64_t> number(const std::string& text) {
  std::uint64_t value = 0;
  const auto end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

Json status_json(int status, std::string_view reason, std::string_view message) {
  return {{"kind", "Status"},    {"apiVersion", "v1"}, {"metadata", Json::object()},
          {"status", "Failure"}, {"message", message}, {"reason", reason},
          {"code", status}};
}

std::string event_line(std::string_view type, std::string_view object) {
  std::string line = R"({"type":")";
  return line.append(type).append(R"(","object":)").append(object).append("}\n");
}

std::string_view group_of(Resource resource) {
  return resource == Resource::kSlices ? "discovery.k8s.io" : "";
}

std::string prefix_of(Resource resource, const std::string& namespace_name) {
  if (resource == Resource::kNodes) return "/api/v1/nodes";
  const std::string root = resource == Resource::kSlices ? "/apis/discovery.k8s.io/v1" : "/api/v1";
  return root + "/namespaces/" + namespace_name + "/" + std::string(plural(resource));
}

}  // namespace

// One request, taken apart.
struct FakeApiServer::Query {
  std::string verb;
  std::string path;
  std::string resource_name;  // "endpointslices", also of what is not stored
  std::optional<Resource> resource;
  std::string name;
  std::map<std::string, std::string> parameters;
  std::optional<Selector> labels;
  std::optional<Selector> fields;

  static Query parse(const ApiCall& call, const std::string& namespace_name);

  [[nodiscard]] std::string parameter(const std::string& key) const {
    const auto it = parameters.find(key);
    return it == parameters.end() ? "" : it->second;
  }
  [[nodiscard]] bool selects(const Object& object) const {
    return labels->matches(labels_of(object.spec())) &&
           fields->matches({{"metadata.name", name_of(object.spec())},
                            {"metadata.namespace", object.metadata().namespace_name}});
  }
};

FakeApiServer::Query FakeApiServer::Query::parse(const ApiCall& call,
                                                 const std::string& namespace_name) {
  Query query;
  const auto mark = std::min(call.target.find('?'), call.target.size());
  query.path = decode(call.target.substr(0, mark));
  if (mark < call.target.size()) query.parameters = fakes::parameters(call.target.substr(mark + 1));
  for (const auto resource : kResources) {
    const std::string prefix = prefix_of(resource, namespace_name);
    if (!query.path.starts_with(prefix)) continue;
    const std::string rest = query.path.substr(prefix.size());
    if (!rest.empty() && (rest.front() != '/' || rest.find('/', 1) != std::string::npos)) continue;
    query.resource = resource;
    query.name = rest.empty() ? "" : rest.substr(1);
  }
  query.resource_name = query.resource ? std::string(plural(*query.resource))
                                       : query.path.substr(query.path.rfind('/') + 1);
  const std::string watch = query.parameter("watch");
  if (call.method == "POST") {
    query.verb = "create";
  } else if (call.method != "GET") {
    query.verb = call.method;
  } else if (!query.name.empty()) {
    query.verb = "get";
  } else {
    query.verb = watch == "1" || watch == "true" ? "watch" : "list";
  }
  query.labels = Selector::parse(query.parameter("labelSelector"));
  query.fields = Selector::parse(query.parameter("fieldSelector"));
  return query;
}

struct FakeApiServer::Watch {
  Watch(Exchange& out, Query asked) : exchange(out), query(std::move(asked)) {}

  Exchange& exchange;
  Query query;
  std::unique_ptr<net::Timer> timeout;
};

FakeApiServer::FakeApiServer(net::Loop& loop, std::string namespace_name, KubeStore::Clock clock)
    : loop_(loop),
      clock_(clock ? std::move(clock) : [&loop] { return loop.wall_now(); }),
      store_(std::move(namespace_name), [this] { return clock_(); }),
      slices_(loop, store_),
      endpoints_(loop, store_),
      bookmarks_(loop.make_timer([this] { send_bookmarks(); })) {
  store_.on_change([this](const Change& change) {
    for (const auto& watch : watches_) send(*watch, change);
  });
}

FakeApiServer::~FakeApiServer() = default;

// ---- Requests -----------------------------------------------------------------------------

void FakeApiServer::serve(const ApiCall& call, Exchange& exchange) {
  const Query query = Query::parse(call, store_.namespace_name());
  const std::string what = query.verb + " " + query.resource_name;
  ++asked_[what];
  if (!is_authorized(call)) {
    refuse(exchange, 401, "Unauthorized", "Unauthorized");
  } else if (forbidden_.contains(what)) {
    forbid(query, exchange);
  } else if (query.verb == "create") {
    create(query, call.body, exchange);
  } else if (!query.resource) {
    answer(exchange, 404, "404 page not found\n", {{"Content-Type", "text/plain; charset=utf-8"}});
  } else if (!query.labels || !query.fields) {
    refuse(exchange, 400, "BadRequest", "unable to parse requirement");
  } else {
    serve_known(query, exchange);
  }
}

bool FakeApiServer::is_authorized(const ApiCall& call) const {
  if (tokens_.empty()) return true;
  const std::string* header = call.headers.find("Authorization");
  return header != nullptr && header->starts_with("Bearer ") && tokens_.contains(header->substr(7));
}

void FakeApiServer::serve_known(const Query& query, Exchange& exchange) {
  if (query.verb == "get") {
    get(query, exchange);
  } else if (query.verb == "list") {
    list(query, exchange);
  } else if (query.verb == "watch") {
    watch(query, exchange);
  } else {
    refuse(exchange, 405, "MethodNotAllowed",
           "the server does not allow this method on the requested resource");
  }
}

void FakeApiServer::create(const Query& query, const std::string& body, Exchange& exchange) {
  if (query.path == kReviewPath) {
    review(body, exchange);
  } else if (query.resource_name == "events") {
    events_.push_back(body);
    answer(exchange, 201, body);
  } else {
    answer(exchange, 404, "404 page not found\n", {{"Content-Type", "text/plain; charset=utf-8"}});
  }
}

// The review itself comes back, with its status.
void FakeApiServer::review(const std::string& body, Exchange& exchange) {
  Json review = Json::parse(body, nullptr, false);
  if (!review.is_object() || review.value("kind", "") != "SelfSubjectAccessReview") {
    refuse(exchange, 400, "BadRequest", "the object provided is unrecognized");
    return;
  }
  const Json rule = review.value(Json::json_pointer("/spec/resourceAttributes"), Json::object());
  if (rule.empty()) {
    refuse(exchange, 422, "Invalid",
           "SelfSubjectAccessReview.authorization.k8s.io \"\" is invalid: spec.resourceAttributes: "
           "Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must "
           "be specified");
    return;
  }
  const std::string subresource = rule.value("subresource", "");
  const std::string what = rule.value("verb", "") + " " + rule.value("resource", "") +
                           (subresource.empty() ? "" : "/" + subresource);
  review["metadata"] = Json::object();
  review["status"] = {{"allowed", !forbidden_.contains(what)}};
  if (!forbidden_.contains(what)) {
    review["status"]["reason"] =
        "RBAC: allowed by RoleBinding \"lastcall/" + store_.namespace_name() +
        "\" of Role \"lastcall\" to ServiceAccount \"default/" + store_.namespace_name() + "\"";
  }
  answer(exchange, 201, review.dump() + "\n");
}

void FakeApiServer::get(const Query& query, Exchange& exchange) {
  const ObjectPtr object = store_.find(*query.resource, query.name);
  if (!object) {
    refuse(exchange, 404, "NotFound", query.resource_name + " \"" + query.name + "\" not found");
    return;
  }
  answer(exchange, 200, typed(*query.resource, object->json()) + "\n");
}

void FakeApiServer::list(const Query& query, Exchange& exchange) {
  Page page{store_.version(), {}};
  const std::string token = query.parameter("continue");
  if (!token.empty()) {
    const auto it = pages_.find(token);
    if (it == pages_.end()) {
      refuse(exchange, 410, "Expired",
             "The provided continue parameter is too old to display a consistent list result.");
      return;
    }
    page = std::move(it->second);
    pages_.erase(it);
  } else {
    for (const auto& [name, object] : store_.all(*query.resource)) {
      if (query.selects(*object)) page.rest.push_back(object);
    }
  }
  const std::size_t limit = number(query.parameter("limit")).value_or(0);
  const std::size_t count = limit == 0 ? page.rest.size() : std::min(limit, page.rest.size());
  Json metadata = {{"resourceVersion", std::to_string(page.version)}};
  std::string items;
  for (std::size_t i = 0; i < count; ++i) {
    items.append(i == 0 ? "" : ",").append(page.rest[i]->json());
  }
  page.rest.erase(page.rest.begin(), page.rest.begin() + static_cast<std::ptrdiff_t>(count));
  if (!page.rest.empty()) {
    const std::string next = "eyJ2IjoibWV0YS5rOHMuaW8vdjEi" + std::to_string(++pages_made_);
    metadata["continue"] = next;
    metadata["remainingItemCount"] = page.rest.size();
    pages_.emplace(next, std::move(page));
  }
  const std::string version(api_version(*query.resource));
  answer(exchange, 200,
         R"({"kind":")" + std::string(kind(*query.resource)) + R"(List","apiVersion":")" + version +
             R"(","metadata":)" + metadata.dump() + R"(,"items":[)" + items + "]}\n");
}

// ---- Watches ------------------------------------------------------------------------------

void FakeApiServer::watch(const Query& query, Exchange& exchange) {
  const std::string from = query.parameter("resourceVersion");
  const auto since = number(from);
  const bool anywhere = from.empty() || from == "0";
  if (!anywhere && !since) {
    refuse(exchange, 400, "BadRequest", "Invalid value: \"" + from + "\"");
    return;
  }
  if (!anywhere && *since > store_.version()) {
    refuse(exchange, 504, "Timeout", "Too large resource version: " + from);
    return;
  }
  const bool gone = !anywhere && *since < store_.compacted();
  const std::string too_old =
      "too old resource version: " + from + " (" + std::to_string(store_.compacted()) + ")";
  if (gone && gone_form_ == GoneForm::kStatus) {
    refuse(exchange, 410, "Expired", too_old);
    return;
  }
  exchange.head(head(200));
  if (gone) {
    exchange.chunk(event_line("ERROR", status_json(410, "Expired", too_old).dump()));
    exchange.end();
    return;
  }
  auto& watch = *watches_.emplace_back(std::make_unique<Watch>(exchange, query));
  const auto timeout = std::chrono::seconds(number(query.parameter("timeoutSeconds")).value_or(0));
  watch.timeout = loop_.make_timer([this, &watch] {
    Exchange& out = watch.exchange;
    remove_watch(out);
    out.end();
  });
  watch.timeout->arm(loop_.now() + (timeout.count() > 0 ? timeout : kWatchLongest));
  if (watches_.size() == 1) arm_bookmarks();
  if (anywhere) {
    for (const auto& [name, object] : store_.all(*query.resource)) {
      send(watch, {nullptr, object, false});
    }
  } else {
    replay(watch, *since);
  }
}

void FakeApiServer::replay(Watch& watch, std::uint64_t since) {
  for (const auto& change : store_.history()) {
    if (change.version() > since) send(watch, change);
  }
}

// A change that moves an object into or out of the selection is told as its coming or going.
void FakeApiServer::send(Watch& watch, const Change& change) {
  const Resource resource = *watch.query.resource;
  if (resource_of(change.object->spec()) != resource) return;
  const bool before = change.before && watch.query.selects(*change.before);
  const bool now = !change.deleted && watch.query.selects(*change.object);
  if (!before && !now) return;
  const auto type = !now ? "DELETED" : before ? "MODIFIED" : "ADDED";
  watch.exchange.chunk(event_line(type, typed(resource, change.object->json())));
}

void FakeApiServer::send_bookmarks() {
  for (const auto& watch : watches_) {
    if (watch->query.parameter("allowWatchBookmarks") != "true") continue;
    watch->exchange.chunk(
        event_line("BOOKMARK", bookmark_json(*watch->query.resource, store_.version())));
  }
  arm_bookmarks();
}

void FakeApiServer::arm_bookmarks() {
  if (!watches_.empty()) bookmarks_->arm(loop_.now() + bookmark_period_);
}

void FakeApiServer::remove_watch(const Exchange& exchange) {
  std::erase_if(watches_, [&](const auto& watch) { return &watch->exchange == &exchange; });
  if (watches_.empty()) bookmarks_->disarm();
}

void FakeApiServer::forget(Exchange& exchange) { remove_watch(exchange); }

void FakeApiServer::end_watches() {
  for (const auto& watch : std::exchange(watches_, {})) watch->exchange.end();
  bookmarks_->disarm();
}

void FakeApiServer::cut_watches() {
  for (const auto& watch : std::exchange(watches_, {})) watch->exchange.cut();
  bookmarks_->disarm();
}

// ---- The cluster --------------------------------------------------------------------------

void FakeApiServer::delete_pod(const std::string& name, std::optional<std::chrono::seconds> grace) {
  const auto* found = store_.get<Pod>(Resource::kPods, name);
  if (found == nullptr) return;
  Pod pod = *found;
  if (grace == std::chrono::seconds(0)) {
    finish_pod(name);
    return;
  }
  const auto period = grace.value_or(pod.grace);
  if (!pod.deletion_timestamp) {
    pod.deletion_timestamp = clock_() + period;
  } else if (grace && period < *pod.deletion_grace) {
    *pod.deletion_timestamp -= *pod.deletion_grace - period;
  } else {
    return;
  }
  pod.deletion_grace = period;
  store_.put(std::move(pod));
}

void FakeApiServer::finish_pod(const std::string& name) { store_.remove(Resource::kPods, name); }

void FakeApiServer::update_pod(const std::string& name, const std::function<void(Pod&)>& change) {
  const auto* found = store_.get<Pod>(Resource::kPods, name);
  if (found == nullptr) return;
  Pod pod = *found;
  change(pod);
  store_.put(std::move(pod));
}

void FakeApiServer::set_ready(const std::string& name, bool ready) {
  update_pod(name, [ready](Pod& pod) { pod.ready = ready; });
}

void FakeApiServer::forbid(const std::string& verb, const std::string& resource) {
  forbidden_.insert(verb + " " + resource);
}

void FakeApiServer::compact(GoneForm form) {
  gone_form_ = form;
  store_.compact();
  pages_.clear();
}

// ---- Answers ------------------------------------------------------------------------------

net::HttpResponseHead FakeApiServer::head(int status) const {
  net::HttpResponseHead head;
  head.status = status;
  head.headers.add("Audit-Id", "00000000-0000-4000-8000-000000000000");
  head.headers.add("Cache-Control", "no-cache, private");
  head.headers.add("Content-Type", "application/json");
  head.headers.add("Date", http_date(clock_()));
  return head;
}

void FakeApiServer::answer(Exchange& exchange, int status, std::string_view body,
                           const std::vector<std::pair<std::string, std::string>>& headers) {
  net::HttpResponseHead head = this->head(status);
  if (!headers.empty()) {
    head.headers = {};
    head.headers.add("Date", http_date(clock_()));
    for (const auto& [name, value] : headers) head.headers.add(name, value);
  }
  exchange.head(head);
  exchange.chunk(body);
  exchange.end();
}

void FakeApiServer::forbid(const Query& query, Exchange& exchange) {
  const bool is_node = query.resource == Resource::kNodes;
  const std::string name = query.name.empty() ? "" : " \"" + query.name + "\"";
  refuse(exchange, 403, "Forbidden",
         query.resource_name + name + " is forbidden: User \"system:serviceaccount:" +
             store_.namespace_name() + ":default\" cannot " + query.verb + " resource \"" +
             query.resource_name + "\" in API group \"" +
             std::string(query.resource ? group_of(*query.resource) : "") + "\" " +
             (is_node ? "at the cluster scope"
                      : "in the namespace \"" + store_.namespace_name() + "\""));
}

void FakeApiServer::refuse(Exchange& exchange, int status, std::string_view reason,
                           std::string_view message) {
  answer(exchange, status, status_json(status, reason, message).dump() + "\n");
}

}  // namespace lastcall::fakes
