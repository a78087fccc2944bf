#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibrate/import/byte_source.hpp"

namespace stepcast {

/// A ByteSource as RapidJSON wants to read it, one character after the other, with what profilers get wrong
/// set right on the way: control characters and lone backslashes inside texts, nan and inf in small letters.
/// Ends early, with a reason, at a text longer than `longest_text`: a parser holds one text whole.
class JsonStream {
 public:
  using Ch = char;
  static constexpr std::size_t longest_text = std::size_t{64} * 1024 * 1024;

  explicit JsonStream(ByteSource& from) : from_(from) { fill(); }

  [[nodiscard]] char Peek() const { return next_ < ready_.size() ? ready_[next_] : '\0'; }
  char Take() {
    const char taken = Peek();
    if (next_ < ready_.size()) ++next_;
    if (taken == '\n') {
      ++line_;
      line_begin_ = Tell();
    }
    if (next_ == ready_.size()) fill();
    return taken;
  }
  [[nodiscard]] std::size_t Tell() const { return static_cast<std::size_t>(read_before_) + next_; }
  /// Of the next character, from 1.
  [[nodiscard]] unsigned line() const { return line_; }
  [[nodiscard]] unsigned column() const { return static_cast<unsigned>(Tell() - line_begin_) + 1; }
  // RapidJSON asks for these of streams that it writes to, too.
  char* PutBegin() { return nullptr; }
  void Put(char) {}
  void Flush() {}
  std::size_t PutEnd(char*) { return 0; }

  [[nodiscard]] bool at_end() const { return next_ == ready_.size(); }
  /// Why it ended early, or "".
  [[nodiscard]] std::string damage() const { return too_long_ ? "a text is too long" : from_.damage(); }

 private:
  void fill();
  void hand_on(char c);
  void hand_on_in_text(char c);

  ByteSource& from_;
  std::vector<char> raw_ = std::vector<char>(std::size_t{64} * 1024);
  std::string ready_;  ///< characters set right; at most two for each of raw_
  std::size_t next_{};
  std::uint64_t read_before_{};  ///< characters before ready_
  std::size_t text_length_{};
  unsigned line_{1};
  std::size_t line_begin_{};  ///< Tell() at the line's first character
  bool in_text_{}, escaped_{}, in_word_{}, held_n_{}, in_nan_{}, too_long_{};
};

}  // namespace stepcast
