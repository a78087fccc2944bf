#pragma once

#include <string>
#include <utility>
#include <vector>

#include "calibrate/measure/measurement.hpp"

namespace stepcast {

/// On what, and with what, a journal's measurements were made.
struct JournalHeader {
  std::string device, model, node, fabric;
  BytesPerSecond link_rate;
  int nodes{1}, ranks{1};
  std::vector<std::string> hosts;
  std::vector<std::pair<std::string, std::string>> versions;
  bool quick{};  ///< how it began; results of both kinds may stand in one journal
  std::string measured_on;
};
[[nodiscard]] JournalHeader header_of(const MeasuredSet& set, bool quick);

/// What differs between two headers, for people ("hosts: node1 node2 there, node3 node4 here"); empty when
/// the same hardware and versions stand behind them.
[[nodiscard]] std::string difference(const JournalHeader& there, const JournalHeader& here);

struct JournalContent {
  JournalHeader header;
  std::vector<Measured> results;
  bool torn{};  ///< the last line was cut off, and does not count
  std::size_t whole_bytes{};
};
/// @throws MachineError when the file can't be read or is no journal; nothing is changed
[[nodiscard]] JournalContent read_journal(const std::string& path);

/// Finished measurements, a line of JSON each, on the disk before append() returns. The first line is the
/// header. Whatever ends the program, all lines but perhaps the last are whole; a line that can't be written
/// is taken back.
class Journal {
 public:
  /// A new file, which must not exist yet. @throws MachineError
  Journal(std::string path, const JournalHeader& header);
  /// Goes on after `content`, cutting off a torn line. @throws MachineError
  Journal(std::string path, const JournalContent& content);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// @throws MachineError naming the file and how many measurements are kept
  void append(const Measured& measured);
  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  void open(int flags);
  void write_line(std::string line);

  std::string path_;
  int file_{-1};
  std::int64_t size_{};
  int count_{};
};

}  // namespace stepcast
