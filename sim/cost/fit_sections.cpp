#include "base/table_reader.hpp"
#include "sim/cost/profile_reader.hpp"

namespace stepcast {

void check_fit_sections(const Value& tables, std::vector<Diagnostic>& faults) {
  for (const Value& entry : tables.array) {
    if (entry.kind != Value::Kind::table) continue;
    TableReader table(entry, "fit", faults);
    for (const char* key : {"of", "curve", "source"}) table.require(key, "what a fit is of");
    for (const char* key : {"of", "curve", "source", "measured_on", "warning"}) (void)table.string(key);
    (void)table.number("residual", 0, 1e9);
    (void)table.integer("points", 1, 1'000'000'000);
    if (const Value* const parameters = table.raw("parameters")) {
      const bool list = parameters->kind == Value::Kind::array;
      if (!list) table.fault("parameters", "parameters must be a list of [name, value, low, high]");
      for (const Value& parameter : parameters->array) {
        if (parameter.kind != Value::Kind::array || parameter.array.size() != 4 ||
            parameter.array[0].kind != Value::Kind::string) {
          faults.push_back({parameter.place, "a parameter must be [name, value, low, high]",
                            "for example [\"latency\", \"120 us\", \"115 us\", \"124 us\"]"});
        }
      }
    }
    table.finish();
  }
}

}  // namespace stepcast
