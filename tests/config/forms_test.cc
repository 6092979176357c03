#include "config/forms.h"

#include <gtest/gtest.h>

namespace lastcall::config {
namespace {

TEST(Form, OfABooleanIsTrueOrFalseAndNothingLikeIt) {
  EXPECT_EQ(BooleanForm::parse("true"), true);
  EXPECT_EQ(BooleanForm::parse("false"), false);
  for (const char* text : {"", "True", "TRUE", "yes", "on", "1", "0", "no", "off", "true "}) {
    EXPECT_FALSE(BooleanForm::parse(text)) << text;
  }
}

TEST(Form, OfAChoiceIsOneOfItsWords) {
  EXPECT_EQ(LastEndpointForm::parse("wait"), LastEndpoint::kWait);
  EXPECT_EQ(LastEndpointForm::parse("ignore"), LastEndpoint::kIgnore);
  EXPECT_FALSE(LastEndpointForm::parse("Wait"));
  EXPECT_EQ(LogLevelForm::parse("debug"), LogLevel::kDebug);
  EXPECT_EQ(LogLevelForm::parse("info"), LogLevel::kInfo);
  EXPECT_EQ(LogLevelForm::parse("warn"), LogLevel::kWarn);
  EXPECT_EQ(LogLevelForm::parse("error"), LogLevel::kError);
  EXPECT_FALSE(LogLevelForm::parse("warning"));
}

TEST(Form, OfANamespaceIsADnsLabel) {
  EXPECT_TRUE(LabelForm::parse("shop-2"));
  EXPECT_TRUE(LabelForm::parse(std::string(63, 'a')));
  EXPECT_FALSE(LabelForm::parse(std::string(64, 'a')));
  for (const char* text : {"", "-a", "a-", "a.b", "A", "a_b", "a/b", "a b"}) {
    EXPECT_FALSE(LabelForm::parse(text)) << text;
  }
}

TEST(Form, OfAPodNameIsADnsSubdomain) {
  EXPECT_TRUE(SubdomainForm::parse("web-7c6.node-1"));
  EXPECT_TRUE(SubdomainForm::parse(std::string(253, 'a')));
  EXPECT_FALSE(SubdomainForm::parse(std::string(254, 'a')));
  for (const char* text : {"", ".", "a.", ".a", "a..b", "a.-b", "Web", "a/../b", "a%20"}) {
    EXPECT_FALSE(SubdomainForm::parse(text)) << text;
  }
}

TEST(Form, OfAUidIsOpaqueButPlain) {
  EXPECT_TRUE(UidForm::parse("4b2f7c1e-0000-4000-8000-000000000001"));
  EXPECT_TRUE(UidForm::parse("9f86d081884c7d659a2feaa0c55ad015"));
  for (const std::string& text : {std::string(), std::string("a b"), std::string(129, 'a')}) {
    EXPECT_FALSE(UidForm::parse(text)) << text;
  }
}

TEST(Form, OfAnIpAddressIsTheSpellingOfKubernetes) {
  EXPECT_EQ(IpForm::parse("10.0.0.7"), "10.0.0.7");
  EXPECT_EQ(IpForm::parse("FD00:0:0:0::0007"), "fd00::7");
  for (const char* text : {"", "10.0.0", "10.0.0.256", "010.0.0.1", "fd00::7%eth0", "[fd00::7]",
                           "localhost", "10.0.0.7 ", "10.0.0.7/32"}) {
    EXPECT_FALSE(IpForm::parse(text)) << text;
  }
  EXPECT_FALSE(IpForm::parse(std::string_view("10.0.0.7\0x", 10)));
}

TEST(Form, OfAServerIsSchemeHostAndPort) {
  for (const char* text :
       {"https://10.0.0.1:6443", "http://127.0.0.1:8001", "https://[fd00::1]:443",
        "https://kubernetes.default.svc", "https://10.0.0.1"}) {
    EXPECT_EQ(UrlForm::parse(text), text);
  }
  for (const char* text :
       {"", "10.0.0.1:6443", "https://", "ftp://a:1", "https://a:0", "https://a:65536",
        "https://a:", "https://a/api", "https://a?x", "https://u@a", "https://fd00::1:443",
        "https://[10.0.0.1]:443", "https://[fd00::1", "HTTPS://a", "https://a b", "file:///x"}) {
    EXPECT_FALSE(UrlForm::parse(text)) << text;
  }
}

TEST(Form, OfAPathIsAbsolute) {
  EXPECT_TRUE(PathForm::parse("/run/token"));
  EXPECT_FALSE(PathForm::parse("token"));
  EXPECT_FALSE(PathForm::parse(""));
  EXPECT_FALSE(PathForm::parse("/a\nb"));
  EXPECT_FALSE(PathForm::parse("/" + std::string(4096, 'a')));
}

TEST(Form, OfAListenerIsALiteralAddressAndAPort) {
  for (const char* text : {"[::]:19100", "0.0.0.0:19100", "10.0.0.7:1", "127.0.0.1:0"}) {
    EXPECT_EQ(ListenForm::parse(text), text);
  }
  for (const char* text :
       {"", ":19100", "19100", "10.0.0.7", "10.0.0.7:", "10.0.0.7:65536", "localhost:1", ":::19100",
        "[::]", "[10.0.0.7]:1", "[::]19100", "unix:/run/agent.sock", "10.0.0.7:000001"}) {
    EXPECT_FALSE(ListenForm::parse(text)) << text;
  }
}

TEST(Form, OfTheLocalListenerIsOutOfTheNetworksReach) {
  for (const char* text : {"127.0.0.1:19101", "127.8.9.10:1", "[::1]:19101", "[0:0::1]:1",
                           "unix:/run/lastcall/agent.sock"}) {
    EXPECT_EQ(LocalListenForm::parse(text), text);
  }
  for (const char* text :
       {"", "0.0.0.0:19101", "[::]:19101", "10.0.0.7:19101", "128.0.0.1:1", "126.255.255.255:1",
        "[::2]:1", "[fe80::1]:1", "[::ffff:127.0.0.1]:1", "localhost:19101", "unix:", "unix:agent",
        "unix:@agent", "/run/agent.sock"}) {
    EXPECT_FALSE(LocalListenForm::parse(text)) << text;
  }
}

TEST(Form, OfAUnixSocketFitsTheSystemsBound) {
  const std::string longest = "unix:/" + std::string(106, 's');
  EXPECT_TRUE(LocalListenForm::parse(longest));
  EXPECT_FALSE(LocalListenForm::parse(longest + "s"));
}

}  // namespace
}  // namespace lastcall::config
