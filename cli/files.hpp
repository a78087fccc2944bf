#pragma once

#include <string>
#include <string_view>

namespace stepcast {

/// Throws ScenarioError (place: the path as given) when a file of this name could not be written, so that
/// minutes of work are not lost over a misspelt folder. `option` names where the path came from.
void require_writable(const std::string& path, const std::string& option);

/// Writes a new file beside `path` and renames it, so that readers see the old text or the new one, never a
/// part. What exists and is no regular file (a pipe, /dev/null) is written in place.
/// @throws ScenarioError when it can't be written
void write_atomically(const std::string& path, std::string_view text);

}  // namespace stepcast
