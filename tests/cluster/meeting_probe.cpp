// Meets like stepcast's ranks do, and tries the meeting and the network under it:
//   meeting_probe                   prints every rank's place
//   meeting_probe hang              all stay in one piece of work until somebody ends it
//   meeting_probe goodput SECONDS   rank 0 sends to the first rank of another node, as fast as TCP goes
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "calibrate/device.hpp"
#include "calibrate/launch/meeting.hpp"
#include "calibrate/launch/socket.hpp"

namespace stepcast {
namespace {

void print_places(Meeting& meeting) {
  const RankPlace& place = meeting.place();
  const std::vector<std::string> lines = meeting.gather(
      "rank " + std::to_string(place.rank) + " of " + std::to_string(place.size) + " on " + place.host +
      ", node " + std::to_string(place.node) + " of " + std::to_string(place.nodes) + ", address " +
      meeting.interface_address() + ", started by " + place.launcher);
  for (const std::string& line : lines) std::cout << line << "\n";
  if (meeting.broadcast("from rank 0") != "from rank 0")
    throw MachineError("broadcast brought something else");
  meeting.barrier();
}

void hang(Meeting& meeting) {
  meeting.on_abort([] { std::cerr << "kept what was done\n"; });
  meeting.doing("a long wait", Seconds(600));
  meeting.barrier();
  if (meeting.place().rank == 0) std::cout << "all are waiting" << std::endl;
  while (true) std::this_thread::sleep_for(std::chrono::seconds(1));
}

void await(const Socket& socket, short events) {
  pollfd waiting{socket.get(), events, 0};
  poll(&waiting, 1, -1);
}

double receive_all(Meeting& meeting) {
  const Socket listener = listen_on(0);
  meeting.put("port", std::to_string(port_of(listener)));
  meeting.put("address", meeting.interface_address());
  await(listener, POLLIN);
  const Socket socket = accept_from(listener);
  std::vector<char> buffer(1 << 20);
  double bytes = 0;
  Seconds first;
  while (true) {
    await(socket, POLLIN);
    const ssize_t got = recv(socket.get(), buffer.data(), buffer.size(), 0);
    if (got == 0) return bytes / (steady_now() - first).value;
    if (first.value == 0) {
      first = steady_now();
    } else if (got > 0) {
      bytes += static_cast<double>(got);
    }
  }
}

void send_for(Meeting& meeting, Seconds time) {
  const std::string address = meeting.get("address");
  const Connected there = connect_to(address, std::stoi(meeting.get("port")), Seconds(5));
  if (!there.socket.is_open()) throw MachineError("can't reach " + address + ": " + there.why);
  const std::vector<char> buffer(1 << 20);
  const Seconds until = steady_now() + time;
  while (steady_now() < until) {
    await(there.socket, POLLOUT);
    (void)send(there.socket.get(), buffer.data(), buffer.size(), MSG_NOSIGNAL);
  }
}

void goodput(Meeting& meeting, Seconds time) {
  const RankPlace& place = meeting.place();
  int receiver = 0;
  while (receiver + 1 < place.size && place.node_of_rank[static_cast<std::size_t>(receiver)] == 0) ++receiver;
  std::string text;
  if (place.rank == receiver) text = std::to_string(receive_all(meeting) * 8e-6) + " Mbit/s";
  if (place.rank == 0) send_for(meeting, time);
  for (const std::string& line : meeting.gather(text)) {
    if (!line.empty()) std::cout << "goodput to rank " << receiver << ": " << line << "\n";
  }
}

}  // namespace
}  // namespace stepcast

int main(int count, char** words) {
  using namespace stepcast;
  const std::string_view mode = count > 1 ? words[1] : "";
  try {
    const auto meeting = meet();
    if (mode == "hang") {
      hang(*meeting);
    } else if (mode == "goodput" && count > 2) {
      goodput(*meeting, Seconds(std::stod(words[2])));
    } else {
      print_places(*meeting);
    }
    return 0;
  } catch (const MachineError& error) {
    std::cerr << "stepcast: error: " + std::string(error.what()) +
                     (error.hint.empty() ? "" : "\n  " + error.hint) + "\n";
    return 3;
  }
}
