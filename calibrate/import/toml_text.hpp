#pragma once

#include <cstdio>
#include <string>

namespace stepcast {

/// A TOML string.
inline std::string toml_quoted(const std::string& text) {
  std::string made = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') made += '\\';
    made += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return made + "\"";
}

/// Six significant digits: more than a trace's clock has.
inline std::string number_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", number);
  return text;
}

}  // namespace stepcast
