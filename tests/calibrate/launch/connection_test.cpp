#include "calibrate/launch/connection.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace stepcast {
namespace {

TEST(MeetingMessage, ComesBackWholeFromAnyPieces) {
  const MeetingMessage first{MessageKind::put, {"key", std::string("a\0b", 3)}},
      second{MessageKind::get, {""}};
  const std::string bytes = encoded(first) + encoded(second);
  std::string arrived;
  std::vector<MeetingMessage> got;
  for (const char byte : bytes) {
    arrived += byte;
    while (auto message = take_message(arrived)) got.push_back(*message);
  }
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(got[0].kind, MessageKind::put);
  EXPECT_EQ(got[0].fields, first.fields);
  EXPECT_EQ(got[1].fields, second.fields);
  EXPECT_TRUE(arrived.empty());
}

TEST(MeetingMessage, LengthsThatCantBeAreFaults) {
  std::string huge("\xff\xff\xff\xff", 4);
  EXPECT_THROW((void)take_message(huge), ProtocolFault);
  std::string field_beyond_end = encoded({MessageKind::get, {"key"}});
  field_beyond_end[5] = 9;  // of 3 bytes
  EXPECT_THROW((void)take_message(field_beyond_end), ProtocolFault);
}

TEST(Connection, WhoDoesntGreetIsNoRank) {
  auto [one, other] = socket_pair();
  Connection connection(std::move(one));
  ASSERT_EQ(write(other.get(), "GET / HTTP/1.1\r\n", 16), 16);
  EXPECT_TRUE(connection.receive());
  EXPECT_THROW((void)connection.next(), ProtocolFault);
}

TEST(Connection, AClosedEndShowsWhenReading) {
  auto [one, other] = socket_pair();
  Connection connection(std::move(one));
  EXPECT_TRUE(connection.receive());
  { const Socket closes = std::move(other); }
  connection.send({MessageKind::heartbeat, {}});  // raises no SIGPIPE
  EXPECT_FALSE(connection.receive());
}

}  // namespace
}  // namespace stepcast
