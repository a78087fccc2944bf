#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace stepcast::detail {

/// Rows of different lengths in one array.
struct Rows {
  std::vector<int> first{0};  ///< one more than rows
  std::vector<int> items;
  [[nodiscard]] std::span<const int> row(int index) const {
    return std::span(items).subspan(static_cast<std::size_t>(first[index]),
                                    static_cast<std::size_t>(first[index + 1] - first[index]));
  }
};

/// Items 0 .. items-1 by row_of(item), each row in ascending order; a negative row leaves the item out.
template <class RowOf>
Rows group_by(int rows, int items, RowOf row_of) {
  Rows result;
  result.first.assign(static_cast<std::size_t>(rows) + 1, 0);
  for (int item = 0; item < items; ++item) {
    if (const int row = row_of(item); row >= 0) ++result.first[row + 1];
  }
  for (int row = 0; row < rows; ++row) result.first[row + 1] += result.first[row];
  result.items.resize(static_cast<std::size_t>(result.first[rows]));
  std::vector<int> next(result.first.begin(), result.first.end() - 1);
  for (int item = 0; item < items; ++item) {
    if (const int row = row_of(item); row >= 0) result.items[next[row]++] = item;
  }
  return result;
}

}  // namespace stepcast::detail
