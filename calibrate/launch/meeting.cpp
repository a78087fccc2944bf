#include "calibrate/launch/meeting.hpp"

#include <unistd.h>

#include <string_view>

#include "calibrate/device.hpp"
#include "calibrate/launch/lone_meeting.hpp"

namespace stepcast {
namespace {

std::map<std::string, std::string> own_environment() {
  std::map<std::string, std::string> result;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) result.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return result;
}

}  // namespace

std::unique_ptr<Meeting> meet() {
  const Rendezvous rendezvous = read_rendezvous(own_environment());
  if (rendezvous.size == 1) return meet_alone(rendezvous.launcher);
  throw MachineError("ranks can't meet yet");
}

}  // namespace stepcast
