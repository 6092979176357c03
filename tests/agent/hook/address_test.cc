#include "agent/hook/address.h"

#include <cstring>
#include <string>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

namespace lastcall::hook {
namespace {

TEST(HookAddress, ReadsAnIPv4AddressAndPort) {
  const auto address = parse_address("127.0.0.1:19101");
  ASSERT_TRUE(address);
  sockaddr_in name{};
  ASSERT_EQ(address->size, sizeof(name));
  std::memcpy(&name, &address->socket, sizeof(name));
  EXPECT_EQ(name.sin_family, AF_INET);
  EXPECT_EQ(ntohs(name.sin_port), 19101);
  EXPECT_EQ(ntohl(name.sin_addr.s_addr), INADDR_LOOPBACK);
}

TEST(HookAddress, ReadsABracketedIPv6AddressAndPort) {
  const auto address = parse_address("[::1]:80");
  ASSERT_TRUE(address);
  sockaddr_in6 name{};
  ASSERT_EQ(address->size, sizeof(name));
  std::memcpy(&name, &address->socket, sizeof(name));
  EXPECT_EQ(name.sin6_family, AF_INET6);
  EXPECT_EQ(ntohs(name.sin6_port), 80);
  EXPECT_EQ(std::memcmp(&name.sin6_addr, &in6addr_loopback, sizeof(in6addr_loopback)), 0);
}

TEST(HookAddress, ReadsAUnixSocketUpToTheSystemsBound) {
  const std::string longest = "unix:/" + std::string(106, 's');
  const auto address = parse_address(longest);
  ASSERT_TRUE(address);
  sockaddr_un name{};
  ASSERT_EQ(address->size, sizeof(name));
  std::memcpy(&name, &address->socket, sizeof(name));
  EXPECT_EQ(name.sun_family, AF_UNIX);
  EXPECT_EQ(std::string(name.sun_path), longest.substr(5));
  EXPECT_FALSE(parse_address(longest + "s"));
}

class HookAddressRefuses : public testing::TestWithParam<std::string> {};

TEST_P(HookAddressRefuses, WhatIsNoLiteralAddress) { EXPECT_FALSE(parse_address(GetParam())); }

INSTANTIATE_TEST_SUITE_P(All, HookAddressRefuses,
                         testing::Values("", ":", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0",
                                         "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:80x",
                                         "127.0.0.1:000080", "localhost:80", "::1:80", "[]:80",
                                         "[::1]", "[::1:80", "[127.0.0.1]:80", "1.2.3:80",
                                         "unix:", "unix:relative", "http://127.0.0.1:80",
                                         "[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]:80"));

}  // namespace
}  // namespace lastcall::hook
