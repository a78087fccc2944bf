#include "calibrate/verify/diagnosis.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/json.hpp"
#include "base/print.hpp"
#include "sim/report/text_table.hpp"

namespace stepcast {
namespace {

/// A hypothesis that explains what is measured within this factor is likely.
constexpr double explains = 1.5;

/// Whether the hypothesis makes anything slower by a twentieth.
bool has_an_effect(const std::vector<ComparedFigure>& figures, const std::vector<double>& explained) {
  constexpr double least = 1.05;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const double ratio = explained[i] / figures[i].expected;
    if (std::max(ratio, 1 / ratio) > least) return true;
  }
  return false;
}

double distance(const std::vector<ComparedFigure>& figures, const std::vector<double>& explained) {
  double sum = 0;
  for (std::size_t i = 0; i < figures.size(); ++i)
    sum += std::abs(std::log(figures[i].measured / explained[i]));
  return std::exp(sum / static_cast<double>(figures.size()));
}

/// Place of the figure that a person would quote: the last of the finding, which is its largest size.
std::size_t quoted(const Finding& finding) { return finding.figures.size() - 1; }

std::string described(const Finding& finding) {
  const ComparedFigure& figure = finding.figures[quoted(finding)];
  return finding.what + " reaches " + print_share(finding.performance) + " of what this hardware should (" +
         figure.what + ": " + print_figure(figure, figure.measured) + ", expected " +
         print_figure(figure, figure.expected) + ").\n";
}

std::string described(const Suspect& suspect, const Finding& finding) {
  std::string text = std::string(meaning_of(suspect.cause));
  const ComparedFigure& figure = finding.figures[quoted(finding)];
  if (!suspect.explained.empty())
    text += "; would give " + print_figure(figure, suspect.explained[quoted(finding)]) + ", measured " +
            print_figure(figure, figure.measured);
  text += ".\n";
  for (const Evidence& evidence : suspect.evidence)
    text += "      line " + std::to_string(evidence.line) + ": " + evidence.text + "\n";
  return text;
}

std::string described(const Evidence& evidence) {
  return std::string(meaning_of(evidence.cause)) + ", says line " + std::to_string(evidence.line) + ": " +
         evidence.text + "\n";
}

/// Of a log without figures.
std::string testimony(const Diagnosis& diagnosis) {
  if (diagnosis.unexplained.empty()) return "- Nothing is measured here, and no line speaks for a fault.\n";
  std::string text;
  for (const Evidence& evidence : diagnosis.unexplained) {
    text += "- " + described(evidence);
    text += "    Look at: " + std::string(advice_for(evidence.cause)) + ".\n";
  }
  return text;
}

/// Of figures without findings. A size may be slow where its band is not.
std::string no_finding(const std::vector<ComparedFigure>& figures) {
  std::vector<const ComparedFigure*> slow;
  for (const ComparedFigure& figure : figures)
    if (figure.performance() < faulty) slow.push_back(&figure);
  if (slow.empty())
    return "- All is as expected: nothing is below " + print_share(faulty) +
           " of what this hardware should reach.\n";
  std::string text = "- Nothing is found: the median of every band of sizes is " + print_share(faulty) +
                     " or more of what this hardware should reach. Below it by themselves: ";
  constexpr std::size_t most_named = 4;
  for (std::size_t i = 0; i < std::min(slow.size(), most_named); ++i)
    text += (i > 0 ? "; " : "") + slow[i]->what + " (" + print_share(slow[i]->performance()) + ")";
  if (slow.size() > most_named) text += "; and " + std::to_string(slow.size() - most_named) + " more";
  return text + ".\n";
}

void write_evidence(JsonWriter& json, const std::vector<Evidence>& evidence) {
  json.begin_array();
  for (const Evidence& one : evidence) {
    json.begin_object();
    json.member("cause", name_of(one.cause));
    json.member("line", static_cast<std::int64_t>(one.line));
    json.member("text", one.text);
    json.end_object();
  }
  json.end_array();
}

const char* unit_name(ComparedFigure::Unit unit) {
  switch (unit) {
    case ComparedFigure::Unit::seconds:
      return "s";
    case ComparedFigure::Unit::bytes_per_second:
      return "B/s";
    case ComparedFigure::Unit::flop_per_second:
      return "FLOP/s";
  }
  return "";
}

void write_figures(JsonWriter& json, const std::vector<ComparedFigure>& figures) {
  json.begin_array();
  for (const ComparedFigure& figure : figures) {
    json.begin_object();
    json.member("what", figure.what);
    json.member("unit", unit_name(figure.unit));
    json.member("measured", figure.measured);
    json.member("expected", figure.expected);
    json.member("performance", figure.performance());
    json.end_object();
  }
  json.end_array();
}

void write_finding(JsonWriter& json, const Finding& finding) {
  json.begin_object();
  json.member("what", finding.what);
  json.member("performance", finding.performance);
  json.key("figures");
  write_figures(json, finding.figures);
  json.key("likely");
  const Suspect* likely = finding.likely();
  if (likely == nullptr) {
    json.null();
  } else {
    json.value(name_of(likely->cause));
  }
  json.key("suspects");
  json.begin_array();
  for (const Suspect& suspect : finding.suspects) {
    json.begin_object();
    json.member("cause", name_of(suspect.cause));
    json.member("meaning", meaning_of(suspect.cause));
    json.key("explained");
    json.begin_array();
    for (const double value : suspect.explained) json.value(value);
    json.end_array();
    json.member("factor", suspect.factor > 0 ? std::optional<double>(suspect.factor) : std::nullopt);
    json.key("evidence");
    write_evidence(json, suspect.evidence);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

}  // namespace

std::string print_figure(const ComparedFigure& figure, double value) {
  switch (figure.unit) {
    case ComparedFigure::Unit::seconds:
      return print_time(Seconds(value));
    case ComparedFigure::Unit::bytes_per_second:
      return print_rate(BytesPerSecond(value));
    case ComparedFigure::Unit::flop_per_second:
      return print_count(value) + "FLOP/s";
  }
  return "";
}

const Suspect* Finding::likely() const {
  if (suspects.empty()) return nullptr;
  const Suspect& first = suspects.front();
  const bool fits = first.factor > 0 && first.factor <= explains;
  return !first.evidence.empty() || fits ? &first : nullptr;
}

void add_suspects(Finding& finding, const Scenario& scenario, const Testimony& said,
                  const Explanation& explain) {
  for (const Hypothesis& hypothesis : hypotheses_of(scenario)) {
    if (said.refuted.contains(hypothesis.cause)) continue;
    Suspect suspect;
    suspect.cause = hypothesis.cause;
    try {
      suspect.explained = explain(hypothesis.scenario);
      suspect.factor = distance(finding.figures, suspect.explained);
    } catch (const ScenarioError&) {  // no such cluster can be built
      suspect.explained.clear();
    } catch (const std::invalid_argument&) {  // no way is left between some GPUs
      suspect.explained.clear();
    }
    for (const Evidence& one : said.evidence)
      if (one.cause == suspect.cause) suspect.evidence.push_back(one);
    const bool matters = suspect.factor > 0 && has_an_effect(finding.figures, suspect.explained);
    if (matters || !suspect.evidence.empty()) finding.suspects.push_back(std::move(suspect));
  }
  const auto order = [](const Suspect& suspect) {
    return std::pair(suspect.evidence.empty(),
                     suspect.factor > 0 ? suspect.factor : std::numeric_limits<double>::infinity());
  };
  std::stable_sort(finding.suspects.begin(), finding.suspects.end(),
                   [&](const Suspect& a, const Suspect& b) { return order(a) < order(b); });
}

std::string to_text(const Diagnosis& diagnosis) {
  using Align = TextTable::Align;
  TextTable table;
  table.add_column("", Align::left);
  table.add_column("what", Align::left);
  table.add_column("measured", Align::right);
  table.add_column("expected", Align::right);
  table.add_column("measured /\nexpected", Align::right);
  for (const ComparedFigure& figure : diagnosis.figures) {
    table.add_row({figure.performance() < faulty ? "!" : " ", figure.what,
                   print_figure(figure, figure.measured), print_figure(figure, figure.expected),
                   print_share(figure.performance())});
  }
  std::string text = diagnosis.file + " (" + diagnosis.kind + ") against " + diagnosis.hardware + "\n\n";
  if (diagnosis.figures.empty()) return text + testimony(diagnosis);
  text += table.text() + "\n";
  for (const Finding& finding : diagnosis.findings) {
    text += "- " + described(finding);
    const Suspect* likely = finding.likely();
    if (likely != nullptr) {
      text += "    Likely: " + described(*likely, finding);
      text += "      Look at: " + std::string(advice_for(likely->cause)) + ".\n";
    } else {
      text += "    None of the usual causes explains it.\n";
    }
    for (const Suspect& suspect : finding.suspects) {
      if (&suspect == likely) continue;
      const bool fits = !suspect.evidence.empty() || suspect.factor <= explains;
      text += (fits ? "    Also possible: " : "    Less likely: ") + described(suspect, finding);
    }
  }
  if (diagnosis.findings.empty()) {
    text += no_finding(diagnosis.figures);
    for (const Evidence& evidence : diagnosis.unexplained)
      text += "    Worth a look, though: " + described(evidence);
  }
  return text;
}

std::string to_json(const Diagnosis& diagnosis) {
  JsonWriter json;
  json.begin_object();
  json.member("schema", "stepcast.diagnosis/1");
  json.member("file", diagnosis.file);
  json.member("kind", diagnosis.kind);
  json.member("hardware", diagnosis.hardware);
  json.key("figures");
  write_figures(json, diagnosis.figures);
  json.key("findings");
  json.begin_array();
  for (const Finding& finding : diagnosis.findings) write_finding(json, finding);
  json.end_array();
  json.key("unexplained");
  write_evidence(json, diagnosis.unexplained);
  json.end_object();
  return json.text();
}

}  // namespace stepcast
