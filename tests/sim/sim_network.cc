#include "tests/sim/sim_network.h"

#include <algorithm>
#include <array>
#include <deque>
#include <utility>
#include <variant>

namespace lastcall::sim {
namespace {

using std::chrono::milliseconds;

struct Ended {};
struct Broken {
  std::string why;
};
using Item = std::variant<net::HttpResponseHead, std::string, Ended, Broken>;

// The path and query of a complete URL.
std::string target_of(const std::string& url) {
  const auto host = url.find("://") + 3;
  const auto slash = url.find('/', host);
  return slash == std::string::npos ? "/" : url.substr(slash);
}

net::Status failed(const std::string& why) {
  return net::Error{net::ErrorCode::kRetry, why, std::nullopt};
}

PodReading read(const fakes::Pod& pod) {
  return {pod.deletion_timestamp,
          pod.deletion_timestamp || pod.disruption_target || pod.phase == "Failed"};
}

struct Refusal {
  int status;
  const char* content_type;
  const char* body;
  const char* retry_after;
};

constexpr const char* kJson = "application/json";
constexpr std::array<Refusal, 8> kRefusals{{
    {401, kJson, R"({"kind":"Status","status":"Failure","reason":"Unauthorized","code":401})", ""},
    {410, kJson, R"({"kind":"Status","status":"Failure","reason":"Expired","code":410})", ""},
    {429, "text/plain", "Too many requests, please try again later.\n", "1"},
    {429, kJson,
     R"({"kind":"Status","reason":"TooManyRequests","details":{"retryAfterSeconds":2},"code":429})",
     ""},
    {500, kJson, R"({"kind":"Status","reason":"InternalError","message":"etcd","code":500})", ""},
    {502, "text/html", "<html><body>Bad Gateway</body></html>", ""},
    {503, "text/plain", "apiserver is shutting down\n", "1"},
    {504, kJson, R"({"kind":"Status","reason":"Timeout","message":"Timeout","code":504})", ""},
}};

}  // namespace

class SimNetwork::Call final : public net::HttpCall, private fakes::Exchange {
 public:
  Call(SimNetwork& network, net::HttpRequest request, net::HttpHandler& handler, Fate fate)
      : network_(network),
        number_(++network.calls_),
        request_(std::move(request)),
        target_(target_of(request_.url)),
        handler_(handler),
        fate_(fate),
        started_(network.loop_.now()),
        quiet_since_(started_),
        free_bytes_(network.random_.below(network.random_.chance(0.5) ? 40 : 4'000)),
        arrive_(network.loop_.make_timer([this] { arrive(); })),
        deliver_(network.loop_.make_timer([this] { deliver(); })),
        limit_(network.loop_.make_timer([this] { run_out(); })) {
    network_.open_.emplace(number_, this);
    arm_limit();
    if (fate_ == Fate::kRefused) {
      push(Broken{"connection refused"});
    } else if (fate_ != Fate::kLost) {
      arrive_->arm(started_ + network_.draw_latency());
    }
  }

  ~Call() override {
    network_.open_.erase(number_);
    if (at_server_) network_.server_.forget(*this);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  void reset() {
    leave_server();
    queue_.clear();
    closed_ = false;
    push(Broken{"connection reset"});
    closed_ = true;
  }

 private:
  // ---- At the server ----------------------------------------------------------------------

  void arrive() {
    if (auto hostile = network_.impostor_ ? network_.impostor_(target_) : std::nullopt) {
      answer(*std::move(hostile));
      return;
    }
    if (fate_ == Fate::kStatus) {
      refuse();
      return;
    }
    if (fate_ == Fate::kGarbage && network_.random_.chance(0.5)) {
      answer(200, "text/html", "<html><body>Please log in</body></html>");
      return;
    }
    if (names(fakes::Resource::kPods)) {
      const auto* pod = asked_for<fakes::Pod>(fakes::Resource::kPods);
      reading_ = pod != nullptr ? read(*pod) : PodReading{std::nullopt, true, true};
    }
    if (const auto* node = asked_for<fakes::Node>(fakes::Resource::kNodes)) {
      node_reading_ = NodeReading{node->ready_status != "True"};
    }
    if (target_.find("/services?limit") != std::string::npos) listed_at_ = network_.loop_.now();
    at_server_ = true;
    network_.server_.serve({request_.method, target_, request_.headers, request_.body}, *this);
  }

  // The object that this request names; nullptr: it lists, or there is no such object.
  template <class T>
  [[nodiscard]] const T* asked_for(fakes::Resource resource) const {
    if (!names(resource)) return nullptr;
    return network_.server_.store().get<T>(resource, target_.substr(target_.rfind('/') + 1));
  }
  [[nodiscard]] bool names(fakes::Resource resource) const {
    return target_.find("/" + std::string(fakes::plural(resource)) + "/") != std::string::npos;
  }

  void refuse() {
    const auto& refusal = kRefusals.at(network_.random_.below(kRefusals.size()));
    answer(refusal.status, refusal.content_type, refusal.body, refusal.retry_after);
  }

  void answer(int status, const char* content_type, std::string_view body,
              const char* retry_after = "") {
    net::HttpResponseHead head;
    head.status = status;
    head.headers.add("Content-Type", content_type);
    if (*retry_after != '\0') head.headers.add("Retry-After", retry_after);
    push(std::move(head));
    push(std::string(body));
    push(Ended{});
  }

  void answer(HostileAnswer hostile) {
    net::HttpResponseHead head;
    head.status = hostile.status;
    head.headers.add("Content-Type", hostile.content_type);
    push(std::move(head));
    if (!hostile.body.empty()) push(std::exchange(hostile.body, {}));
    if (hostile.again.empty()) {
      push(Ended{});
      return;
    }
    drip_ = network_.loop_.make_timer([this, hostile = std::move(hostile)] {
      drip_->arm(network_.loop_.now() + hostile.period);
      push(hostile.again);
    });
    drip_->arm(network_.loop_.now());
  }

  void head(const net::HttpResponseHead& head) override {
    status_ = head.status;
    if (fate_ == Fate::kReset && network_.random_.chance(0.3)) {
      break_off();
    } else if (fate_ != Fate::kStalled || network_.random_.chance(0.7)) {
      push(head);
    } else {
      close();
    }
  }

  void chunk(std::string_view bytes) override {
    if (closed_) return;
    std::string text(bytes);
    if (network_.tamper_) network_.tamper_(text);
    const bool fragile =
        fate_ == Fate::kReset || fate_ == Fate::kStalled || fate_ == Fate::kGarbage;
    if (!fragile || text.size() <= free_bytes_) {
      free_bytes_ -= std::min(free_bytes_, text.size());
      push_split(text);
      return;
    }
    harmed_ = true;
    push_split(text.substr(0, free_bytes_));
    if (fate_ == Fate::kReset) push(Broken{"connection reset"});
    if (fate_ == Fate::kGarbage) push(Ended{});
    close();
  }

  void end() override {
    at_server_ = false;
    push(Ended{});
  }

  void cut() override {
    at_server_ = false;
    break_off();
  }

  void break_off() {
    push(Broken{"connection reset"});
    close();
  }
  // Whatever else the server says is not heard.
  void close() { closed_ = true; }

  void leave_server() {
    if (std::exchange(at_server_, false)) network_.server_.forget(*this);
  }

  // ---- On the way -------------------------------------------------------------------------

  void push_split(const std::string& text) {
    std::size_t start = 0;
    while (start < text.size() && network_.random_.chance(network_.faults_.split)) {
      const auto size = 1 + network_.random_.below(text.size() - start);
      push(text.substr(start, size));
      start += size;
    }
    if (start < text.size()) push(text.substr(start));
  }

  void push(Item item) {
    if (closed_) return;
    last_at_ = std::max(last_at_, network_.loop_.now() + network_.draw_latency());
    queue_.emplace_back(last_at_, std::move(item));
    deliver_->arm(queue_.front().first);
  }

  // ---- At the agent -----------------------------------------------------------------------

  // The handler may destroy this call, so its callback comes last.
  void deliver() {
    const Item item = std::move(queue_.front().second);
    queue_.pop_front();
    if (!queue_.empty()) deliver_->arm(queue_.front().first);
    quiet_since_ = network_.loop_.now();
    const auto* head = std::get_if<net::HttpResponseHead>(&item);
    has_head_ = has_head_ || head != nullptr;
    arm_limit();
    if (head != nullptr) {
      network_.journal_.write("net", request_.method, " ", target_, " -> ",
                              std::to_string(head->status));
      handler_.on_head(*head);
    } else if (const auto* bytes = std::get_if<std::string>(&item)) {
      handler_.on_body(*bytes);
    } else if (const auto* broken = std::get_if<Broken>(&item)) {
      finish(failed(broken->why), broken->why);
    } else {
      tell_reading();
      finish(net::Done{}, "end");
    }
  }

  void tell_reading() const {
    const bool is_gone = reading_ && reading_->gone;
    const bool sound = status_ == (is_gone ? 404 : 200) && !harmed_;
    if (reading_ && sound && network_.on_pod_reading_) network_.on_pod_reading_(*reading_);
    if (listed_at_ && sound && network_.on_services_reading_) {
      network_.on_services_reading_(*listed_at_);
    }
    if (node_reading_ && sound && network_.on_node_reading_) {
      network_.on_node_reading_(*node_reading_);
    }
  }

  void finish(const net::Status& outcome, const std::string& how) {
    network_.journal_.write("net", request_.method, " ", target_, ": ", how);
    leave_server();
    close();
    queue_.clear();
    deliver_->disarm();
    arrive_->disarm();
    limit_->disarm();
    if (drip_) drip_->disarm();
    network_.open_.erase(number_);
    handler_.on_end(outcome);
  }

  void arm_limit() {
    const auto& limits = request_.limits;
    net::Instant limit = net::Instant::max();
    const auto cut_at = [&](net::Instant since, milliseconds bound) {
      if (bound.count() > 0) limit = std::min(limit, since + bound);
    };
    cut_at(started_, limits.total);
    if (has_head_) {
      cut_at(quiet_since_, limits.idle);
    } else {
      cut_at(started_, fate_ == Fate::kLost ? limits.connect : limits.first_byte);
    }
    if (limit != net::Instant::max()) limit_->arm(limit);
  }

  void run_out() { finish(failed("timed out"), "timed out"); }

  SimNetwork& network_;
  std::uint64_t number_;
  net::HttpRequest request_;
  std::string target_;
  net::HttpHandler& handler_;
  Fate fate_;
  net::Instant started_;
  net::Instant quiet_since_;
  std::size_t free_bytes_;  // that pass before a fate strikes
  bool at_server_ = false;
  bool closed_ = false;
  bool has_head_ = false;
  bool harmed_ = false;
  int status_ = 0;
  std::optional<PodReading> reading_;
  std::optional<NodeReading> node_reading_;
  std::optional<net::Instant> listed_at_;  // Services
  net::Instant last_at_{};
  std::deque<std::pair<net::Instant, Item>> queue_;
  std::unique_ptr<net::Timer> arrive_;
  std::unique_ptr<net::Timer> deliver_;
  std::unique_ptr<net::Timer> limit_;
  std::unique_ptr<net::Timer> drip_;  // of an endless answer
};

SimNetwork::SimNetwork(fakes::SimLoop& loop, fakes::FakeApiServer& server,
                       fakes::RandomSource& random, Journal& journal)
    : loop_(loop), server_(server), random_(random), journal_(journal) {}

SimNetwork::~SimNetwork() = default;

std::unique_ptr<net::HttpCall> SimNetwork::start(net::HttpRequest request,
                                                 net::HttpHandler& handler) {
  if (on_request_) on_request_();
  const Fate fate = draw_fate();
  journal_.write("agent", request.method, " ", request.url, " fate ",
                 std::to_string(static_cast<int>(fate)));
  return std::make_unique<Call>(*this, std::move(request), handler, fate);
}

void SimNetwork::reset_all() {
  journal_.write("net", "every connection is reset");
  for (const auto& [number, call] : std::map<std::uint64_t, Call*>(open_)) call->reset();
}

SimNetwork::Fate SimNetwork::draw_fate() {
  if (down_) return Fate::kRefused;
  const auto draw = static_cast<double>(random_.below(1'000'000)) / 1e6;
  double sum = 0;
  for (const auto& [chance, fate] : {std::pair{faults_.refused, Fate::kRefused},
                                     {faults_.lost, Fate::kLost},
                                     {faults_.reset, Fate::kReset},
                                     {faults_.stalled, Fate::kStalled},
                                     {faults_.status, Fate::kStatus},
                                     {faults_.garbage, Fate::kGarbage}}) {
    sum += chance;
    if (draw < sum) return fate;
  }
  return Fate::kSound;
}

net::Duration SimNetwork::draw_latency() {
  return random_.between(faults_.latency_least, faults_.latency_most);
}

}  // namespace lastcall::sim
