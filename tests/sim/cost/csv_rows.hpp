#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace stepcast {

/// Rows of a CSV file by column name; quoted fields may hold commas. Empty when the file is absent.
inline std::vector<std::map<std::string, std::string>> csv_rows(const std::filesystem::path& file) {
  std::vector<std::map<std::string, std::string>> rows;
  std::ifstream input(file);
  std::vector<std::string> header;
  for (std::string line; std::getline(input, line);) {
    std::vector<std::string> fields(1);
    bool quoted = false;
    for (const char c : line) {
      if (c == '"') {
        quoted = !quoted;
      } else if (c == ',' && !quoted) {
        fields.emplace_back();
      } else if (c != '\r') {
        fields.back() += c;
      }
    }
    if (header.empty()) {
      header = fields;
      continue;
    }
    std::map<std::string, std::string> row;
    for (std::size_t i = 0; i < header.size() && i < fields.size(); ++i) row[header[i]] = fields[i];
    rows.push_back(row);
  }
  return rows;
}

}  // namespace stepcast
