#include "base/json.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace stepcast {
namespace {

TEST(Json, WritesWhatItReads) {
  JsonWriter json;
  json.begin_object();
  json.member("name", "a \"b\"");
  json.member("count", 3);
  json.member("share", 0.1);
  json.member("none", std::optional<double>{});
  json.key("list");
  json.begin_array();
  json.value(true);
  json.value(std::numeric_limits<double>::infinity());
  json.end_array();
  json.end_object();
  const Value back = parse_json(json.text(), "x");
  EXPECT_EQ(back.find("name")->string, "a \"b\"");
  EXPECT_EQ(back.find("count")->integer, 3);
  EXPECT_EQ(back.find("share")->real, 0.1);
  EXPECT_EQ(back.find("none")->kind, Value::Kind::null);
  EXPECT_EQ(back.find("list")->array[1].kind, Value::Kind::null);
}

// 0.1 + 0.2 needs 17 digits, 0.3 does not, and whole numbers have no point.
TEST(Json, NumbersAreTheShortestThatReadBackTheSame) {
  const auto text = [](double number) {
    JsonWriter json;
    json.value(number);
    return json.text();
  };
  EXPECT_EQ(text(0.1 + 0.2), "0.30000000000000004\n");
  EXPECT_EQ(text(0.3), "0.3\n");
  EXPECT_EQ(text(4015130624.0), "4015130624\n");
}

}  // namespace
}  // namespace stepcast
