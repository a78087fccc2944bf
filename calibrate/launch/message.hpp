#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace stepcast {

/// What ranks and rank 0's server say to each other. Fields in brackets.
enum class MessageKind : std::uint8_t {
  // From ranks.
  hello,        ///< [version, job, rank, size, node identity, host]
  put,          ///< [key, value]
  get,          ///< [key]; answered by `answer`
  join,         ///< ["barrier" | "gather" | "broadcast", text]; answered by `answer` when all have joined
  doing,        ///< [what, seconds]
  abandon,      ///< [why]
  interrupted,  ///< [signal's number]
  goodbye,      ///< answered by `farewell`
  // From the server.
  welcome,   ///< to a hello
  refuse,    ///< [why], to a hello
  met,       ///< three fields a rank: node, host, address of its interface
  answer,    ///< texts
  end,       ///< [exit code, rank at fault, line to print]
  farewell,  ///< the connection may be closed; to rank 0 when all others have left
  // From both.
  heartbeat
};

struct MeetingMessage {
  MessageKind kind{};
  std::vector<std::string> fields;
};

/// What came is not of this protocol.
class ProtocolFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Each direction of a connection begins with this.
[[nodiscard]] std::string greeting();

[[nodiscard]] std::string encoded(const MeetingMessage& message);

/// Takes the first message off `bytes`, if it is there as a whole. @throws ProtocolFault
[[nodiscard]] std::optional<MeetingMessage> take_message(std::string& bytes);

}  // namespace stepcast
