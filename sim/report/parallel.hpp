#pragma once

#include <atomic>
#include <cstddef>
#include <functional>

namespace stepcast {

/// Calls make_worker() once per thread and the returned function for each index 0 .. count-1, on `jobs`
/// threads (0: all cores). Indices are handed out in order. After a call has thrown, no further index is
/// handed out, and the exception of the lowest index is thrown again: which one that is does not depend on
/// `jobs`. `done(n)` is called after each, one at a time. When `cancel` becomes true, Interrupted is thrown.
void for_each_index(std::size_t count, int jobs,
                    const std::function<std::function<void(std::size_t)>()>& make_worker,
                    const std::function<void(std::size_t)>& done, const std::atomic<bool>* cancel);

}  // namespace stepcast
