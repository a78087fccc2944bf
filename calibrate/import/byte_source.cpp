#include "calibrate/import/byte_source.hpp"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/diagnostic.hpp"
#include "base/document.hpp"

namespace stepcast {
namespace {

constexpr std::size_t buffer_size = std::size_t{64} * 1024;

}  // namespace

class ByteSource::Inflater {
 public:
  Inflater() {
    constexpr int gzip_header = 16;
    STEPCAST_CHECK(inflateInit2(&stream, gzip_header + MAX_WBITS) == Z_OK, "zlib refuses to start");
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() { inflateEnd(&stream); }

  z_stream stream{};
  bool between_members{};
};

ByteSource::ByteSource(std::istream& from) : from_(from), buffer_(buffer_size) {}
ByteSource::~ByteSource() = default;

std::size_t ByteSource::fill() {
  // Two bytes are looked at together, so a short first read must not end with one of them.
  std::size_t kept = end_ - next_;
  std::memmove(buffer_.data(), buffer_.data() + next_, kept);
  next_ = 0;
  while (kept < 2 && from_.good()) {
    from_.read(buffer_.data() + kept, static_cast<std::streamsize>(buffer_.size() - kept));
    const auto got = static_cast<std::size_t>(from_.gcount());
    kept += got;
    if (got == 0) break;
  }
  end_ = kept;
  return kept;
}

std::size_t ByteSource::read(char* into, std::size_t most) {
  if (!started_) {
    started_ = true;
    fill();
    if (end_ >= 2 && buffer_[0] == '\x1f' && buffer_[1] == '\x8b') inflater_ = std::make_unique<Inflater>();
  }
  const std::size_t got = inflater_ ? read_inflated(into, most) : read_plain(into, most);
  position_ += got;
  return got;
}

std::size_t ByteSource::read_plain(char* into, std::size_t most) {
  if (next_ == end_ && fill() == 0) return 0;
  const std::size_t got = std::min(most, end_ - next_);
  std::memcpy(into, buffer_.data() + next_, got);
  next_ += got;
  return got;
}

std::size_t ByteSource::read_inflated(char* into, std::size_t most) {
  z_stream& stream = inflater_->stream;
  stream.next_out = reinterpret_cast<Bytef*>(into);
  stream.avail_out = static_cast<uInt>(std::min<std::size_t>(most, 1U << 30U));
  const std::size_t wanted = stream.avail_out;
  while (stream.avail_out > 0 && damage_.empty()) {
    if (end_ - next_ < 2) fill();
    if (next_ == end_) {
      if (!inflater_->between_members) damage_ = "the gzip stream is cut off";
      break;
    }
    if (inflater_->between_members) {
      // What follows a member is another one, or padding that gzip ignores, too.
      if (end_ - next_ < 2 || buffer_[next_] != '\x1f' || buffer_[next_ + 1] != '\x8b') break;
      inflateReset(&stream);
      inflater_->between_members = false;
    }
    stream.next_in = reinterpret_cast<Bytef*>(buffer_.data() + next_);
    stream.avail_in = static_cast<uInt>(end_ - next_);
    const int state = inflate(&stream, Z_NO_FLUSH);
    next_ = end_ - stream.avail_in;
    if (state == Z_STREAM_END) {
      inflater_->between_members = true;
    } else if (state != Z_OK && state != Z_BUF_ERROR) {
      damage_ = "the gzip stream is damaged" +
                (stream.msg != nullptr ? " (" + std::string(stream.msg) + ")" : std::string());
    }
  }
  return wanted - stream.avail_out;
}

std::string read_inflated(const std::string& file) {
  SourcePlace place;
  place.file = file;
  place.line = place.column = 1;
  std::ifstream stream(file, std::ios::binary);
  if (!stream || std::filesystem::is_directory(file)) return read_file(file);  // which says why it can't
  ByteSource source(stream);
  std::string text;
  std::vector<char> part(buffer_size);
  while (const std::size_t got = source.read(part.data(), part.size())) text.append(part.data(), got);
  if (!source.damage().empty())
    throw ScenarioError(Diagnostic{
        place, source.damage() + " after " + std::to_string(text.size()) + " bytes", "copy the file again"});
  return text;
}

}  // namespace stepcast
