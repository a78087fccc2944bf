#include "topology/import/smi_matrix.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>

#include "topology/figure_reader.hpp"

namespace stepcast {
namespace {

bool all_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

int number_of(std::string_view digits) {
  int number = -1;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc{} && stop == digits.data() + digits.size() ? number : -1;
}

bool is_gpu(std::string_view word) { return word.starts_with("GPU") && all_digits(word.substr(3)); }

std::optional<MatrixCell> parse_cell(const std::string& word) {
  static const std::map<std::string, Relation, std::less<>> words{
      {"X", Relation::self},    {"PIX", Relation::pix}, {"PXB", Relation::pxb}, {"PHB", Relation::phb},
      {"NODE", Relation::node}, {"SYS", Relation::sys}, {"SOC", Relation::sys}};  // SOC: before driver 390
  MatrixCell cell;
  cell.text = word;
  if (const auto known = words.find(word); known != words.end()) {
    cell.relation = known->second;
    return cell;
  }
  if (!word.starts_with("NV") || !all_digits(std::string_view(word).substr(2))) return std::nullopt;
  cell.relation = Relation::nvlink;
  cell.nvlinks = number_of(std::string_view(word).substr(2));
  return cell.nvlinks >= 1 && cell.nvlinks <= 1024 ? std::optional(cell) : std::nullopt;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

class MatrixReader {
 public:
  explicit MatrixReader(const SourceText& text) : text_(text) {}

  SmiMatrix read() {
    std::size_t header = 0;
    while (header < text_.lines().size() && !is_smi_header(text_.lines()[header])) ++header;
    if (header == text_.lines().size()) {
      fault(text_.whole(), "no table of nvidia-smi topo -m is here: a line with GPU0, GPU1, ... heads it",
            "paste all that nvidia-smi topo -m prints");
      throw_faults(std::move(faults_));
    }
    read_header(header);
    for (std::size_t line = header + 1; line < text_.lines().size(); ++line) read_line(line);
    throw_faults(std::move(faults_));
    complete(header);
    throw_faults(std::move(faults_));
    order_gpus();
    return std::move(matrix_);
  }

 private:
  void fault(SourcePlace place, std::string message, std::string hint) {
    faults_.push_back({std::move(place), std::move(message), std::move(hint)});
  }

  void read_header(std::size_t line) {
    const std::vector<Word> words = words_of(text_.lines()[line]);
    std::set<std::string> seen;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string& word = words[i].text;
      const bool affinities = word == "CPU" || word == "NUMA" || word == "GPU";
      if (affinities) {
        for (std::size_t j = i; j + 1 < words.size(); ++j) {
          if (words[j].text == "CPU") has_cpu_ = true;
          if (words[j].text == "NUMA" && words[j + 1].text != "ID") has_numa_ = true;
        }
        break;
      }
      if (!seen.insert(word).second)
        fault(text_.place(line, words[i].column, word.size()), "the column " + word + " stands there twice",
              "");
      matrix_.labels.push_back(word);
    }
    const std::size_t size = matrix_.labels.size();
    matrix_.cells.assign(size, std::vector<std::optional<MatrixCell>>(size));
    matrix_.cpu_affinity.assign(size, "");
    matrix_.numa_affinity.assign(size, "");
    has_row_.assign(size, false);
  }

  void read_line(std::size_t line) {
    const std::vector<Word> words = words_of(text_.lines()[line]);
    if (words.empty()) return;
    if (is_smi_header(text_.lines()[line])) {
      fault(text_.place(line, words[0].column), "a second table begins here",
            "import one machine at a time: keep one table in the file");
      return;
    }
    const std::string& first = words[0].text;
    if (first.size() > 1 && first.back() == ':' && words.size() == 2) {
      matrix_.card_names[first.substr(0, first.size() - 1)] = words[1].text;
      return;
    }
    const auto known = std::find(matrix_.labels.begin(), matrix_.labels.end(), first);
    const bool relations = words.size() > 1 && parse_cell(words[1].text).has_value();
    if (known == matrix_.labels.end()) {
      if (relations && (is_gpu(first) || first.find('_') != std::string::npos || first.starts_with("NIC")))
        fault(text_.place(line, words[0].column, first.size()),
              "the row " + first + " has no column of that name",
              "the header lists " + listed(matrix_.labels));
      return;
    }
    const auto row = static_cast<std::size_t>(known - matrix_.labels.begin());
    if (words.size() == 1 && !is_gpu(first)) return;
    read_row(line, row, words);
  }

  void read_row(std::size_t line, std::size_t row, const std::vector<Word>& words) {
    if (has_row_[row]) {
      fault(text_.place(line, words[0].column, words[0].text.size()),
            "the row " + words[0].text + " stands there twice", "keep one of them");
      return;
    }
    has_row_[row] = true;
    const std::size_t size = matrix_.labels.size();
    if (words.size() < size + 1) {
      fault(text_.place(line, words.back().column, words.back().text.size()),
            "the row " + words[0].text + " has " + std::to_string(words.size() - 1) +
                " entries, but the header has " + std::to_string(size) + " columns: the line was cut off",
            "paste the whole line");
      return;
    }
    for (std::size_t column = 0; column < size; ++column) {
      const Word& word = words[column + 1];
      std::optional<MatrixCell> cell = parse_cell(word.text);
      const SourcePlace place = text_.place(line, word.column, word.text.size());
      if (!cell || (cell->relation == Relation::self) != (column == row)) {
        fault(place,
              cell ? "\"" + word.text + "\" stands where the row " + words[0].text + " crosses the column " +
                         matrix_.labels[column]
                   : "\"" + word.text + "\" is no relation of two devices",
              cell ? "X belongs where a device meets itself, and nowhere else"
                   : "expected X, NV#, PIX, PXB, PHB, NODE or SYS");
        continue;
      }
      cell->place = place;
      matrix_.cells[row][column] = std::move(cell);
    }
    std::size_t next = size + 1;
    if (has_cpu_ && next < words.size()) matrix_.cpu_affinity[row] = words[next++].text;
    if (has_numa_ && next < words.size()) matrix_.numa_affinity[row] = words[next++].text;
  }

  /// Fills in what only the other half of the table says, and compares where both do.
  void complete(std::size_t header) {
    const std::size_t size = matrix_.labels.size();
    std::size_t gpu_pairs = 0, card_pairs = 0;
    std::string example;
    for (std::size_t a = 0; a < size; ++a) {
      for (std::size_t b = a + 1; b < size; ++b) {
        std::optional<MatrixCell>&one = matrix_.cells[a][b], &other = matrix_.cells[b][a];
        const std::string names = matrix_.labels[a] + " and " + matrix_.labels[b];
        if (one && other && (one->relation != other->relation || one->nvlinks != other->nvlinks)) {
          fault(other->place,
                names + " are " + other->text + " here, but " + one->text + " in line " +
                    std::to_string(one->place.line),
                "the two halves of the table must agree: paste it again");
        }
        if (!one) one = other;
        if (!other) other = one;
        if (one) continue;
        const bool gpu = is_gpu(matrix_.labels[a]) || is_gpu(matrix_.labels[b]);
        if (gpu && gpu_pairs == 0) example = names;
        ++(gpu ? gpu_pairs : card_pairs);
      }
    }
    std::vector<std::string> missing;
    for (std::size_t a = 0; a < size; ++a)
      if (!has_row_[a]) missing.push_back(matrix_.labels[a]);
    if (gpu_pairs > 0) {
      fault(text_.place(header, text_.lines()[header].find_first_not_of(" \t")),
            "the table is cut off: the rows of " + listed(missing) + " are missing, so that how " + example +
                " are joined is not known (" + std::to_string(gpu_pairs) + " pairs in all)",
            "paste all that nvidia-smi topo -m prints");
    } else if (!missing.empty()) {
      matrix_.notes.push_back(
          "the rows of " + listed(missing) + " are missing; completed from the columns, by symmetry" +
          (card_pairs > 0 ? "; how these cards are joined to each other is not known, only to the GPUs"
                          : ""));
    }
  }

  void order_gpus() {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < matrix_.labels.size(); ++i) order.push_back(i);
    const auto rank = [&](std::size_t i) {
      const std::string& label = matrix_.labels[i];
      return is_gpu(label) ? number_of(std::string_view(label).substr(3)) : 1'000'000;
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
    SmiMatrix sorted = matrix_;
    for (std::size_t i = 0; i < order.size(); ++i) {
      sorted.labels[i] = matrix_.labels[order[i]];
      sorted.cpu_affinity[i] = matrix_.cpu_affinity[order[i]];
      sorted.numa_affinity[i] = matrix_.numa_affinity[order[i]];
      for (std::size_t j = 0; j < order.size(); ++j) sorted.cells[i][j] = matrix_.cells[order[i]][order[j]];
      if (is_gpu(sorted.labels[i])) ++sorted.gpus;
    }
    matrix_ = std::move(sorted);
  }

  const SourceText& text_;
  SmiMatrix matrix_;
  std::vector<bool> has_row_;
  bool has_cpu_{}, has_numa_{};
  std::vector<Diagnostic> faults_;
};

}  // namespace

bool is_smi_header(const std::string& line) {
  bool gpus = false;
  for (const Word& word : words_of(line)) {
    if (parse_cell(word.text)) return false;
    if (word.text == "CPU" || word.text == "NUMA") break;
    // Labels of columns are single words without the punctuation of prose and prompts.
    if (word.text.find_first_of("$#:;,/()=\"") != std::string::npos) return false;
    gpus = gpus || is_gpu(word.text);
  }
  const std::vector<Word> words = words_of(line);
  return gpus && !words.empty() && (words.size() > 1 || is_gpu(words[0].text));
}

SmiMatrix read_smi_matrix(const SourceText& text) { return MatrixReader(text).read(); }

}  // namespace stepcast
