#include "config/annotations.h"

#include <algorithm>
#include <array>
#include <utility>

#include "config/forms.h"
#include "config/wording.h"

namespace lastcall::config {
namespace {

// What is wrong with a value; nullopt: nothing, and `said` now holds it.
using Complaint = std::optional<std::string>;

template <auto kMember, class Form>
Complaint set_value(std::string_view text, Annotations& said) {
  auto value = Form::parse(text);
  if (!value) return not_expected(text, Form::kExpected);
  said.*kMember = *std::move(value);
  return std::nullopt;
}

struct Key {
  AnnotationDoc doc;
  Complaint (*set)(std::string_view, Annotations&);
};

template <auto kMember, class Form>
constexpr Key value(std::string_view key, std::string_view overrides, std::string_view meaning) {
  return {{key, Form::kName, overrides, meaning}, set_value<kMember, Form>};
}

using A = Annotations;
constexpr std::string_view kHoldMin = "lastcall/hold-min";
constexpr std::string_view kHoldMax = "lastcall/hold-max";

constexpr std::array kKeys{
    value<&A::settle, DurationForm>(  //
        "lastcall/settle", "settle", "How long a withdrawal must stand before it counts."),
    value<&A::quiet, DurationForm>(  //
        "lastcall/quiet", "quiet",
        "How long no new connection and no inbound byte must have come."),
    value<&A::blind, DurationForm>(  //
        "lastcall/blind", "blind", "How long to hold while the Service cannot be seen."),
    value<&A::last_endpoint, LastEndpointForm>(  //
        "lastcall/last-endpoint", "last-endpoint",
        "Whether to hold while no other endpoint is ready."),
    value<&A::ignore, BooleanForm>(  //
        "lastcall/ignore", "", "Whether the Service is not waited for; on a Pod: every Service."),
    value<&A::hold_min, DurationForm>(  //
        kHoldMin, "hold.min", "The shortest hold."),
    value<&A::hold_max, DurationForm>(  //
        kHoldMax, "hold.max", "The longest hold; on a Service: the longest wait for it."),
    value<&A::reserve, DurationForm>(  //
        "lastcall/reserve", "reserve",
        "The part of the grace period that the hold may never spend."),
    value<&A::drain_max, DurationForm>(  //
        "lastcall/drain-max", "drain.max", "The longest drain."),
};

std::vector<std::string_view> names() {
  std::vector<std::string_view> result;
  result.reserve(kKeys.size());
  for (const Key& key : kKeys) result.push_back(key.doc.key.substr(kAnnotationPrefix.size()));
  return result;
}

Complaint read_one(std::string_view key, std::string_view text, Annotations& said) {
  const auto has_name = [key](const Key& known) { return known.doc.key == key; };
  const auto* known = std::find_if(kKeys.begin(), kKeys.end(), has_name);
  if (known != kKeys.end()) return known->set(text, said);
  return unknown("annotation", key.substr(kAnnotationPrefix.size()), names());
}

// Which of the two was meant cannot be known, and the longest hold is the safer one to keep.
Complaint drop_contradiction(Annotations& said) {
  if (!said.hold_min || !said.hold_max || *said.hold_min <= *said.hold_max) return std::nullopt;
  const Milliseconds dropped = *std::exchange(said.hold_min, std::nullopt);
  return format_duration(dropped) + " is longer than " + std::string(kHoldMax) + ", which is " +
         format_duration(*said.hold_max);
}

}  // namespace

ReadAnnotations read_annotations(const std::map<std::string, std::string>& annotations) {
  ReadAnnotations result;
  const auto keep = [&result](std::string_view key, std::string_view text, Complaint complaint) {
    if (!complaint || result.errors.size() >= kAnnotationErrorsMax) return;
    result.errors.push_back({printable(key), printable(text), *std::move(complaint)});
  };
  for (auto it = annotations.lower_bound(std::string(kAnnotationPrefix));
       it != annotations.end() && it->first.starts_with(kAnnotationPrefix); ++it) {
    keep(it->first, it->second, read_one(it->first, it->second, result.said));
  }
  if (Complaint complaint = drop_contradiction(result.said)) {
    keep(kHoldMin, annotations.at(std::string(kHoldMin)), std::move(complaint));
  }
  return result;
}

std::vector<AnnotationDoc> annotation_reference() {
  std::vector<AnnotationDoc> docs;
  docs.reserve(kKeys.size());
  for (const Key& key : kKeys) docs.push_back(key.doc);
  return docs;
}

}  // namespace lastcall::config
