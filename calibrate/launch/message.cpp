#include "calibrate/launch/message.hpp"

#include <cstring>
#include <string_view>

namespace stepcast {
namespace {

constexpr std::size_t length_size = sizeof(std::uint32_t);

void append_length(std::string& bytes, std::size_t length) {
  for (unsigned shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(length >> shift & 0xffU);
}

std::uint32_t length_at(std::string_view bytes) {
  std::uint32_t length = 0;
  for (std::size_t i = 0; i < length_size; ++i) {
    length |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return length;
}

}  // namespace

std::string greeting() { return "stepcast meeting 1\n"; }

std::string encoded(const MeetingMessage& message) {
  std::string body(1, static_cast<char>(message.kind));
  for (const std::string& field : message.fields) {
    append_length(body, field.size());
    body += field;
  }
  std::string result;
  append_length(result, body.size());
  return result + body;
}

std::optional<MeetingMessage> take_message(std::string& bytes) {
  constexpr std::uint32_t most = 1U << 28;
  if (bytes.size() < length_size) return std::nullopt;
  const std::uint32_t length = length_at(bytes);
  if (length < 1 || length > most) throw ProtocolFault("a message of " + std::to_string(length) + " bytes");
  if (bytes.size() < length_size + length) return std::nullopt;

  std::string_view body(bytes.data() + length_size, length);
  MeetingMessage result;
  result.kind = static_cast<MessageKind>(body.front());
  body.remove_prefix(1);
  while (!body.empty()) {
    if (body.size() < length_size || body.size() - length_size < length_at(body)) {
      throw ProtocolFault("a field that is longer than its message");
    }
    const std::uint32_t size = length_at(body);
    result.fields.emplace_back(body.substr(length_size, size));
    body.remove_prefix(length_size + size);
  }
  bytes.erase(0, length_size + length);
  return result;
}

}  // namespace stepcast
