#include "calibrate/host/ring.hpp"

#include <gloo/context.h>
#include <gloo/transport/unbound_buffer.h>
#include <gloo/types.h>

#include <algorithm>

namespace stepcast {
namespace {

constexpr std::int64_t most_in_segment = (std::int64_t{1} << 20) / 4;  // 1 MiB, Gloo's own segments
constexpr std::int64_t under_way = 2;
// A slot is free again when its partial sum has been passed on, two messages after it came.
constexpr std::int64_t slots = 2 * under_way;
constexpr std::uint8_t slot_prefix = 0x40;  // Gloo's collectives have 0x01 to 0x08

constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// A share goes in segments; two of them go all the way round before the next two begin.
class Segments {
 public:
  struct Message {
    std::int64_t step, offset, length;
  };
  Segments(std::int64_t share, std::int64_t steps)
      : share_(share),
        steps_(steps),
        length_(std::min(divide_up(share, under_way), most_in_segment)),
        count_(divide_up(divide_up(share, length_), under_way) * under_way * steps) {}

  [[nodiscard]] std::int64_t length() const { return length_; }
  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] Message operator[](std::int64_t i) const {
    const std::int64_t group = i / (under_way * steps_), inside = i % (under_way * steps_);
    const std::int64_t offset = (group * under_way + inside % under_way) * length_;
    return {inside / under_way, offset, std::clamp(share_ - offset, std::int64_t{0}, length_)};
  }

 private:
  std::int64_t share_, steps_, length_, count_;
};

std::size_t bytes(std::int64_t floats) { return static_cast<std::size_t>(floats) * sizeof(float); }

}  // namespace

Ring::Ring(std::shared_ptr<gloo::Context> context)
    : context_(std::move(context)), scratch_(static_cast<std::size_t>(slots * most_in_segment)) {}

void Ring::all_gather(float* output, std::int64_t share, std::uint32_t tag) {
  if (share == 0) return;
  const std::int64_t ranks = context_->size, rank = context_->rank, steps = ranks - 1;
  const Segments segments(share, steps);
  const auto slot = gloo::Slot::build(slot_prefix, tag);
  const int next = static_cast<int>((rank + 1) % ranks), previous = static_cast<int>((rank + steps) % ranks);
  const auto buffer = context_->createUnboundBuffer(output, bytes(ranks * share));
  const auto place = [&](std::int64_t owner, const Segments::Message& m) {
    return bytes((owner + ranks) % ranks * share + m.offset);
  };
  for (std::int64_t i = 0; i < segments.count() + under_way; ++i) {
    if (const std::int64_t done = i - under_way; done >= 0 && segments[done].length > 0) {
      buffer->waitRecv();
      buffer->waitSend();
    }
    if (i < segments.count()) {
      const Segments::Message m = segments[i];
      if (m.length == 0) continue;
      buffer->recv(previous, slot, place(rank - m.step - 1, m), bytes(m.length));
      buffer->send(next, slot, place(rank - m.step, m), bytes(m.length));
    }
  }
}

void Ring::reduce_scatter(const float* input, float* output, std::int64_t share, std::uint32_t tag,
                          SumKernel sum) {
  if (share == 0) return;
  const std::int64_t ranks = context_->size, rank = context_->rank, steps = ranks - 1;
  const Segments segments(share, steps);
  const auto slot = gloo::Slot::build(slot_prefix, tag);
  const int next = static_cast<int>((rank + 1) % ranks), previous = static_cast<int>((rank + steps) % ranks);
  // Only read.
  const auto source = context_->createUnboundBuffer(const_cast<float*>(input), bytes(ranks * share));
  const auto partial = context_->createUnboundBuffer(scratch_.data(), bytes(slots * segments.length()));

  const auto slot_of = [&](std::int64_t i) { return i % slots * segments.length(); };

  for (std::int64_t i = 0; i < segments.count() + under_way; ++i) {
    if (const std::int64_t done = i - under_way; done >= 0) {
      const Segments::Message m = segments[done];
      if (m.length > 0) {
        partial->waitRecv();
        const std::int64_t owner = (rank + 2 * ranks - m.step - 2) % ranks;
        float* const mine = scratch_.data() + slot_of(done);
        sum(mine, input + owner * share + m.offset, m.step == steps - 1 ? output + m.offset : mine, m.length);
        (m.step == 0 ? source : partial)->waitSend();
      }
    }
    if (i < segments.count()) {
      const Segments::Message m = segments[i];
      if (m.length == 0) continue;
      partial->recv(previous, slot, bytes(slot_of(i)), bytes(m.length));
      if (m.step == 0) {
        source->send(next, slot, bytes((rank + steps) % ranks * share + m.offset), bytes(m.length));
      } else {
        partial->send(next, slot, bytes(slot_of(i - under_way)), bytes(m.length));
      }
    }
  }
}

}  // namespace stepcast
