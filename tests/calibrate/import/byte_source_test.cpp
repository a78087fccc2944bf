#include "calibrate/import/byte_source.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/calibrate/import/gzip.hpp"

namespace stepcast {
namespace {

using testing::HasSubstr;

struct Read {
  std::string text, damage;
};

Read read_all(const std::string& bytes, std::size_t piece = 1000) {
  std::istringstream stream(bytes);
  ByteSource source(stream);
  Read read;
  std::string part(piece, '\0');
  while (const std::size_t got = source.read(part.data(), part.size())) read.text.append(part, 0, got);
  read.damage = source.damage();
  EXPECT_EQ(source.position(), read.text.size());
  return read;
}

/// Longer than both buffers, and not compressible to nothing.
std::string long_text() {
  std::string text;
  for (int i = 0; i < 60000; ++i) text += std::to_string(i * 2654435761U) + "\n";
  return text;
}

TEST(ByteSource, HandsOnPlainBytes) {
  for (const std::string& text : {std::string(), std::string("a"), std::string("ab"), long_text()}) {
    EXPECT_EQ(read_all(text).text, text);
    EXPECT_EQ(read_all(text).damage, "");
  }
}

TEST(ByteSource, InflatesOneMemberAndSeveral) {
  const std::string text = long_text();
  EXPECT_EQ(read_all(gzipped(text)).text, text);
  EXPECT_EQ(read_all(gzipped(text) + gzipped("end\n") + gzipped(text)).text, text + "end\n" + text);
  EXPECT_EQ(read_all(gzipped(text) + gzipped("end"), 1).text, text + "end");
}

// tar and some copying tools pad with zeros; gzip ignores them too.
TEST(ByteSource, IgnoresPaddingAfterTheLastMember) {
  const Read read = read_all(gzipped("text") + std::string(100000, '\0'));
  EXPECT_EQ(read.text, "text");
  EXPECT_EQ(read.damage, "");
}

TEST(ByteSource, SaysWhereATornStreamEnds) {
  const std::string text = long_text(), packed = gzipped(text);
  const Read half = read_all(packed.substr(0, packed.size() / 2));
  EXPECT_THAT(half.damage, HasSubstr("cut off"));
  EXPECT_GT(half.text.size(), text.size() / 3);
  EXPECT_EQ(half.text, text.substr(0, half.text.size()));
  std::string damaged = packed;
  for (std::size_t i = 0; i < 64; ++i) damaged[packed.size() / 2 + i] = '\x55';
  EXPECT_NE(read_all(damaged).damage, "");
}

}  // namespace
}  // namespace stepcast
