#include "calibrate/launch/server.hpp"

#include <poll.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <set>
#include <utility>

namespace stepcast {

MeetingServer::MeetingServer(const Rendezvous& rendezvous, const MeetingLimits& limits, Socket listener,
                             Socket own_end)
    : rendezvous_(rendezvous),
      limits_(limits),
      listener_(std::move(listener)),
      by_rank_(static_cast<std::size_t>(rendezvous.size)),
      began_(steady_now()),
      last_look_(began_),
      next_heartbeat_(began_),
      next_note_(began_ + Seconds(5)) {
  guests_.push_back(std::make_unique<Guest>());
  guests_.back()->connection = Connection(std::move(own_end));
  guests_.back()->came = began_;
  thread_ = std::thread([this] { run(); });
}

MeetingServer::~MeetingServer() { thread_.join(); }

void MeetingServer::run() {
  while (!over_) {
    wait_for_messages();
    look_after_time();
    if (verdict_ && steady_now() >= verdict_at_) end_all(*verdict_);
  }
}

void MeetingServer::wait_for_messages() {
  std::vector<pollfd> waiting;
  waiting.push_back({listener_.get(), POLLIN, 0});
  for (const auto& guest : guests_) {
    const bool unsent = guest->connection.has_unsent();
    const int descriptor = guest->closed ? -1 : guest->connection.socket().get();  // poll skips -1
    waiting.push_back({descriptor, static_cast<short>(unsent ? POLLIN | POLLOUT : POLLIN), 0});
  }
  Seconds until = next_heartbeat_;
  if (verdict_) until = std::min(until, verdict_at_);
  const Seconds rest = until - steady_now();
  poll(waiting.data(), waiting.size(), static_cast<int>(std::ceil(std::max(0.0, rest.value) * 1e3)));

  for (std::size_t i = 0; i + 1 < waiting.size(); ++i) {
    Guest& guest = *guests_[i];
    if ((waiting[i + 1].revents & POLLOUT) != 0) guest.connection.flush();
    if ((waiting[i + 1].revents & (POLLIN | POLLHUP | POLLERR)) != 0) read_from(guest);
    if (over_) return;
  }
  std::erase_if(guests_, [](const auto& guest) { return guest->closed && guest->rank < 0; });
  if ((waiting.front().revents & POLLIN) != 0) accept_guests();
}

void MeetingServer::accept_guests() {
  while (true) {
    Socket socket = accept_from(listener_);
    if (!socket.is_open()) return;
    guests_.push_back(std::make_unique<Guest>());
    guests_.back()->connection = Connection(std::move(socket));
    guests_.back()->came = steady_now();
    guests_.back()->connection.flush();  // our greeting, so that a rank knows with whom it speaks
  }
}

void MeetingServer::read_from(Guest& guest) {
  if (guest.closed) return;
  const bool open = guest.connection.receive();
  try {
    while (auto message = guest.connection.next()) {
      answer(guest, *message);
      if (over_ || guest.closed) return;
    }
  } catch (const ProtocolFault&) {
    guest.closed = true;  // a stranger; a rank that spoke like this would be told as ended below
  }
  if (!open) guest.closed = true;
  if (!guest.closed || guest.rank < 0 || guest.left || guest.told_its_end) return;
  if (everyone_has_met()) {
    propose(watch_.ended(guest.rank), Seconds());
  } else {
    propose({3, guest.rank,
             "rank " + std::to_string(guest.rank) + " (host " + guest.host +
                 ") ended while others still waited for ranks " + missing_ranks()},
            Seconds());
  }
}

void MeetingServer::answer(Guest& guest, const MeetingMessage& message) {
  using Kind = MessageKind;
  const auto& fields = message.fields;
  const auto need = [&](std::size_t count) {
    if (fields.size() != count) throw ProtocolFault("a message with other fields");
  };
  if (guest.rank < 0) {
    if (message.kind != Kind::hello) throw ProtocolFault("a message before the introduction");
    need(6);
    welcome(guest, message);
    return;
  }
  if (everyone_has_met()) watch_.heard(guest.rank, steady_now());
  switch (message.kind) {
    case Kind::put:
      need(2);
      store_[fields[0]] = fields[1];
      for (const auto& other : guests_) {
        if (other->waits_for == fields[0]) give(*other, fields[0]);
      }
      break;
    case Kind::get:
      need(1);
      guest.waits_for = fields[0];
      watch_.waits(guest.rank, true);
      if (store_.contains(fields[0])) give(guest, fields[0]);
      break;
    case Kind::join:
      need(2);
      guest.joined = fields;
      watch_.waits(guest.rank, true);
      join_when_all_have();
      break;
    case Kind::doing:
      need(2);
      watch_.doing(guest.rank, fields[0], Seconds(std::strtod(fields[1].c_str(), nullptr)), steady_now());
      break;
    case Kind::abandon:
      need(1);
      guest.told_its_end = true;
      propose(watch_.abandoned(guest.rank, fields[0]), steady_now() + limits_.grace);
      break;
    case Kind::interrupted: {
      need(1);
      guest.told_its_end = true;
      const int signal = std::atoi(fields[0].c_str());
      // Ctrl-C is a wish; SIGTERM may be mpirun's answer to another rank's death.
      propose({128 + signal, -1, signal == SIGINT ? "interrupted" : "told to end by signal " + fields[0]},
              signal == SIGINT ? Seconds() : steady_now() + limits_.grace);
      break;
    }
    case Kind::goodbye:
      guest.left = true;
      ++left_;
      watch_.left(guest.rank);
      if (guest.rank > 0) guest.connection.send({Kind::farewell, {}});
      join_when_all_have();
      say_farewell_to_rank_0();
      break;
    case Kind::heartbeat:
      break;
    default:
      throw ProtocolFault("a message that only the server sends");
  }
}

void MeetingServer::welcome(Guest& guest, const MeetingMessage& hello) {
  const auto& fields = hello.fields;
  const int rank = std::atoi(fields[2].c_str()), size = std::atoi(fields[3].c_str());
  std::string why;
  if (fields[0] != STEPCAST_VERSION) {
    why = "rank 0 is stepcast " STEPCAST_VERSION ", rank " + fields[2] + " is stepcast " + fields[0];
  } else if (fields[1] != rendezvous_.job) {
    why = "the port belongs to another job of stepcast (" + rendezvous_.job + "; this one is " + fields[1] +
          ")";
  } else if (size != rendezvous_.size) {
    why = "rank 0 was started as one of " + std::to_string(rendezvous_.size) + " ranks, rank " + fields[2] +
          " as one of " + fields[3];
  } else if (rank < 0 || rank >= size || by_rank_[static_cast<std::size_t>(rank)]) {
    why = "there is a rank " + fields[2] + " already";
  }
  if (!why.empty()) {
    guest.connection.send({MessageKind::refuse, {why}});
    // Of our own job, it can't be replaced by another one.
    if (fields[1] == rendezvous_.job) propose({3, -1, why}, steady_now() + limits_.grace);
    return;
  }
  guest.connection.send({MessageKind::welcome, {}});
  guest.rank = rank;
  guest.identity = fields[4];
  guest.host = fields[5];
  by_rank_[static_cast<std::size_t>(rank)] = &guest;
  ++there_;
  if (everyone_has_met()) all_met();
}

void MeetingServer::all_met() {
  std::vector<std::string> hosts, identities;
  for (const Guest* guest : by_rank_) {
    hosts.push_back(guest->host);
    if (std::find(identities.begin(), identities.end(), guest->identity) == identities.end()) {
      identities.push_back(guest->identity);
    }
  }
  // Ranks beside rank 0 may have come over the loopback; others reach them as they reach rank 0.
  const auto elsewhere = std::find_if(by_rank_.begin(), by_rank_.end(), [&](const Guest* guest) {
    return guest->identity != by_rank_[0]->identity;
  });
  const Guest* seen_by = elsewhere == by_rank_.end() ? by_rank_.back() : *elsewhere;
  const std::string own_address = local_address(seen_by->connection.socket());
  MeetingMessage met{MessageKind::met, {}};
  for (const Guest* guest : by_rank_) {
    const auto node = std::find(identities.begin(), identities.end(), guest->identity) - identities.begin();
    met.fields.push_back(std::to_string(node));
    met.fields.push_back(guest->host);
    met.fields.push_back(node == 0 ? own_address : peer_address(guest->connection.socket()));
  }
  for (Guest* guest : by_rank_) guest->connection.send(met);
  watch_ = Watch(hosts, limits_.silence, steady_now());
}

void MeetingServer::give(Guest& guest, const std::string& key) {
  guest.waits_for.reset();
  watch_.waits(guest.rank, false);
  guest.connection.send({MessageKind::answer, {store_.at(key)}});
}

void MeetingServer::join_when_all_have() {
  const auto has_joined = [](const Guest* guest) { return guest->joined.has_value(); };
  if (std::none_of(by_rank_.begin(), by_rank_.end(), has_joined)) return;
  const std::string kind = (*std::find_if(by_rank_.begin(), by_rank_.end(), has_joined))->joined->at(0);
  std::vector<std::string> texts;
  for (const Guest* guest : by_rank_) {
    if (guest->left) {
      propose(
          {3, guest->rank, watch_.name(guest->rank) + " has finished, but others wait for it in a " + kind},
          Seconds());
    } else if (guest->joined && guest->joined->at(0) != kind) {
      propose({70, guest->rank,
               "this is a fault of stepcast: " + watch_.name(guest->rank) + " calls " + guest->joined->at(0) +
                   " while others call " + kind},
              Seconds());
    } else if (guest->joined) {
      texts.push_back(guest->joined->at(1));
    }
  }
  if (texts.size() < by_rank_.size()) return;
  for (Guest* guest : by_rank_) {
    guest->joined.reset();
    watch_.waits(guest->rank, false);
    MeetingMessage answer{MessageKind::answer, {}};
    if (kind == "gather" && guest->rank == 0) answer.fields = texts;
    if (kind == "broadcast") answer.fields = {texts.front()};
    guest->connection.send(answer);
  }
}

void MeetingServer::look_after_time() {
  const Seconds now = steady_now();
  const Seconds gap = now - last_look_;
  last_look_ = now;
  if (gap > 3.0 * limits_.heartbeat) watch_.forgive(gap);
  if (now < next_heartbeat_) return;
  next_heartbeat_ = now + limits_.heartbeat;
  for (const auto& guest : guests_) {
    if (guest->rank >= 0 && !guest->left) guest->connection.send({MessageKind::heartbeat, {}});
    if (guest->rank < 0 && now - guest->came > limits_.silence) guest->closed = true;
  }
  std::erase_if(guests_, [](const auto& guest) { return guest->closed && guest->rank < 0; });

  if (everyone_has_met()) {
    if (auto verdict = watch_.overdue(now)) propose(*verdict, Seconds());
    return;
  }
  const std::string waited = std::to_string(std::lround((now - began_).value)) + " s";
  if (now - began_ > limits_.meet) {
    propose({3, -1,
             "ranks " + missing_ranks() + " did not come within " + waited +
                 " to rank 0, which listens on port " + std::to_string(port_of(listener_)) + " of host " +
                 by_rank_[0]->host},
            Seconds());
  } else if (now >= next_note_) {
    std::cerr << "stepcast: rank 0 waits for ranks " << missing_ranks() << " (" << waited << ")\n";
    next_note_ = now + Seconds(10);
  }
}

std::string MeetingServer::missing_ranks() const {
  std::string result;
  int named = 0;
  for (std::size_t rank = 0; rank < by_rank_.size(); ++rank) {
    if (by_rank_[rank]) continue;
    constexpr int most = 8;
    if (named++ < most) result += (result.empty() ? "" : ", ") + std::to_string(rank);
    if (named == most + 1) result += ", ...";
  }
  return result;
}

void MeetingServer::say_farewell_to_rank_0() {
  if (left_ < rendezvous_.size) return;
  by_rank_[0]->connection.send({MessageKind::farewell, {}});
  over_ = true;
}

void MeetingServer::propose(Verdict verdict, Seconds at) {
  if (verdict_ && verdict_at_ <= at) return;
  verdict_ = std::move(verdict);
  verdict_at_ = at;
}

void MeetingServer::end_all(const Verdict& verdict) {
  over_ = true;
  const MeetingMessage end{MessageKind::end,
                           {std::to_string(verdict.exit_code), std::to_string(verdict.rank), verdict.text}};
  for (const auto& guest : guests_) {
    if (guest->rank >= 0 && !guest->left) guest->connection.send(end);
  }
  // This process ends with rank 0; sockets with unread bytes in them would then be reset, before ranks have
  // read why. So wait until they have gone.
  const Seconds until = steady_now() + Seconds(2);
  while (true) {
    std::vector<pollfd> waiting;
    for (const auto& guest : guests_) {
      if (guest->rank <= 0 || guest->closed || guest->left) continue;
      guest->connection.flush();
      guest->closed = !guest->connection.receive();
      const bool unsent = guest->connection.has_unsent();
      if (!guest->closed) {
        waiting.push_back(
            {guest->connection.socket().get(), static_cast<short>(unsent ? POLLIN | POLLOUT : POLLIN), 0});
      }
    }
    const Seconds rest = until - steady_now();
    if (waiting.empty() || rest.value <= 0) break;
    poll(waiting.data(), waiting.size(), static_cast<int>(std::ceil(rest.value * 1e3)));
  }
  tell_.set_value();
}

}  // namespace stepcast
