#include "calibrate/host/call_queue.hpp"

#include <algorithm>
#include <utility>

#include "base/diagnostic.hpp"
#include "calibrate/host/host_clock.hpp"

namespace stepcast {

CallQueue::CallQueue(std::function<Seconds()> helpers)
    : helpers_(std::move(helpers)), thread_([this] { run(); }) {}

CallQueue::~CallQueue() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  pushed_.notify_one();
  thread_.join();
}

int CallQueue::push(std::function<void()> call) {
  int number{};
  {
    const std::lock_guard lock(mutex_);
    number = static_cast<int>(entries_.size());
    entries_.push_back({{monotonic_now(), {}, {}}, nullptr});
    waiting_.push_back(std::move(call));
  }
  pushed_.notify_one();
  return number;
}

CallQueue::Record CallQueue::wait(int call) {
  std::unique_lock lock(mutex_);
  const auto index = static_cast<std::size_t>(call);
  STEPCAST_CHECK(call >= 0 && index < entries_.size(), "no call has this ticket");
  ended_.wait(lock, [&] { return done_ > index; });
  if (entries_[index].failure) std::rethrow_exception(entries_[index].failure);
  return entries_[index].record;
}

bool CallQueue::ended(int call) {
  const std::lock_guard lock(mutex_);
  return done_ > static_cast<std::size_t>(call);
}

void CallQueue::add_host(int call, Seconds time) {
  const std::lock_guard lock(mutex_);
  entries_[static_cast<std::size_t>(call)].record.host += time;
}

bool CallQueue::busy() {
  const std::lock_guard lock(mutex_);
  return done_ < entries_.size();
}

void CallQueue::run() {
  wake_promptly(0);
  std::unique_lock lock(mutex_);
  Seconds last_end;
  while (true) {
    pushed_.wait(lock, [&] { return closing_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const auto call = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    const Seconds cpu = thread_cpu_time() + helpers_();
    std::exception_ptr failure;
    try {
      call();
    } catch (...) {
      failure = std::current_exception();
    }
    const Seconds host = thread_cpu_time() + helpers_() - cpu;
    const Seconds end = monotonic_now();
    lock.lock();
    Entry& entry = entries_[done_++];
    entry.record = {std::max(entry.record.begin, last_end), end, host};
    entry.failure = failure;
    last_end = end;
    ended_.notify_all();
  }
}

}  // namespace stepcast
