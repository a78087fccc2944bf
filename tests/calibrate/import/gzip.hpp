#pragma once

#include <zlib.h>

#include <string>

namespace stepcast {

/// `text` as one gzip member.
inline std::string gzipped(const std::string& text) {
  z_stream stream{};
  constexpr int gzip_header = 16, memory_level = 8;
  deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_header + MAX_WBITS, memory_level,
               Z_DEFAULT_STRATEGY);
  std::string made(deflateBound(&stream, text.size()) + 64, '\0');
  std::string input = text;  // zlib's pointer is not const
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(made.data());
  stream.avail_out = static_cast<uInt>(made.size());
  deflate(&stream, Z_FINISH);
  made.resize(stream.total_out);
  deflateEnd(&stream);
  return made;
}

}  // namespace stepcast
