#include "calibrate/measure/journal.hpp"

#include <fcntl.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "base/document.hpp"
#include "base/print.hpp"
#include "calibrate/measure/measured_json.hpp"

namespace stepcast {
namespace {

constexpr const char* schema = "stepcast.journal/1";

std::string header_line(const JournalHeader& header) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  const auto member = [&](const char* name, const std::string& text) {
    writer.Key(name);
    writer.String(text.c_str());
  };
  writer.StartObject();
  member("schema", schema);
  member("device", header.device);
  member("model", header.model);
  member("node", header.node);
  member("fabric", header.fabric);
  writer.Key("link_rate_Bps");
  writer.Double(header.link_rate.value);
  writer.Key("nodes");
  writer.Int(header.nodes);
  writer.Key("ranks");
  writer.Int(header.ranks);
  writer.Key("hosts");
  writer.StartArray();
  for (const std::string& host : header.hosts) writer.String(host.c_str());
  writer.EndArray();
  writer.Key("versions");
  writer.StartObject();
  for (const auto& [name, version] : header.versions) member(name.c_str(), version);
  writer.EndObject();
  writer.Key("quick");
  writer.Bool(header.quick);
  member("measured_on", header.measured_on);
  writer.EndObject();
  return buffer.GetString();
}

std::string text_at(const Value& tree, const char* key) {
  const Value* found = tree.find(key);
  return found ? found->string : "";
}

JournalHeader header_of(const Value& tree) {
  JournalHeader header;
  header.device = text_at(tree, "device");
  header.model = text_at(tree, "model");
  header.node = text_at(tree, "node");
  header.fabric = text_at(tree, "fabric");
  if (const Value* rate = tree.find("link_rate_Bps")) header.link_rate = BytesPerSecond(rate->real);
  if (const Value* nodes = tree.find("nodes")) header.nodes = static_cast<int>(nodes->integer);
  if (const Value* ranks = tree.find("ranks")) header.ranks = static_cast<int>(ranks->integer);
  if (const Value* hosts = tree.find("hosts")) {
    for (const Value& host : hosts->array) header.hosts.push_back(host.string);
  }
  if (const Value* versions = tree.find("versions")) {
    for (const Value::Entry& entry : versions->table)
      header.versions.emplace_back(entry.key, entry.value.string);
  }
  if (const Value* quick = tree.find("quick")) header.quick = quick->boolean;
  header.measured_on = text_at(tree, "measured_on");
  return header;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string joined(const std::vector<std::pair<std::string, std::string>>& versions) {
  std::string text;
  for (const auto& [name, version] : versions) text += (text.empty() ? "" : ", ") + name + " " + version;
  return text;
}

}  // namespace

JournalHeader header_of(const MeasuredSet& set, bool quick) {
  JournalHeader header;
  header.device = set.device.profile_name;
  header.model = set.device.model;
  header.node = set.node;
  header.fabric = set.fabric;
  header.link_rate = set.link_rate;
  header.nodes = set.nodes;
  header.ranks = set.ranks;
  header.hosts = set.hosts;
  for (const auto& version : set.device.versions) {
    if (version.first != "core") header.versions.push_back(version);  // another core of the same host will do
  }
  header.quick = quick;
  header.measured_on = set.measured_on;
  return header;
}

std::string difference(const JournalHeader& there, const JournalHeader& here) {
  std::string text;
  const auto compare = [&](const std::string& what, const std::string& a, const std::string& b) {
    if (a == b) return;
    const auto named = [](const std::string& value) { return value.empty() ? std::string("none") : value; };
    text += (text.empty() ? "" : "; ") + what + ": " + named(a) + " there, " + named(b) + " here";
  };
  compare("device", there.device, here.device);
  compare("model", there.model, here.model);
  compare("node", there.node, here.node);
  compare("fabric", there.fabric, here.fabric);
  compare("link rate", print_rate(there.link_rate), print_rate(here.link_rate));
  compare("nodes", std::to_string(there.nodes), std::to_string(here.nodes));
  compare("ranks", std::to_string(there.ranks), std::to_string(here.ranks));
  compare("hosts", joined(there.hosts), joined(here.hosts));
  compare("versions", joined(there.versions), joined(here.versions));
  return text;
}

JournalContent read_journal(const std::string& path) {
  const auto refuse = [&](const std::string& why) -> MachineError {
    return MachineError("can't go on with " + path + ": " + why,
                        "delete it, and everything is measured again");
  };
  std::string text;
  try {
    text = read_file(path);
  } catch (const ScenarioError& error) {
    throw refuse(error.what());
  }
  JournalContent content;
  bool first = true;
  int number = 0;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = text.find('\n', start);
    if (end == std::string::npos) {
      content.torn = true;
      break;
    }
    ++number;
    try {
      const Value tree = parse_json(std::string_view(text).substr(start, end - start), path);
      if (first) {
        if (text_at(tree, "schema") != schema)
          throw std::invalid_argument("it does not begin with the header of a " + std::string(schema));
        content.header = header_of(tree);
      } else {
        content.results.push_back(measured_of(tree));
      }
    } catch (const ScenarioError& error) {
      throw refuse("line " + std::to_string(number) + " is not whole: " + error.what());
    } catch (const std::invalid_argument& error) {
      throw refuse("line " + std::to_string(number) + ": " + error.what());
    }
    first = false;
    start = end + 1;
    content.whole_bytes = start;
  }
  if (first) throw refuse("it has no header");
  return content;
}

Journal::Journal(std::string path, const JournalHeader& header) : path_(std::move(path)) {
  open(O_CREAT | O_EXCL);
  try {
    write_line(header_line(header));
  } catch (...) {
    ::close(file_);
    ::unlink(path_.c_str());
    throw;
  }
}

Journal::Journal(std::string path, const JournalContent& content)
    : path_(std::move(path)),
      size_(static_cast<std::int64_t>(content.whole_bytes)),
      count_(static_cast<int>(content.results.size())) {
  open(0);
  if (content.torn && ::ftruncate(file_, size_) != 0) {
    const std::string why = std::strerror(errno);
    ::close(file_);
    throw MachineError("can't cut off the torn last line of " + path_ + ": " + why);
  }
}

Journal::~Journal() { ::close(file_); }

void Journal::open(int flags) {
  file_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | flags, 0644);
  if (file_ < 0) throw MachineError("can't write " + path_ + ": " + std::strerror(errno));
}

void Journal::append(const Measured& measured) {
  write_line(to_json_line(measured));
  ++count_;
}

void Journal::write_line(std::string line) {
  line += '\n';
  std::size_t done = 0;
  int fault = 0;
  while (done < line.size() && fault == 0) {
    const ssize_t written = ::write(file_, line.data() + done, line.size() - done);
    if (written > 0) {
      done += static_cast<std::size_t>(written);
    } else if (written < 0 && errno != EINTR) {
      fault = errno;
    }
  }
  if (fault == 0 && ::fsync(file_) != 0 && errno != EINVAL && errno != EROFS) fault = errno;
  if (fault == 0) {
    size_ += static_cast<std::int64_t>(line.size());
    return;
  }
  const bool whole = ::ftruncate(file_, size_) == 0;
  throw MachineError("can't write " + path_ + ": " + std::strerror(fault) + "; the " +
                         std::to_string(count_) + " measurements before are kept in it" +
                         (whole ? "" : " (its last line is torn)"),
                     "make room, then go on with --resume");
}

}  // namespace stepcast
