#pragma once

#include "base/json.hpp"
#include "sim/report/collective_table.hpp"

namespace stepcast {

inline constexpr const char* collectives_schema = "stepcast.collectives/1";

/// The members of one predicted row, inside an object that the caller has begun.
void write_collective_row(JsonWriter& json, const CollectiveRow& row);

}  // namespace stepcast
