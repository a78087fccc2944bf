#include "cli/import_workload.hpp"

#include <charconv>
#include <iostream>

#include "calibrate/import/trace_workload.hpp"
#include "cli/files.hpp"
#include "cli/trace_file.hpp"

namespace stepcast {

ExitCode import_workload(const ParsedOptions& options) {
  if (options.positionals.size() != 1)
    throw usage_error("import: a workload comes of one trace",
                      "stepcast import TRACE.json.gz --as workload --out w.toml");
  const std::string& file = options.positionals.front();
  const auto out = options.value("--out");
  if (out) require_writable(*out, "--out");
  std::optional<std::int64_t> samples;
  if (const auto text = options.value("--samples")) {
    std::int64_t count = 0;
    const auto [end, fault] = std::from_chars(text->data(), text->data() + text->size(), count);
    if (fault != std::errc() || end != text->data() + text->size() || count < 1)
      throw usage_error("import: --samples \"" + *text + "\" is no count above 0",
                        "for example --samples 32");
    samples = count;
  }
  const TraceWorkload workload = workload_of(read_trace_file(file), file, samples);
  std::cerr << workload.layers << " layers, means of " << workload.micro_batches << " micro-batches\n";
  for (const std::string& note : workload.notes) std::cerr << "note: " << note << "\n";
  if (out) {
    write_atomically(*out, workload.toml);
  } else {
    std::cout << workload.toml;
  }
  return ExitCode::done;
}

}  // namespace stepcast
