# Writes one .cpp that holds FILES (separated by commas) as text; see stepcast_embed.
string(REPLACE "," ";" files "${FILES}")
set(body "#include \"base/embedded.hpp\"\n\nnamespace stepcast {\nnamespace {\n")
string(APPEND body "constexpr EmbeddedFile files[] = {\n")
foreach(file ${files})
  file(READ ${file} text)
  get_filename_component(name ${file} NAME_WLE)
  # A string literal may hold at most 64 KiB by the standard; g++ takes more, and no file here comes near it.
  string(APPEND body "    {\"${name}\", R\"embedded(${text})embedded\"},\n")
endforeach()
string(APPEND body "};\n}  // namespace\n\n")
string(APPEND body "std::span<const EmbeddedFile> ${FUNCTION}();\n")
string(APPEND body "std::span<const EmbeddedFile> ${FUNCTION}() { return files; }\n\n}  // namespace stepcast\n")
file(WRITE ${OUTPUT} "${body}")
