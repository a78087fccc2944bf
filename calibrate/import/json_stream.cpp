#include "calibrate/import/json_stream.hpp"

#include <cctype>
#include <string_view>

namespace stepcast {

void JsonStream::fill() {
  read_before_ += ready_.size();
  ready_.clear();
  next_ = 0;
  while (ready_.empty() && !too_long_) {
    const std::size_t got = from_.read(raw_.data(), raw_.size());
    if (got == 0) return;
    for (std::size_t i = 0; i < got && !too_long_; ++i) {
      if (in_text_) {
        hand_on_in_text(raw_[i]);
      } else {
        hand_on(raw_[i]);
      }
    }
  }
}

void JsonStream::hand_on_in_text(char c) {
  if (++text_length_ > longest_text) {
    too_long_ = true;
    return;
  }
  if (escaped_) {
    escaped_ = false;
    constexpr std::string_view known = "\"\\/bfnrtu";
    if (known.find(c) == std::string_view::npos) ready_ += '\\';  // "C:\dir": the backslash means itself
    ready_ += c;
    return;
  }
  if (c == '\\') {
    escaped_ = true;
  } else if (c == '"') {
    in_text_ = false;
  } else if (static_cast<unsigned char>(c) < 0x20) {
    c = ' ';
  }
  ready_ += c;
}

/// Outside of texts a word that begins with i is inf, and one that begins with na is nan (true, false and
/// null begin otherwise): RapidJSON knows Inf and NaN.
void JsonStream::hand_on(char c) {
  if (held_n_) {
    held_n_ = false;
    in_nan_ = c == 'a';
    ready_ += in_nan_ ? 'N' : 'n';
  } else if (in_nan_ && c == 'n') {
    in_nan_ = false;
    c = 'N';
  } else if (!in_word_ && c == 'i') {
    c = 'I';
  } else if (!in_word_ && c == 'n') {
    held_n_ = in_word_ = true;
    return;
  }
  in_word_ = std::isalpha(static_cast<unsigned char>(c)) != 0;
  if (c == '"') {
    in_text_ = true;
    text_length_ = 0;
  }
  ready_ += c;
}

}  // namespace stepcast
