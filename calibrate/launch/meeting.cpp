#include "calibrate/launch/meeting.hpp"

#include <unistd.h>

#include <cstdlib>
#include <random>
#include <sstream>
#include <string_view>
#include <utility>

#include "calibrate/launch/lone_meeting.hpp"
#include "calibrate/launch/mpi.hpp"
#include "calibrate/launch/tcp_meeting.hpp"

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

/// MPI only tells where rank 0 listens: its waiting takes a core, which would distort what is measured.
std::unique_ptr<Meeting> meet_through_mpi(Rendezvous rendezvous) {
  Socket listener;
  std::ostringstream text;
  if (rendezvous.rank == 0) {
    listener = listen_on(0);
    text << "mpirun " << std::random_device()() << "\n" << port_of(listener) << "\n";
    std::vector<std::string> addresses = interface_addresses();
    if (addresses.empty()) addresses = {"127.0.0.1"};
    for (const std::string& address : addresses) text << address << "\n";
  }
  std::istringstream told(broadcast_through_mpi(rendezvous, text.str()));
  std::getline(told, rendezvous.job);
  ServerPlace place;
  std::string line;
  std::getline(told, line);
  place.port = std::atoi(line.c_str());
  while (std::getline(told, line)) place.hosts.push_back(line);
  return meet_over_tcp(rendezvous, place, std::move(listener));
}

}  // namespace

std::unique_ptr<Meeting> meet() {
  const Rendezvous rendezvous = read_rendezvous(own_environment());
  if (rendezvous.size == 1) return meet_alone(rendezvous.launcher);
  if (rendezvous.address.empty()) return meet_through_mpi(rendezvous);
  Socket listener;
  if (rendezvous.rank == 0) listener = listen_on(rendezvous.port);
  return meet_over_tcp(rendezvous, {{rendezvous.address}, rendezvous.port}, std::move(listener));
}

}  // namespace stepcast
