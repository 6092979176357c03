#include "tests/demo/drawing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iomanip>
#include <map>
#include <optional>
#include <sstream>

#include "tests/demo/summary.h"
#include "tests/demo/svg.h"

namespace lastcall::demo {
namespace {

constexpr double kWidth = 1200;
constexpr double kLeft = 90;
constexpr double kRight = 30;
constexpr double kHead = 128;       // above the first panel
constexpr double kCaption = 34;     // above a panel's bars
constexpr double kBars = 90;        // where requests are drawn
constexpr double kNominalBar = 82;  // the height of the nominal rate
constexpr double kBarGap = 0.8;
constexpr double kAbovePods = 14;  // between the bars and the pods
constexpr double kRow = 15;        // one pod
constexpr double kPod = 9;         // its bar
constexpr double kBelowPods = 44;  // the axis, and air before the next panel
constexpr double kBinSeconds = 0.1;
constexpr double kPointer = 8;

constexpr const char* kStyle = R"(
svg{background:#fff;font-family:system-ui,"Segoe UI","Helvetica Neue",Arial,"DejaVu Sans",sans-serif}
text{font-size:12px;fill:#3b4252}
.title{font-size:21px;font-weight:600;fill:#1b2330}
.subtitle{font-size:13px;fill:#5b6475}
.name{font-size:15px;font-weight:600;fill:#1b2330}
.good{font-size:13px;fill:#1f7a4d}
.bad{font-size:13px;fill:#b3202c}
.right{text-anchor:end}
.middle{text-anchor:middle}
.small{font-size:11px;fill:#6b7484}
.paper{fill:#fff}
.field{fill:#f7f8fa}
.grid{stroke:#e3e6eb;stroke-width:1}
.axis{stroke:#9aa3b2;stroke-width:1}
.begin{stroke:#5b6475;stroke-width:1;stroke-dasharray:3 3}
.ok{fill:#a9bfdc}
.failed{fill:#d7263d}
.starting{fill:#dfe3e8}
.ready{fill:#cfe8d8}
.running{fill:#5aa978}
.chosen{fill:#f2a93b}
.let-go{fill:#fbe3b5}
.dead{fill:#d7263d}
.slice{fill:#2b59c3}
.balancer{fill:#1b2330}
.released{fill:#1f7a4d}
)";

std::string decimal(double value, int digits) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << value;
  return text.str();
}

double in_seconds(net::Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// "4 s", "0.3 s"
std::string lag(milliseconds value) {
  std::ostringstream text;
  text << std::chrono::duration<double>(value).count() << " s";
  return text.str();
}

// Seconds to pixels, the same in every panel; zero is the beginning of the rollout.
struct TimeScale {
  double first = 0;
  double last = 1;

  [[nodiscard]] double x(double second) const {
    return kLeft + (second - first) / (last - first) * (kWidth - kLeft - kRight);
  }
};

TimeScale scale_for(const std::vector<Recording>& recordings) {
  TimeScale scale;
  for (const auto& recording : recordings) {
    scale.first = std::min(scale.first, in_seconds(recording.load_began - recording.rollout_began));
    scale.last = std::max(scale.last, in_seconds(recording.load_ended - recording.rollout_began));
  }
  return scale;
}

double panel_height(const Recording& recording) {
  return kCaption + kBars + kAbovePods + kRow * static_cast<double>(recording.pods.size()) +
         kBelowPods;
}

class Panel {
 public:
  Panel(Svg& svg, const TimeScale& scale, const Scene& scene, const Recording& recording,
        double top)
      : svg_(svg),
        scale_(scale),
        scene_(scene),
        recording_(recording),
        top_(top),
        bars_bottom_(top + kCaption + kBars),
        pods_top_(bars_bottom_ + kAbovePods),
        bottom_(pods_top_ + kRow * static_cast<double>(recording.pods.size())) {}

  void draw() {
    draw_caption();
    draw_field();
    draw_requests();
    double y = pods_top_;
    for (const auto& pod : recording_.pods) {
      draw_pod(pod, y);
      y += kRow;
    }
  }

 private:
  [[nodiscard]] double second(net::Instant at) const {
    return in_seconds(at - recording_.rollout_began);
  }
  [[nodiscard]] double x(net::Instant at) const { return scale_.x(second(at)); }

  void draw_caption() {
    const Row row = summarize(recording_);
    const double y = top_ + 16;
    svg_.text(kLeft, y, "name", "preStop: " + to_string(row.strategy));
    const std::string lost =
        row.failed == 0 ? "no request of " + std::to_string(row.sent) + " failed"
                        : std::to_string(row.failed) + " of " + std::to_string(row.sent) +
                              " requests failed (" + decimal(row.failed_percent(), 1) + " %)";
    svg_.text(kLeft + 190, y, row.failed == 0 ? "good" : "bad", lost);
    svg_.text(kWidth - kRight, y, "subtitle right",
              "a pod stops in " + decimal(row.stop_seconds_p50, 1) + " s, the rollout takes " +
                  decimal(row.rollout_seconds, 1) + " s");
  }

  void draw_field() {
    const double top = top_ + kCaption;
    svg_.rect(kLeft, top, kWidth - kLeft - kRight, kBars, "field");
    for (int tick = 0; tick <= static_cast<int>(scale_.last); ++tick) {
      const double at = scale_.x(tick);
      svg_.line(at, top, at, bottom_, tick == 0 ? "begin" : "grid");
      if (tick % label_step() == 0) {
        svg_.text(at, bottom_ + 14, "small middle", std::to_string(tick) + " s");
      }
    }
    svg_.line(kLeft, bars_bottom_, kWidth - kRight, bars_bottom_, "axis");
    const double nominal = bars_bottom_ - kNominalBar;
    svg_.line(kLeft, nominal, kWidth - kRight, nominal, "grid");
    svg_.text(kLeft - 8, nominal + 4, "small right", std::to_string(scene_.rate) + "/s");
    svg_.text(kLeft - 8, bars_bottom_, "small right", "0");
  }

  [[nodiscard]] int label_step() const { return scale_.last > 12 ? 2 : 1; }

  void draw_requests() {
    struct Bin {
      int ok = 0;
      int failed = 0;
    };
    const double first = second(recording_.load_began);
    std::map<int, Bin> bins;
    for (const auto& sample : recording_.samples) {
      Bin& bin = bins[static_cast<int>((second(sample.at) - first) / kBinSeconds)];
      ++(sample.ok ? bin.ok : bin.failed);
    }
    const double last = x(recording_.load_ended);
    for (const auto& [number, bin] : bins) {
      const double left = scale_.x(first + number * kBinSeconds);
      const double right = std::min(last, scale_.x(first + (number + 1) * kBinSeconds));
      const double failed = bar_height(bin.failed);
      const double ok = bar_height(bin.failed + bin.ok) - failed;
      draw_bar(left, right, failed, ok, "ok");
      draw_bar(left, right, 0, failed, "failed");
    }
  }

  [[nodiscard]] double bar_height(int requests) const {
    const double nominal = std::max(1.0, scene_.rate * kBinSeconds);
    return std::min(kBars, kNominalBar * requests / nominal);
  }

  void draw_bar(double left, double right, double above, double height, const char* css_class) {
    if (height <= 0 || right - left <= kBarGap) return;
    svg_.rect(left, bars_bottom_ - above - height, right - left - kBarGap, height, css_class);
  }

  // Each phase lasts until the next moment that came; a moment before an earlier one is skipped.
  void draw_pod(const PodLife& pod, double y) {
    svg_.text(kLeft - 8, y + kPod, "small right", pod.name);
    const net::Instant end = recording_.load_ended;
    const net::Instant stopped = pod.stopped.value_or(end);
    const net::Instant unrouted = pod.unrouted.value_or(end);
    const net::Instant deleted = pod.deleted.value_or(end);
    const net::Instant ready = pod.ready.value_or(end);
    draw_phase(y, pod.created.value_or(end), ready, "starting", pod.name + ": starting");
    draw_phase(y, ready, std::min(pod.routed.value_or(end), deleted), "ready",
               pod.name + ": ready, not chosen yet");
    draw_phase(y, pod.routed.value_or(end), deleted, "running", pod.name + ": serving");
    draw_phase(y, deleted, std::min(stopped, unrouted), "chosen",
               pod.name + ": deleted, serves on, still chosen");
    draw_phase(y, unrouted, stopped, "let-go", pod.name + ": deleted, serves on, not chosen");
    draw_phase(y, stopped, unrouted, "dead", pod.name + ": stopped, still chosen");
    draw_marks(pod, y);
  }

  void draw_phase(double y, net::Instant from, net::Instant to, const char* css_class,
                  const std::string& what) {
    from = std::max(from, recording_.load_began);
    if (from >= to) return;
    svg_.rect(x(from), y, x(to) - x(from), kPod, css_class,
              what + " (" + decimal(second(from), 2) + " s to " + decimal(second(to), 2) + " s)");
  }

  void draw_marks(const PodLife& pod, double y) {
    if (pod.slice_withdrawn) {
      svg_.pointer(x(*pod.slice_withdrawn), y + 3, kPointer, "slice",
                   pod.name + ": the slice withdraws it");
    }
    if (pod.unrouted) {
      svg_.pointer(x(*pod.unrouted), y + 3, kPointer, "balancer",
                   pod.name + ": the balancer lets go of it");
    }
    if (pod.agent_released) {
      svg_.pointer(x(*pod.agent_released), y + 3, kPointer, "released",
                   pod.name + ": lastcall releases it (" + pod.agent_hold_end + ")");
    }
  }

  Svg& svg_;
  const TimeScale& scale_;
  const Scene& scene_;
  const Recording& recording_;
  const double top_;
  const double bars_bottom_;
  const double pods_top_;
  const double bottom_;
};

struct Key {
  const char* css_class;
  const char* meaning;
  double width;  // of the whole entry
};

constexpr std::array<Key, 2> kRequestKeys{{{"ok", "answered", 100}, {"failed", "failed", 80}}};
constexpr std::array<Key, 6> kPodKeys{{{"starting", "starting", 86},
                                       {"ready", "ready, not chosen yet", 160},
                                       {"running", "serving", 80},
                                       {"chosen", "deleted, still chosen, serves on", 218},
                                       {"let-go", "not chosen any more, serves on", 216},
                                       {"dead", "stopped, still chosen", 150}}};

template <std::size_t N>
double draw_keys(Svg& svg, const std::array<Key, N>& keys, double x, double y) {
  for (const Key& key : keys) {
    svg.rect(x, y - kPod, 14, kPod, key.css_class);
    svg.text(x + 20, y, "small", key.meaning);
    x += key.width;
  }
  return x;
}

void draw_head(Svg& svg, const Scene& scene) {
  svg.text(kLeft, 36, "title", "A rolling restart under load, by how its pods are stopped");
  svg.text(kLeft, 58, "subtitle",
           std::to_string(scene.replicas) + " replicas, " + std::to_string(scene.rate) +
               " requests per second, each on a new connection; a pod's EndpointSlice follows " +
               lag(scene.slice_lag) + " after its DELETE, the balancer " + lag(scene.balancer_lag) +
               " after the slice");
  svg.text(kLeft, 86, "small", "requests per 100 ms:");
  const double x = draw_keys(svg, kRequestKeys, kLeft + 128, 86);
  svg.pointer(x + 16, 84, kPointer, "slice");
  svg.text(x + 26, 86, "small", "the slice withdraws the pod");
  svg.pointer(x + 206, 84, kPointer, "balancer");
  svg.text(x + 216, 86, "small", "the balancer lets go of it");
  svg.pointer(x + 386, 84, kPointer, "released");
  svg.text(x + 396, 86, "small", "lastcall releases it");
  svg.text(kLeft, 106, "small", "pods:");
  draw_keys(svg, kPodKeys, kLeft + 128, 106);
}

}  // namespace

std::string draw(const Scene& scene, const std::vector<Recording>& recordings) {
  double height = kHead;
  for (const auto& recording : recordings) height += panel_height(recording);
  Svg svg(kWidth, height, "lastcall demo: rolling restarts under load",
          "One panel per way to stop a pod. Bars are requests, failed ones red; below them are "
          "the phases of each pod over the same time.",
          kStyle);
  svg.rect(0, 0, kWidth, height, "paper");
  draw_head(svg, scene);
  const TimeScale scale = scale_for(recordings);
  double top = kHead;
  for (const auto& recording : recordings) {
    Panel(svg, scale, scene, recording, top).draw();
    top += panel_height(recording);
  }
  return svg.finish();
}

}  // namespace lastcall::demo
