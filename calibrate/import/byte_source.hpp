#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <string>
#include <vector>

namespace stepcast {

/// The bytes of a stream, inflated where it is gzip'd (one member or several, told by its first two bytes).
/// Holds two buffers of 64 KiB, whatever the stream's length.
class ByteSource {
 public:
  explicit ByteSource(std::istream& from);
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  ~ByteSource();

  /// Up to `most` bytes; 0 only at the end.
  [[nodiscard]] std::size_t read(char* into, std::size_t most);

  /// Bytes handed out so far.
  [[nodiscard]] std::uint64_t position() const { return position_; }
  /// At the end: why the stream ended early ("the gzip stream is cut off"), or "".
  [[nodiscard]] const std::string& damage() const { return damage_; }

 private:
  class Inflater;
  std::size_t fill();
  std::size_t read_plain(char* into, std::size_t most);
  std::size_t read_inflated(char* into, std::size_t most);

  std::istream& from_;
  std::vector<char> buffer_;
  std::size_t next_{}, end_{};  ///< what of the buffer is not handed on yet
  std::unique_ptr<Inflater> inflater_;
  std::uint64_t position_{};
  std::string damage_;
  bool started_{};
};

/// A whole file, inflated where it is gzip'd. @throws ScenarioError when it can't be read or is damaged
[[nodiscard]] std::string read_inflated(const std::string& file);

}  // namespace stepcast
