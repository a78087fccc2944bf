#include "sim/scenario/dotted_path.hpp"

namespace stepcast {

const Value* find_dotted(const Value& document, const std::string& path) {
  const Value* value = &document;
  std::size_t from = 0;
  while (value != nullptr) {
    const std::size_t dot = path.find('.', from);
    value = value->find(path.substr(from, dot == std::string::npos ? dot : dot - from));
    if (dot == std::string::npos) return value;
    from = dot + 1;
  }
  return nullptr;
}

void assign_dotted(Value& document, const std::string& path, const Value& value,
                   std::vector<Diagnostic>& faults) {
  Value* table = &document;
  std::size_t from = 0;
  while (true) {
    const std::size_t dot = path.find('.', from);
    const std::string key = path.substr(from, dot == std::string::npos ? dot : dot - from);
    if (key.empty()) {
      faults.push_back({value.place, "\"" + path + "\" is not a key", "expected SECTION.KEY=VALUE"});
      return;
    }
    Value* child = table->find(key);
    if (child == nullptr) {
      Value::Entry entry;
      entry.key = key;
      entry.key_place = value.place;
      entry.value.kind = Value::Kind::table;
      entry.value.place = value.place;
      table->table.push_back(std::move(entry));
      child = &table->table.back().value;
    }
    if (dot == std::string::npos) {
      *child = value;
      return;
    }
    if (child->kind != Value::Kind::table) {
      faults.push_back(
          {value.place, path.substr(0, dot) + " is not a table, so \"" + path + "\" can't be set", ""});
      return;
    }
    table = child;
    from = dot + 1;
  }
}

}  // namespace stepcast
