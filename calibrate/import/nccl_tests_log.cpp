#include "calibrate/import/nccl_tests_log.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <regex>
#include <set>

#include "base/diagnostic.hpp"
#include "calibrate/import/byte_source.hpp"
#include "sim/report/nccl_tests.hpp"

namespace stepcast {
namespace {

constexpr std::size_t half = 4;  ///< columns of one half of a row: time, algbw, busbw, error

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text) {
    if (c == ' ' || c == '\t' || c == '\r') {
      if (!word.empty()) words.push_back(std::move(word));
      word.clear();
    } else {
      word += c;
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// A host name in front of an INFO line may follow the cell without a space, so that "N/A" loses its A to it.
bool not_available(const std::string& cell) { return cell == "N/A" || cell == "N/" || cell == "n/a"; }
bool is_cell(const std::string& cell) { return number_of(cell).has_value() || not_available(cell); }

/// Words before a row that a launcher wrote: "0:", "[1,0]<stdout>:".
bool is_label(std::string_view text) {
  static const std::regex label(R"(^\s*(\d+:|\[\d+,\d+\]<std(out|err)>:)?\s*$)");
  return std::regex_match(text.begin(), text.end(), label);
}

std::string without_label(std::string_view text) {
  static const std::regex label(R"(^\s*(\d+:|\[\d+,\d+\]<std(out|err)>:)\s*)");
  return std::regex_replace(std::string(text), label, "");
}

/// Reads a log line by line. NCCL writes INFO lines to the same stream, so a row may end in one and go on
/// after it.
class LogReader {
 public:
  explicit LogReader(std::string file) { log_.file = std::move(file); }

  void line(std::string_view text, unsigned number) {
    number_ = number;
    if (text.find_first_not_of(" \t\r") != std::string_view::npos) empty_ = false;
    if (text.ends_with('\r')) text.remove_suffix(1);
    date_in(text);
    if (text.find(" NCCL ") != std::string_view::npos) {
      static const std::regex info(
          R"(([A-Za-z][A-Za-z0-9_.-]*):\d+:\d+ \[[0-9a-z]+\] NCCL (INFO|WARN|TRACE|VERSION|ABORT))");
      std::match_results<std::string_view::const_iterator> found;
      if (std::regex_search(text.begin(), text.end(), found, info)) {
        const auto start = static_cast<std::size_t>(found[0].first - text.begin());
        said_by_nccl(text.substr(start));
        text = text.substr(0, start);
        if (is_label(text)) return;
      }
    }
    if (text.find('#') != std::string_view::npos || text.find("nThread") != std::string_view::npos ||
        text.find("Rank ") != std::string_view::npos) {
      header(text);
    }
    if (begins_row(text)) return;
    if (open_ && continues_row(text)) return;
    name_in(text, "command line");
    version_in(text);
    note_failure(text);
  }

  NcclTestsLog finish() {
    close_run();
    // A run of one small size says nothing by its columns; the other runs of a file may.
    std::set<Operation> operations;
    for (const NcclTestsRun& run : log_.runs)
      if (run.operation) operations.insert(*run.operation);
    for (NcclTestsRun& run : log_.runs) {
      if (run.operation || operations.size() != 1) continue;
      run.operation = *operations.begin();
      run.operation_from = "other runs of the file";
    }
    return log_;
  }

  /// Why there are no rows.
  [[nodiscard]] Diagnostic nothing_found() const {
    SourcePlace place;
    place.file = log_.file;
    place.column = 1;
    if (empty_) {
      place.line = 1;
      return {place, "the file is empty",
              "expected a log of nccl-tests, a trace of the PyTorch profiler or a table of nsys stats"};
    }
    if (table_line_ == 0) {
      place.line = 1;
      return {place, "no table of nccl-tests in this file",
              "expected lines of size, count, type, redop, root, time, algbw and busbw under a header that "
              "begins "
              "with \"#       size         count\""};
    }
    place.line = table_line_;
    std::string message =
        "the table that begins here has no rows: the run ended before its first size was done";
    if (failure_line_ > 0)
      message += "; line " + std::to_string(failure_line_) + " says: " + failure_.substr(0, 160);
    return {place, message, "use the log of a run that finished"};
  }

 private:
  void said_by_nccl(std::string_view text) {
    static const std::regex ranks(R"((nranks|nRanks) (\d+))");
    static const std::regex choice(
        R"((\w+): (\d+) Bytes -> Algo (\w+) proto (\w+) channel\{Lo\.\.Hi\}=\{(\d+)\.\.(\d+)\})");
    static const std::regex network(R"(Using network (.+?)\s*$)");
    std::match_results<std::string_view::const_iterator> found;
    if (std::regex_search(text.begin(), text.end(), found, ranks)) info_ranks_ = std::stoi(found[2].str());
    if (std::regex_search(text.begin(), text.end(), found, network)) network_ = found[1].str();
    if (text.find("NET/IB") != std::string_view::npos) cards_in(text);
    if (text.find(" nNodes ") != std::string_view::npos) {
      static const std::regex nodes(R"( nNodes (\d+))");
      if (std::regex_search(text.begin(), text.end(), found, nodes)) info_nodes_ = std::stoi(found[1].str());
    }
    if (text.find(" -> Algo ") != std::string_view::npos &&
        std::regex_search(text.begin(), text.end(), found, choice)) {
      const Bytes size(std::stod(found[2].str()));
      const bool known = std::any_of(run_.choices.begin(), run_.choices.end(),
                                     [&](const NcclChoice& other) { return other.size == size; });
      if (!known) {
        run_.choices.push_back({size, found[3].str(), found[4].str(),
                                std::stoi(found[6].str()) - std::stoi(found[5].str()) + 1});
      }
    }
    version_in(text);
    if (text.find(" NCCL WARN ") != std::string_view::npos) note_failure(text, true);
  }

  /// "NET/IB: [0] mlx5_0:uverbs0:1/RoCE provider=Mlx5 speed=100000 ..." of newer versions (Mb/s), "NET/IB :
  /// Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB ..." of all.
  void cards_in(std::string_view text) {
    static const std::regex kind(R"(\d+/(IB|RoCE)\b)");
    static const std::regex speed(R"(\d+/(IB|RoCE)\b.* speed=(\d+))");
    const std::string words(text);
    for (std::sregex_iterator found(words.begin(), words.end(), kind), none; found != none; ++found)
      card_kinds_.insert((*found)[1].str());
    std::smatch found;
    if (std::regex_search(words, found, speed))
      card_rate_ = std::max(card_rate_, gigabits_per_second(std::stod(found[2].str()) / 1000));
  }

  /// "2024-05-01T10:00:00" or "2024-05-01 10:00:00", as launchers and newer NCCL write before lines.
  void date_in(std::string_view text) {
    if (!date_.empty() || text.find(':') == std::string_view::npos) return;
    static const std::regex stamp(R"(\b(20\d\d-[01]\d-[0-3]\d)[T ][0-2]\d:[0-5]\d)");
    std::match_results<std::string_view::const_iterator> found;
    if (std::regex_search(text.begin(), text.end(), found, stamp)) date_ = found[1].str();
  }

  void version_in(std::string_view text) {
    static const std::regex version(R"(NCCL version (\d[0-9.]*(rc\d+)?))");
    std::match_results<std::string_view::const_iterator> found;
    if (text.find("NCCL version ") != std::string_view::npos &&
        std::regex_search(text.begin(), text.end(), found, version))
      nccl_version_ = found[1].str();
  }

  /// The name of a test program in a command line or a remark of the program itself.
  void name_in(std::string_view text, const char* from) {
    if (text.find("_perf") == std::string_view::npos) return;
    static const std::regex program(R"((\w+?)_perf\b)");
    std::match_results<std::string_view::const_iterator> found;
    if (!std::regex_search(text.begin(), text.end(), found, program)) return;
    if (const auto operation = operation_named(found[1].str())) {
      // A command after a table begins the next run; a remark after it ends the same one.
      if (!run_.rows.empty() && text.find("concluded") == std::string_view::npos) begin_run();
      named_ = operation;
      named_from_ = from;
    }
  }

  void header(std::string_view text) {
    static const std::regex threads(R"(nThread\s+(\d+)\s+nGpus\s+(\d+))");
    static const std::regex rank(
        R"(Rank\s+(\d+)\s.*\bPid\s+\d+\s+on\s+(\S+)\s+device\s+(\d+)\s+\[[^\]]*\]\s*(.*?)\s*$)");
    static const std::regex tests(R"(nccl-tests version (\S+))");
    static const std::regex average(R"(Avg bus bandwidth\s*:\s*([0-9.eE+-]+))");
    std::match_results<std::string_view::const_iterator> found;
    if (std::regex_search(text.begin(), text.end(), found, threads)) {
      begin_run();
      run_.threads = std::stoi(found[1].str());
      run_.gpus_per_thread = std::stoi(found[2].str());
    } else if (std::regex_search(text.begin(), text.end(), found, rank)) {
      if (!run_.rows.empty()) begin_run();
      run_.places.push_back(
          {std::stoi(found[1].str()), found[2].str(), std::stoi(found[3].str()), found[4].str()});
    } else if (std::regex_search(text.begin(), text.end(), found, tests)) {
      tests_version_ = found[1].str();
    } else if (std::regex_search(text.begin(), text.end(), found, average)) {
      close_row();
      run_.average_bus_bandwidth = number_of(found[1].str());
    } else if (text.find("Collective test starting") != std::string_view::npos) {
      name_in(text, "test name");
    } else if (text.find("size") != std::string_view::npos && text.find("count") != std::string_view::npos &&
               text.find("busbw") != std::string_view::npos) {
      if (!run_.rows.empty()) begin_run();
      table_line_ = number_;
      has_root_ = text.find("root") != std::string_view::npos;
    }
  }

  /// "8  2  float  sum  -1  13.4 ...", wherever in the line it starts.
  bool begins_row(std::string_view text) {
    static const std::regex start(
        R"((^|[^0-9.])(\d+)\s+(\d+)\s+(u?int(8|32|64)|half|float(16|32|64)?|double|bfloat16|f(p)?8_?e[45]m[23])\s+(.*)$)");
    if (text.find("float") == std::string_view::npos && text.find("int") == std::string_view::npos &&
        text.find("half") == std::string_view::npos && text.find("double") == std::string_view::npos &&
        text.find("8") == std::string_view::npos)
      return false;
    std::match_results<std::string_view::const_iterator> found;
    if (!std::regex_search(text.begin(), text.end(), found, start)) return false;
    NcclTestsRow row;
    row.line = number_;
    row.size = Bytes(std::stod(found[2].str()));
    row.count = std::stoll(found[3].str());
    row.type = found[4].str();
    std::vector<std::string> cells = words_of(found[8].str());
    static const std::set<std::string> reductions = {"sum", "prod", "max", "min", "avg", "mulsum", "none"};
    if (!cells.empty() && reductions.contains(cells.front())) {
      row.reduction = cells.front();
      cells.erase(cells.begin());
    }
    const bool root = !cells.empty() && (cells.size() == 2 * half + 1 || cells.size() == half + 1 ||
                                         (cells.size() < half && (has_root_ || cells.front() == "-1")));
    if (root) {
      if (const auto value = number_of(cells.front())) row.root = static_cast<int>(*value);
      cells.erase(cells.begin());
    }
    // Prose may have two numbers before the word "float", too.
    if (!std::all_of(cells.begin(), cells.end(), is_cell) || cells.size() > 2 * half) return false;
    close_row();
    open_ = std::move(row);
    cells_ = std::move(cells);
    if (cells_.size() == 2 * half) close_row();
    return true;
  }

  /// The rest of a torn row: numbers and nothing else.
  bool continues_row(std::string_view text) {
    const std::vector<std::string> cells = words_of(without_label(text));
    if (cells.empty() || cells_.size() + cells.size() > 2 * half) return false;
    if (!std::all_of(cells.begin(), cells.end(), is_cell)) return false;
    cells_.insert(cells_.end(), cells.begin(), cells.end());
    if (cells_.size() == 2 * half) close_row();
    return true;
  }

  void close_row() {
    if (!open_) return;
    const auto timing = [&](std::size_t first) -> std::optional<NcclTestsTiming> {
      if (cells_.size() < first + 3) return std::nullopt;
      const auto time = number_of(cells_[first]), rate = number_of(cells_[first + 1]),
                 bus = number_of(cells_[first + 2]);
      if (!time || !(*time > 0)) return std::nullopt;
      return NcclTestsTiming{microseconds(*time), rate.value_or(0), bus.value_or(0)};
    };
    open_->out_of_place = timing(0);
    open_->in_place = timing(half);
    if (open_->size > Bytes(0) && (open_->out_of_place || open_->in_place))
      run_.rows.push_back(std::move(*open_));
    open_.reset();
    cells_.clear();
  }

  /// What stood before a table without rows (rank lines, versions) is forgotten with it.
  void begin_run() {
    close_run();
    run_ = NcclTestsRun{};
    run_.line = number_;
    info_ranks_ = info_nodes_ = 0;
  }

  void close_run() {
    close_row();
    if (run_.rows.empty()) return;
    run_.tests_version = tests_version_;
    run_.nccl_version = nccl_version_;
    run_.network = network_;
    run_.info_nodes = info_nodes_;
    if (card_kinds_.size() == 1) run_.cards = *card_kinds_.begin();
    if (card_rate_ > BytesPerSecond(0)) run_.card_rate = card_rate_;
    run_.date = date_;
    if (run_.line == 0) run_.line = run_.rows.front().line;
    set_ranks();
    set_operation();
    log_.runs.push_back(std::move(run_));
    run_ = NcclTestsRun{};
    named_.reset();
  }

  void set_ranks() {
    int most = -1;
    for (const NcclTestsRank& place : run_.places) most = std::max(most, place.rank);
    if (most >= 0) {
      run_.ranks = most + 1;
      run_.ranks_from = "rank lines";
    } else if (info_ranks_ > 0) {
      run_.ranks = info_ranks_;
      run_.ranks_from = "NCCL INFO";
    } else if (const int counted = ranks_by_columns()) {
      run_.ranks = counted;
      run_.ranks_from = "columns";
      run_.ranks_between = ranks_allowed();
      return;
    }
    run_.ranks_between = {run_.ranks, run_.ranks};
  }

  /// Ranks for which the printed bandwidths, each half a unit of its last digit up or down, agree.
  [[nodiscard]] std::pair<int, int> ranks_allowed() const {
    std::pair<int, int> range{2, 1 << 20};
    if (size_share() > 1.5) return {run_.ranks, run_.ranks};
    constexpr double half_digit = 0.005;
    for (const NcclTestsRow& row : run_.rows) {
      for (const auto& timing : {row.out_of_place, row.in_place}) {
        if (!timing || !(timing->algorithm_bandwidth > 1) || !(timing->bus_bandwidth > 1)) continue;
        const double least =
            (timing->bus_bandwidth - half_digit) / (timing->algorithm_bandwidth + half_digit);
        const double most = (timing->bus_bandwidth + half_digit) / (timing->algorithm_bandwidth - half_digit);
        if (least < 2)
          range.first = std::max(range.first, static_cast<int>(std::ceil(2 / (2 - least) - 1e-9)));
        if (most < 2) range.second = std::min(range.second, static_cast<int>(2 / (2 - most) + 1e-9));
      }
    }
    return range;
  }

  /// Bus over algorithm bandwidth of the largest row.
  [[nodiscard]] double bandwidth_ratio() const {
    const NcclTestsRow& row =
        *std::max_element(run_.rows.begin(), run_.rows.end(),
                          [](const NcclTestsRow& a, const NcclTestsRow& b) { return a.size < b.size; });
    const NcclTestsTiming& timing = row.out_of_place ? *row.out_of_place : *row.in_place;
    return timing.algorithm_bandwidth > 0 ? timing.bus_bandwidth / timing.algorithm_bandwidth : 0;
  }

  /// all_gather and its like count elements of one rank, so that size = ranks x count x element; else 2
  /// (n-1)/n or (n-1)/n of the two bandwidths gives n.
  [[nodiscard]] int ranks_by_columns() const {
    if (const double share = size_share(); share > 1.5) return static_cast<int>(std::lround(share));
    const double ratio = bandwidth_ratio();
    constexpr double nearly_two = 1.995;  // beyond 400 ranks the printed digits say nothing
    if (ratio > 1.01 && ratio < nearly_two) return static_cast<int>(std::lround(2 / (2 - ratio)));
    return 0;
  }

  /// size / (count x element) of the last row.
  [[nodiscard]] double size_share() const {
    const NcclTestsRow& row = run_.rows.back();
    const double element = row.type.find("64") != std::string::npos || row.type == "double"  ? 8
                           : row.type == "float" || row.type.find("32") != std::string::npos ? 4
                           : row.type == "half" || row.type.find("16") != std::string::npos  ? 2
                                                                                             : 1;
    return row.count > 0 ? row.size.value / (static_cast<double>(row.count) * element) : 0;
  }

  void set_operation() {
    if (named_) {
      run_.operation = named_;
      run_.operation_from = named_from_;
      return;
    }
    const NcclTestsRow& row = run_.rows.back();
    const double ratio = bandwidth_ratio();
    constexpr double same = 0.01;
    if (row.root && *row.root >= 0) {
      run_.operation =
          row.reduction == "none" || row.reduction.empty() ? Operation::broadcast : Operation::reduce;
    } else if (row.reduction == "none") {
      run_.operation = row.in_place ? Operation::all_gather : Operation::all_to_all;
    } else if (!row.reduction.empty() && ratio > 1 + same) {
      run_.operation = Operation::all_reduce;
    } else if (!row.reduction.empty() && ratio < 1 - same && ratio > 0) {
      run_.operation = Operation::reduce_scatter;
    }
    if (run_.operation) run_.operation_from = "columns";
  }

  void note_failure(std::string_view text, bool surely = false) {
    static const std::regex failure(
        R"(Test (NCCL|CUDA) failure|unhandled (cuda|system) error|Segmentation fault|error:|ERROR)");
    if (failure_line_ > 0 || !(surely || std::regex_search(text.begin(), text.end(), failure))) return;
    failure_line_ = number_;
    failure_ = std::string(text);
  }

  NcclTestsLog log_;
  NcclTestsRun run_;
  std::optional<NcclTestsRow> open_;  ///< a row whose cells are not all there yet
  std::vector<std::string> cells_;
  std::optional<Operation> named_;
  std::string named_from_, tests_version_, nccl_version_, network_, failure_, date_;
  std::set<std::string> card_kinds_;
  BytesPerSecond card_rate_;
  bool has_root_{};
  int info_ranks_{}, info_nodes_{};
  bool empty_{true};
  unsigned number_{}, table_line_{}, failure_line_{};
};

void join(std::optional<NcclTestsTiming>& into, const std::optional<NcclTestsTiming>& other, int before) {
  if (!other) return;
  if (!into) {
    into = other;
    return;
  }
  const auto mean = [&](double a, double b) {
    return a > 0 && b > 0 ? std::exp((before * std::log(a) + std::log(b)) / (before + 1)) : std::max(a, b);
  };
  into->time = Seconds(mean(into->time.value, other->time.value));
  into->algorithm_bandwidth = mean(into->algorithm_bandwidth, other->algorithm_bandwidth);
  into->bus_bandwidth = mean(into->bus_bandwidth, other->bus_bandwidth);
}

}  // namespace

int NcclTestsRun::hosts() const {
  std::set<std::string> names;
  for (const NcclTestsRank& place : places) names.insert(place.host);
  return static_cast<int>(names.size());
}

int NcclTestsRun::nodes() const {
  if (info_nodes > 0) return info_nodes;
  std::vector<NcclTestsRank> sorted = places;
  std::sort(sorted.begin(), sorted.end(),
            [](const NcclTestsRank& a, const NcclTestsRank& b) { return a.rank < b.rank; });
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i].rank > sorted[i - 1].rank + 1 && sorted[i].host != sorted[i - 1].host) return 0;
  }
  return hosts();
}

NcclTestsLog parse_nccl_tests_log(std::string_view text, const std::string& file) {
  LogReader reader(file);
  unsigned number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    reader.line(text.substr(0, end), ++number);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  NcclTestsLog log = reader.finish();
  if (log.runs.empty()) {
    throw ScenarioError(reader.nothing_found());
  }
  return log;
}

NcclTestsLog read_nccl_tests_log(const std::string& file) {
  return parse_nccl_tests_log(read_inflated(file), file);
}

std::vector<NcclTestsRow> rows_by_size(const NcclTestsLog& log, Operation operation, int ranks) {
  std::map<double, std::pair<NcclTestsRow, int>> sizes;
  for (const NcclTestsRun& run : log.runs) {
    if ((run.operation && *run.operation != operation) || (run.ranks > 0 && run.ranks != ranks)) continue;
    for (const NcclTestsRow& row : run.rows) {
      const auto [place, is_new] = sizes.try_emplace(row.size.value, row, 1);
      if (is_new) continue;
      auto& [joined, times] = place->second;
      join(joined.out_of_place, row.out_of_place, times);
      join(joined.in_place, row.in_place, times);
      ++times;
    }
  }
  std::vector<NcclTestsRow> rows;
  for (auto& [size, row] : sizes) rows.push_back(std::move(row.first));
  return rows;
}

}  // namespace stepcast
