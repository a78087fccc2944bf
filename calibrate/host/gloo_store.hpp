#pragma once

#include <gloo/rendezvous/store.h>

#include <string>
#include <vector>

#include "calibrate/launch/meeting.hpp"

namespace stepcast {

/// Gloo's rendezvous over a meeting's store. Addresses are bytes; they travel as hexadecimal text.
class GlooStore final : public gloo::rendezvous::Store {
 public:
  GlooStore(Meeting& meeting, std::string prefix) : meeting_(meeting), prefix_(std::move(prefix)) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    static constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (const char byte : data) {
      const auto value = static_cast<unsigned char>(byte);
      text += digits[value >> 4U];
      text += digits[value & 15U];
    }
    meeting_.put(prefix_ + key, text);
  }

  std::vector<char> get(const std::string& key) override {
    const std::string text = meeting_.get(prefix_ + key);
    std::vector<char> data;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
      data.push_back(static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16)));
    }
    return data;
  }

  void wait(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) static_cast<void>(meeting_.get(prefix_ + key));
  }
  /// The meeting ends all where a rank doesn't come; no time of its own.
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds&) override { wait(keys); }

 private:
  Meeting& meeting_;
  std::string prefix_;
};

}  // namespace stepcast
