#include "k8s/time.h"

#include <array>
#include <chrono>
#include <cstddef>

namespace lastcall::k8s {
namespace {

// Reads a fixed layout from the front of a text; once something does not fit, it stays bad.
class Fields {
 public:
  explicit Fields(std::string_view text) : rest_(text) {}

  int number(std::size_t digits) {
    int value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      if (rest_.empty() || rest_.front() < '0' || rest_.front() > '9') {
        good_ = false;
        return 0;
      }
      value = value * 10 + (rest_.front() - '0');
      rest_.remove_prefix(1);
    }
    return value;
  }
  void literal(std::string_view expected) { good_ = take(expected) && good_; }
  bool take(std::string_view expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }
  std::string_view text(std::size_t bytes) {
    if (rest_.size() < bytes) {
      good_ = false;
      return {};
    }
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }
  // Nanoseconds from the digits after the point; more than nine are cut.
  std::chrono::nanoseconds fraction() {
    if (!take(".")) return {};
    std::int64_t value = 0;
    std::size_t digits = 0;
    while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') {
      if (digits++ < 9) value = value * 10 + (rest_.front() - '0');
      rest_.remove_prefix(1);
    }
    if (digits == 0) good_ = false;
    for (; digits < 9; ++digits) value *= 10;
    return std::chrono::nanoseconds(value);
  }
  [[nodiscard]] bool complete() const { return good_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_ = true;
};

// Years that fit a 64-bit count of nanoseconds.
constexpr int kYearMin = 1678;
constexpr int kYearMax = 2261;

std::optional<net::WallTime> to_time(int year, int month, int day, int hour, int minute,
                                     int second) {
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  // A leap second is written as 60.
  if (year < kYearMin || year > kYearMax || !date.ok() || hour > 23 || minute > 59 || second > 60) {
    return std::nullopt;
  }
  return std::chrono::sys_days(date) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
         std::chrono::seconds(second);
}

std::chrono::minutes read_offset(Fields& fields) {
  if (fields.take("Z") || fields.take("z")) return {};
  const bool east = fields.take("+");
  if (!east) fields.literal("-");
  const int hours = fields.number(2);
  fields.literal(":");
  const int minutes = fields.number(2);
  const std::chrono::minutes offset(hours * 60 + minutes);
  return east ? offset : -offset;
}

int month_number(std::string_view name) {
  static constexpr std::array<std::string_view, 12> kNames = {
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<int>(i) + 1;
  }
  return 0;
}

}  // namespace

std::optional<net::WallTime> parse_rfc3339(std::string_view text) {
  Fields fields(text);
  const int year = fields.number(4);
  fields.literal("-");
  const int month = fields.number(2);
  fields.literal("-");
  const int day = fields.number(2);
  if (!fields.take("T")) fields.literal("t");
  const int hour = fields.number(2);
  fields.literal(":");
  const int minute = fields.number(2);
  fields.literal(":");
  const int second = fields.number(2);
  const std::chrono::nanoseconds fraction = fields.fraction();
  const std::chrono::minutes offset = read_offset(fields);
  if (!fields.complete()) return std::nullopt;
  const std::optional<net::WallTime> time = to_time(year, month, day, hour, minute, second);
  if (!time) return std::nullopt;
  return *time + fraction - offset;
}

std::optional<net::WallTime> parse_http_date(std::string_view text) {
  Fields fields(text);
  fields.text(3);
  fields.literal(", ");
  const int day = fields.number(2);
  fields.literal(" ");
  const int month = month_number(fields.text(3));
  fields.literal(" ");
  const int year = fields.number(4);
  fields.literal(" ");
  const int hour = fields.number(2);
  fields.literal(":");
  const int minute = fields.number(2);
  fields.literal(":");
  const int second = fields.number(2);
  fields.literal(" GMT");
  if (!fields.complete()) return std::nullopt;
  return to_time(year, month, day, hour, minute, second);
}

}  // namespace lastcall::k8s
