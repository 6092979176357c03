// Values, their precedence, and what they must agree on.
#include "config/settings.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lastcall::config {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

// What every load needs.
Environment identity(const Environment& more = {}) {
  Environment environment{{"LASTCALL_POD_NAME", "web-0"}, {"LASTCALL_POD_NAMESPACE", "shop"}};
  for (const auto& [name, value] : more) environment[name] = value;
  return environment;
}

Settings loaded(std::optional<std::string_view> yaml, const Environment& environment) {
  auto result = load(yaml, "lastcall.yaml", environment);
  if (const auto* error = std::get_if<ConfigError>(&result)) {
    ADD_FAILURE() << error->text();
    return {};
  }
  return std::get<Settings>(std::move(result));
}

std::string error_of(std::optional<std::string_view> yaml, const Environment& environment) {
  const auto result = load(yaml, "lastcall.yaml", environment);
  const auto* error = std::get_if<ConfigError>(&result);
  return error != nullptr ? error->text() : "loaded";
}

TEST(Settings, AreTheDesignsDefaultsWhenNothingIsSaid) {
  const Settings settings = loaded(std::nullopt, identity());
  EXPECT_EQ(settings.pod_name.value, "web-0");
  EXPECT_EQ(settings.pod_namespace.value, "shop");
  EXPECT_EQ(settings.pod_uid.value, "");
  EXPECT_TRUE(settings.pod_ips.value.empty());
  EXPECT_EQ(settings.kubernetes_server.value, "");
  EXPECT_EQ(settings.listen_pod.value, "[::]:19100");
  EXPECT_EQ(settings.listen_local.value, "127.0.0.1:19101");
  EXPECT_EQ(settings.settle.value, seconds(3));
  EXPECT_EQ(settings.quiet.value, seconds(1));
  EXPECT_EQ(settings.blind.value, seconds(25));
  EXPECT_EQ(settings.last_endpoint.value, LastEndpoint::kWait);
  EXPECT_TRUE(settings.silence.value);
  EXPECT_FALSE(settings.watch_pod.value);
  EXPECT_FALSE(settings.endpoints.value);
  EXPECT_EQ(settings.hold_min.value, seconds(0));
  EXPECT_EQ(settings.hold_max.value, std::nullopt);
  EXPECT_EQ(settings.drain_min.value, seconds(0));
  EXPECT_EQ(settings.drain_max.value, std::nullopt);
  EXPECT_EQ(settings.reserve.value, std::nullopt);
  EXPECT_EQ(settings.margin.value, seconds(1));
  EXPECT_EQ(settings.log_level.value, LogLevel::kInfo);
  EXPECT_EQ(settings.settle.source, Source::kDefault);
}

TEST(Settings, AreReadFromTheFile) {
  const Settings settings = loaded(R"(
pod:
  name: web-1
  namespace: shop
  uid: 4b2f7c1e
  ips: [10.0.0.7, "FD00::7"]
  node: node-1.example
kubernetes:
  server: https://10.0.0.1:6443
  token-file: /tmp/token
  ca-file: /tmp/ca.crt
listen:
  pod: 0.0.0.0:1
  local: unix:/run/agent.sock
settle: 5s
quiet: 2s
blind: 1m
last-endpoint: ignore
silence: false
watch-pod: true
endpoints: true
hold: {min: 1s, max: 2m}
drain:
  min: 3s
  max: 4s
reserve: 15s
margin: 500ms
log:
  level: warn
)",
                                   {});
  EXPECT_EQ(settings.pod_name.value, "web-1");
  EXPECT_EQ(settings.pod_name.source, Source::kFile);
  EXPECT_EQ(settings.pod_uid.value, "4b2f7c1e");
  EXPECT_THAT(settings.pod_ips.value, ElementsAre("10.0.0.7", "fd00::7"));
  EXPECT_EQ(settings.node_name.value, "node-1.example");
  EXPECT_EQ(settings.kubernetes_server.value, "https://10.0.0.1:6443");
  EXPECT_EQ(settings.kubernetes_token_file.value, "/tmp/token");
  EXPECT_EQ(settings.kubernetes_ca_file.value, "/tmp/ca.crt");
  EXPECT_EQ(settings.listen_pod.value, "0.0.0.0:1");
  EXPECT_EQ(settings.listen_local.value, "unix:/run/agent.sock");
  EXPECT_EQ(settings.settle.value, seconds(5));
  EXPECT_EQ(settings.quiet.value, seconds(2));
  EXPECT_EQ(settings.blind.value, seconds(60));
  EXPECT_EQ(settings.last_endpoint.value, LastEndpoint::kIgnore);
  EXPECT_FALSE(settings.silence.value);
  EXPECT_TRUE(settings.watch_pod.value);
  EXPECT_TRUE(settings.endpoints.value);
  EXPECT_EQ(settings.hold_min.value, seconds(1));
  EXPECT_EQ(settings.hold_max.value, seconds(120));
  EXPECT_EQ(settings.drain_min.value, seconds(3));
  EXPECT_EQ(settings.drain_max.value, seconds(4));
  EXPECT_EQ(settings.reserve.value, seconds(15));
  EXPECT_EQ(settings.margin.value, Milliseconds(500));
  EXPECT_EQ(settings.log_level.value, LogLevel::kWarn);
  EXPECT_EQ(settings.log_level.source, Source::kFile);
}

TEST(Settings, OfTheEnvironmentGoBeforeTheFile) {
  const Settings settings =
      loaded("settle: 5s\nquiet: 2s\n", identity({{"LASTCALL_SETTLE", "7s"}}));
  EXPECT_EQ(settings.settle.value, seconds(7));
  EXPECT_EQ(settings.settle.source, Source::kEnvironment);
  EXPECT_EQ(settings.quiet.value, seconds(2));
  EXPECT_EQ(settings.quiet.source, Source::kFile);
}

TEST(Settings, OfTheFileMustBeRightEvenWhenTheEnvironmentGoesBefore) {
  EXPECT_EQ(error_of("settle: 5", identity({{"LASTCALL_SETTLE", "7s"}})),
            "lastcall.yaml:1: settle: '5', expected a duration between 0 and 24h such as 300ms, "
            "5s or 2m");
}

TEST(Settings, EveryKeyHasAVariable) {
  const Settings settings =
      loaded(std::nullopt, identity({{"LASTCALL_POD_UID", "u-1"},
                                     {"LASTCALL_POD_IPS", "10.0.0.7,fd00::7"},
                                     {"LASTCALL_POD_NODE", "node-1"},
                                     {"LASTCALL_KUBERNETES_SERVER", "http://127.0.0.1:8001"},
                                     {"LASTCALL_KUBERNETES_TOKEN_FILE", "/t"},
                                     {"LASTCALL_KUBERNETES_CA_FILE", "/c"},
                                     {"LASTCALL_LISTEN_POD", "127.0.0.1:0"},
                                     {"LASTCALL_LISTEN_LOCAL", "[::1]:0"},
                                     {"LASTCALL_QUIET", "0"},
                                     {"LASTCALL_BLIND", "1s"},
                                     {"LASTCALL_LAST_ENDPOINT", "ignore"},
                                     {"LASTCALL_SILENCE", "false"},
                                     {"LASTCALL_WATCH_POD", "true"},
                                     {"LASTCALL_ENDPOINTS", "true"},
                                     {"LASTCALL_HOLD_MIN", "1s"},
                                     {"LASTCALL_HOLD_MAX", "1s"},
                                     {"LASTCALL_DRAIN_MIN", "2s"},
                                     {"LASTCALL_DRAIN_MAX", "2s"},
                                     {"LASTCALL_RESERVE", "1s"},
                                     {"LASTCALL_MARGIN", "1s"},
                                     {"LASTCALL_LOG_LEVEL", "debug"}}));
  EXPECT_EQ(settings.pod_uid.value, "u-1");
  EXPECT_THAT(settings.pod_ips.value, ElementsAre("10.0.0.7", "fd00::7"));
  EXPECT_EQ(settings.node_name.value, "node-1");
  EXPECT_EQ(settings.kubernetes_server.value, "http://127.0.0.1:8001");
  EXPECT_EQ(settings.kubernetes_token_file.value, "/t");
  EXPECT_EQ(settings.kubernetes_ca_file.value, "/c");
  EXPECT_EQ(settings.listen_pod.value, "127.0.0.1:0");
  EXPECT_EQ(settings.listen_local.value, "[::1]:0");
  EXPECT_EQ(settings.quiet.value, seconds(0));
  EXPECT_EQ(settings.blind.value, seconds(1));
  EXPECT_EQ(settings.last_endpoint.value, LastEndpoint::kIgnore);
  EXPECT_FALSE(settings.silence.value);
  EXPECT_TRUE(settings.watch_pod.value);
  EXPECT_TRUE(settings.endpoints.value);
  EXPECT_EQ(settings.hold_min.value, seconds(1));
  EXPECT_EQ(settings.hold_max.value, seconds(1));
  EXPECT_EQ(settings.drain_min.value, seconds(2));
  EXPECT_EQ(settings.drain_max.value, seconds(2));
  EXPECT_EQ(settings.reserve.value, seconds(1));
  EXPECT_EQ(settings.margin.value, seconds(1));
  EXPECT_EQ(settings.log_level.value, LogLevel::kDebug);
}

TEST(Settings, NeedThePodsNameAndNamespace) {
  EXPECT_EQ(error_of(std::nullopt, {}),
            "environment: LASTCALL_POD_NAME: not set, expected metadata.name from the downward "
            "API (or pod.name in the file)");
  EXPECT_THAT(error_of("pod.name: web-0", {}), HasSubstr("LASTCALL_POD_NAMESPACE: not set"));
  EXPECT_EQ(error_of("pod: {name: web-0, namespace: shop}", {}), "loaded");
}

TEST(Settings, TakeAnEmptyVariableForNotSetWhereTheDownwardApiGivesOne) {
  const Settings settings = loaded(
      "pod.uid: from-file",
      identity({{"LASTCALL_POD_UID", ""}, {"LASTCALL_POD_IPS", ""}, {"LASTCALL_POD_NODE", ""}}));
  EXPECT_EQ(settings.pod_uid.value, "from-file");
  EXPECT_EQ(settings.pod_uid.source, Source::kFile);
  EXPECT_TRUE(settings.pod_ips.value.empty());
  EXPECT_EQ(settings.pod_ips.source, Source::kDefault);
}

TEST(Settings, RefuseEveryOtherEmptyVariable) {
  for (const KeyDoc& doc : reference()) {
    if (doc.key == "pod.uid" || doc.key == "pod.ips" || doc.key == "pod.node") continue;
    EXPECT_THAT(error_of(std::nullopt, identity({{doc.variable, ""}})),
                HasSubstr("environment: " + doc.variable + ": '', expected "));
  }
}

TEST(Settings, RefuseAnUnknownVariable) {
  EXPECT_EQ(error_of(std::nullopt, identity({{"LASTCALL_HOLDMAX", "5s"}})),
            "environment: LASTCALL_HOLDMAX: unknown variable, did you mean LASTCALL_HOLD_MAX?");
  EXPECT_EQ(error_of(std::nullopt, identity({{"LASTCALL_", "x"}})),
            "environment: LASTCALL_: unknown variable");
  EXPECT_EQ(error_of(std::nullopt, identity({{"LASTCALL_X\n", "x"}})),
            "environment: LASTCALL_X\\x0a: unknown variable");
}

TEST(Settings, LeaveTheVariablesOfOthersAlone) {
  EXPECT_EQ(error_of(std::nullopt, identity({{"LASTCALL", "x"},
                                             {"LASTCALLS_HOLD", "x"},
                                             {"lastcall_hold", "x"},
                                             {"PATH", "/bin"}})),
            "loaded");
}

TEST(Settings, LeaveTheVariablesOfAServiceCalledLastcallAlone) {
  EXPECT_EQ(error_of(std::nullopt, identity({{"LASTCALL_SERVICE_HOST", "10.96.0.1"},
                                             {"LASTCALL_SERVICE_PORT", "19100"},
                                             {"LASTCALL_SERVICE_PORT_METRICS", "19100"},
                                             {"LASTCALL_PORT", "tcp://10.96.0.1:19100"},
                                             {"LASTCALL_PORT_19100_TCP", "tcp://10.96.0.1:19100"},
                                             {"LASTCALL_PORT_19100_TCP_PROTO", "tcp"},
                                             {"LASTCALL_PORT_19100_TCP_PORT", "19100"},
                                             {"LASTCALL_PORT_19100_TCP_ADDR", "10.96.0.1"},
                                             {"LASTCALL_DNS_PORT_53_UDP", "udp://10.96.0.1:53"},
                                             {"LASTCALL_AGENT_SERVICE_HOST", "10.96.0.2"}})),
            "loaded");
}

TEST(Settings, RefuseAListOfTooManyAddresses) {
  std::string ips = "10.0.0.1";
  for (int i = 0; i < 15; ++i) ips += ",10.0.0.1";
  EXPECT_EQ(error_of(std::nullopt, identity({{"LASTCALL_POD_IPS", ips}})), "loaded");
  EXPECT_EQ(error_of(std::nullopt, identity({{"LASTCALL_POD_IPS", ips + ",10.0.0.1"}})),
            "environment: LASTCALL_POD_IPS: more than 16 addresses");
}

TEST(Settings, RefuseAnAddressOfTheListThatIsNone) {
  for (const char* ips : {"10.0.0.1,", ",10.0.0.1", "10.0.0.1, 10.0.0.2", "10.0.0.1;10.0.0.2"}) {
    EXPECT_THAT(error_of(std::nullopt, identity({{"LASTCALL_POD_IPS", ips}})),
                HasSubstr("expected an IP address"))
        << ips;
  }
}

TEST(Settings, RefuseALocalListenerThatTheNetworkReaches) {
  EXPECT_EQ(error_of("listen.local: 0.0.0.0:19101", identity()),
            "lastcall.yaml:1: listen.local: '0.0.0.0:19101', expected a loopback address such as "
            "127.0.0.1:19101 or [::1]:19101, or unix:/absolute/path of at most 107 bytes");
}

TEST(Settings, RefuseAShortestHoldOverTheLongest) {
  EXPECT_EQ(error_of("hold:\n  min: 30s\n  max: 10s\n", identity()),
            "lastcall.yaml:2: hold.min: 30s is longer than hold.max, which is 10s "
            "(lastcall.yaml:3)");
  EXPECT_EQ(error_of("hold.min: 30s", identity({{"LASTCALL_HOLD_MAX", "10s"}})),
            "lastcall.yaml:1: hold.min: 30s is longer than hold.max, which is 10s (environment)");
  EXPECT_EQ(error_of("hold: {min: 10s, max: 10s}", identity()), "loaded");
  EXPECT_EQ(error_of("hold.max: 0", identity()), "loaded");
}

TEST(Settings, RefuseAShortestDrainOverTheLongest) {
  EXPECT_EQ(error_of("drain: {min: 2m, max: 1m}", identity()),
            "lastcall.yaml:1: drain.min: 2m is longer than drain.max, which is 1m "
            "(lastcall.yaml:1)");
}

TEST(Settings, RefuseAMarginOverTheReserve) {
  EXPECT_EQ(error_of("reserve: 500ms", identity()),
            "lastcall.yaml:1: margin: 1s is longer than reserve, which is 500ms");
  EXPECT_EQ(error_of("reserve: 5s\nmargin: 6s", identity()),
            "lastcall.yaml:2: margin: 6s is longer than reserve, which is 5s (lastcall.yaml:1)");
  EXPECT_EQ(error_of("margin: 20s", identity()), "loaded");
}

TEST(Settings, NameTheirSources) {
  EXPECT_EQ(to_string(Source::kDefault), "default");
  EXPECT_EQ(to_string(Source::kFile), "file");
  EXPECT_EQ(to_string(Source::kEnvironment), "environment");
}

TEST(Settings, SeeTheEnvironmentOfTheProcess) {
  ASSERT_EQ(setenv("LASTCALL_TEST_VARIABLE", "a=b", 1), 0);
  EXPECT_EQ(process_environment()["LASTCALL_TEST_VARIABLE"], "a=b");
  ASSERT_EQ(unsetenv("LASTCALL_TEST_VARIABLE"), 0);
  EXPECT_FALSE(process_environment().contains("LASTCALL_TEST_VARIABLE"));
}

}  // namespace
}  // namespace lastcall::config
