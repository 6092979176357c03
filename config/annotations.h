// What the annotations lastcall/... of one Pod or Service say.
//
// Of one object only: how a Service's go before the Pod's, and both before the Settings, is
// resolved per consumer (DESIGN 2). Anyone who may edit the object wrote them, so nothing here
// is trusted to be short or sensible.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/duration.h"
#include "config/settings.h"

namespace lastcall::config {

inline constexpr std::string_view kAnnotationPrefix = "lastcall/";

// More errors of one object than this are not kept.
inline constexpr std::size_t kAnnotationErrorsMax = 16;

// What one object says; a value that is absent was not said, or was malformed.
struct Annotations {
  std::optional<Milliseconds> settle;         // lastcall/settle
  std::optional<Milliseconds> quiet;          // lastcall/quiet
  std::optional<Milliseconds> blind;          // lastcall/blind
  std::optional<Milliseconds> hold_min;       // lastcall/hold-min
  std::optional<Milliseconds> hold_max;       // lastcall/hold-max
  std::optional<Milliseconds> reserve;        // lastcall/reserve
  std::optional<Milliseconds> drain_max;      // lastcall/drain-max
  std::optional<LastEndpoint> last_endpoint;  // lastcall/last-endpoint: wait | ignore
  // lastcall/ignore: the Service (of a Pod: every Service) is not waited for.
  std::optional<bool> ignore;

  friend bool operator==(const Annotations&, const Annotations&) = default;
};

// One annotation that cannot be followed; the next level decides instead. Each text is
// printable ASCII and bounded.
struct AnnotationError {
  std::string key;      // "lastcall/settle"
  std::string value;    // as written, made printable and cut
  std::string message;  // "'3', expected a duration ...", or "unknown annotation, did you ..."

  friend bool operator==(const AnnotationError&, const AnnotationError&) = default;
};

struct ReadAnnotations {
  Annotations said;
  std::vector<AnnotationError> errors;  // in the order of the keys, the first of them
};

// Reads those of `annotations` whose key starts with kAnnotationPrefix; others are not looked
// at. Values are compared as written: no case and no white space is forgiven. A hold-min over
// the hold-max of the same object counts as malformed.
[[nodiscard]] ReadAnnotations read_annotations(
    const std::map<std::string, std::string>& annotations);

// One annotation, for the reference in docs/annotations.md.
struct AnnotationDoc {
  std::string_view key;        // "lastcall/hold-max"
  std::string_view form;       // "duration"
  std::string_view overrides;  // the key of the file it goes before, "hold.max"; or empty
  std::string_view meaning;    // one line
};

// Every annotation, in the order of the documentation.
[[nodiscard]] std::vector<AnnotationDoc> annotation_reference();

}  // namespace lastcall::config
