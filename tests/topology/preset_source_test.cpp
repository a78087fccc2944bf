#include <gtest/gtest.h>

#include <filesystem>

#include "base/document.hpp"
#include "topology/fabric.hpp"
#include "topology/node.hpp"

namespace stepcast {
namespace {

/// Every number, list and rate of a preset must stand in a table with a source; only names are plain text.
void expect_sources(const Value& table, const std::string& path) {
  if (table.find("value") != nullptr) {
    const Value* source = table.find("source");
    ASSERT_NE(source, nullptr) << path;
    EXPECT_GE(source->string.size(), 8U) << path << ": " << source->string;
    return;
  }
  for (const Value::Entry& entry : table.table) {
    const std::string name = path + "." + entry.key;
    if (entry.value.kind == Value::Kind::table) {
      expect_sources(entry.value, name);
    } else {
      EXPECT_EQ(entry.value.kind, Value::Kind::string) << name << " has no source";
      EXPECT_TRUE(entry.key == "name" || entry.key == "gpu" || entry.key == "kind" ||
                  entry.key == "transport")
          << name << " has no source";
    }
  }
}

TEST(Presets, EveryFigureHasASource) {
  const std::filesystem::path folder = std::filesystem::path(STEPCAST_SOURCE_DIR) / "topology" / "presets";
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".toml") continue;
    ++files;
    expect_sources(parse_toml(read_file(entry.path()), entry.path().string()), entry.path().stem().string());
  }
  EXPECT_EQ(files, node_preset_names().size() + fabric_preset_names().size()) << "a preset is not embedded";
}

}  // namespace
}  // namespace stepcast
