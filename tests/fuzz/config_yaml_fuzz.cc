// The configuration file, on anything: settings that agree with themselves, or one printable
// line that says where and what.
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

#include "config/forms.h"
#include "config/settings.h"
#include "tests/fuzz/printable.h"

namespace {

using namespace lastcall::config;

void require(bool holds) {
  if (!holds) std::abort();
}

void check(const ConfigError& error) {
  require(!error.where.empty() && !error.message.empty());
  require(lastcall::fuzz::is_printable_line(error.text(), 1000));
}

// Whether `text` is one that `Form` gives back as it is; empty where that means "not said".
template <class Form>
bool has_form(const Setting<std::string>& text) {
  if (text.value.empty()) return text.source == Source::kDefault;
  return Form::parse(text.value) == text.value;
}

bool is_duration(std::optional<Milliseconds> duration) {
  return !duration || (*duration >= Milliseconds(0) && *duration <= kDurationMax);
}

void check_texts(const Settings& settings) {
  require(has_form<SubdomainForm>(settings.pod_name) && !settings.pod_name.value.empty());
  require(has_form<LabelForm>(settings.pod_namespace) && !settings.pod_namespace.value.empty());
  require(has_form<UidForm>(settings.pod_uid));
  require(has_form<SubdomainForm>(settings.node_name));
  require(has_form<UrlForm>(settings.kubernetes_server));
  require(has_form<PathForm>(settings.kubernetes_token_file));
  require(has_form<PathForm>(settings.kubernetes_ca_file));
  require(has_form<ListenForm>(settings.listen_pod));
  require(has_form<LocalListenForm>(settings.listen_local));
  require(settings.pod_ips.value.size() <= 16);
  for (const std::string& ip : settings.pod_ips.value) require(IpForm::parse(ip) == ip);
}

void check_durations(const Settings& settings) {
  for (const std::optional<Milliseconds> duration :
       std::initializer_list<std::optional<Milliseconds>>{
           settings.settle.value, settings.quiet.value, settings.blind.value,
           settings.hold_min.value, settings.hold_max.value, settings.drain_min.value,
           settings.drain_max.value, settings.reserve.value, settings.margin.value}) {
    require(is_duration(duration));
  }
  require(settings.hold_min.value <= settings.hold_max.value.value_or(kDurationMax));
  require(settings.drain_min.value <= settings.drain_max.value.value_or(kDurationMax));
  require(settings.margin.value <= settings.reserve.value.value_or(kDurationMax));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view yaml(reinterpret_cast<const char*>(data), size);
  const Environment environment{{"LASTCALL_POD_NAME", "web-0"}, {"LASTCALL_POD_NAMESPACE", "shop"}};
  const auto result = load(yaml, "lastcall.yaml", environment);
  if (const auto* error = std::get_if<ConfigError>(&result)) {
    check(*error);
  } else {
    check_texts(std::get<Settings>(result));
    check_durations(std::get<Settings>(result));
  }
  return 0;
}
