#include "sim/report/parallel.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/diagnostic.hpp"

namespace stepcast {

void for_each_index(std::size_t count, int jobs,
                    const std::function<std::function<void(std::size_t)>()>& make_worker,
                    const std::function<void(std::size_t)>& done, const std::atomic<bool>* cancel) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  std::size_t finished = 0, failed_index = count;
  std::exception_ptr failure;

  const auto work = [&] {
    const auto run_one = make_worker();
    while (!failed && !(cancel && *cancel)) {
      const std::size_t index = next++;
      if (index >= count) return;
      try {
        run_one(index);
      } catch (...) {
        const std::lock_guard lock(mutex);
        failed = true;
        if (index < failed_index) {
          failed_index = index;
          failure = std::current_exception();
        }
        return;
      }
      const std::lock_guard lock(mutex);
      ++finished;
      if (done) done(finished);
    }
  };

  const std::size_t wanted = jobs > 0 ? static_cast<std::size_t>(jobs) : std::thread::hardware_concurrency();
  const std::size_t threads = std::clamp<std::size_t>(wanted, 1, std::max<std::size_t>(1, count));
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < threads; ++i) others.emplace_back(work);
    work();
  }
  if (cancel && *cancel) throw Interrupted();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace stepcast
