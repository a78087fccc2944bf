#include "sim/report/collective_json.hpp"

#include <cstdint>

namespace stepcast {

void write_collective_row(JsonWriter& json, const CollectiveRow& row) {
  json.member("bytes", static_cast<std::int64_t>(row.size.value));
  json.member("time_s", row.time.value);
  json.member("algorithm_bandwidth_Bps", row.algorithm_bandwidth.value);
  json.member("bus_bandwidth_Bps", row.bus_bandwidth.value);
  json.member("algorithm", name_of(row.algorithm));
  json.member("protocol", name_of(row.protocol));
  json.member("channels", row.channels);
  json.member("time_low_s", row.low.value);
  json.member("time_high_s", row.high.value);
  json.member("measured_points", row.measured);
}

}  // namespace stepcast
