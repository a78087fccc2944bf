#include "sim/training/buckets.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <queue>
#include <utility>

namespace stepcast {

std::vector<Bucket> reducer_buckets(std::span<const BucketItem> items, double first, double following) {
  std::vector<Bucket> closed;
  std::map<int, Bucket> open;
  std::map<int, double> limits;
  for (std::size_t i = 0; i < items.size(); ++i) {
    Bucket& bucket = open[items[i].series];
    double& limit = limits.try_emplace(items[i].series, first).first->second;
    bucket.items.push_back(static_cast<int>(i));
    bucket.size += items[i].size;
    if (bucket.size >= limit) {
      closed.push_back(std::exchange(bucket, {}));
      limit = following;
    }
  }
  for (auto& [series, bucket] : open) {
    if (!bucket.items.empty()) closed.push_back(std::move(bucket));
  }
  return closed;
}

std::vector<Bucket> ipg_buckets(std::span<const double> elements, double limit) {
  std::vector<Bucket> buckets;
  Bucket open;
  const auto close = [&] {
    if (!open.items.empty()) buckets.push_back(std::exchange(open, {}));
  };
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (open.size + elements[i] > limit) close();
    open.items.push_back(static_cast<int>(i));
    open.size += elements[i];
    if (elements[i] > limit) {
      open.alone = true;
      close();
    }
  }
  close();
  return buckets;
}

std::vector<Bucket> megatron_buckets(std::span<const double> elements, double limit, int data_parallel_size,
                                     bool distributed_optimizer) {
  const auto padded = [&](double value, double multiple) {
    return distributed_optimizer ? std::ceil(value / multiple) * multiple : value;
  };
  const double bucket_multiple = std::lcm(data_parallel_size, 128);
  std::vector<Bucket> buckets;
  Bucket open;
  const auto close = [&] {
    open.size = padded(open.size, bucket_multiple);
    buckets.push_back(std::exchange(open, {}));
  };
  for (std::size_t i = 0; i < elements.size(); ++i) {
    open.size = padded(open.size, 64) + elements[i];
    open.items.push_back(static_cast<int>(i));
    if (open.size >= limit) close();
  }
  if (!open.items.empty()) close();
  return buckets;
}

std::vector<int> greedy_partition(std::span<const double> sizes, int ranks) {
  std::vector<int> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return sizes[static_cast<std::size_t>(a)] > sizes[static_cast<std::size_t>(b)];
  });
  using Load = std::pair<double, int>;
  std::priority_queue<Load, std::vector<Load>, std::greater<>> least;
  for (int rank = 0; rank < ranks; ++rank) least.emplace(0.0, rank);
  std::vector<int> owner(sizes.size());
  for (const int item : order) {
    auto [load, rank] = least.top();
    least.pop();
    owner[static_cast<std::size_t>(item)] = rank;
    least.emplace(load + sizes[static_cast<std::size_t>(item)], rank);
  }
  return owner;
}

}  // namespace stepcast
