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

}  // namespace

RingReduceScatter::RingReduceScatter(std::shared_ptr<gloo::Context> context)
    : context_(std::move(context)), scratch_(static_cast<std::size_t>(slots * most_in_segment)) {}

void RingReduceScatter::run(const float* input, float* output, std::int64_t share, std::uint32_t tag,
                            SumKernel sum) {
  if (share == 0) return;
  const std::int64_t ranks = context_->size, rank = context_->rank, steps = ranks - 1;
  const std::int64_t segment = std::min(divide_up(share, under_way), most_in_segment);
  const std::int64_t groups = divide_up(divide_up(share, segment), under_way);
  const std::int64_t messages = groups * under_way * steps;
  const auto slot = gloo::Slot::build(slot_prefix, tag);
  const int next = static_cast<int>((rank + 1) % ranks), previous = static_cast<int>((rank + steps) % ranks);
  const auto bytes = [](std::int64_t floats) { return static_cast<std::size_t>(floats) * sizeof(float); };
  // Only read.
  const auto source = context_->createUnboundBuffer(const_cast<float*>(input), bytes(ranks * share));
  const auto partial = context_->createUnboundBuffer(scratch_.data(), bytes(slots * segment));

  // Two segments go all the way round before the next two begin.
  struct Message {
    std::int64_t step, offset, length;
  };
  const auto message = [&](std::int64_t i) {
    const std::int64_t group = i / (under_way * steps), inside = i % (under_way * steps);
    const std::int64_t offset = (group * under_way + inside % under_way) * segment;
    return Message{inside / under_way, offset, std::clamp(share - offset, std::int64_t{0}, segment)};
  };
  const auto slot_of = [&](std::int64_t i) { return i % slots * segment; };

  for (std::int64_t i = 0; i < messages + under_way; ++i) {
    if (const std::int64_t done = i - under_way; done >= 0) {
      const Message m = message(done);
      if (m.length > 0) {
        partial->waitRecv();
        const std::int64_t owner = (rank + 2 * ranks - m.step - 2) % ranks;
        float* const mine = scratch_.data() + slot_of(done);
        sum(mine, input + owner * share + m.offset, m.step == steps - 1 ? output + m.offset : mine, m.length);
        (m.step == 0 ? source : partial)->waitSend();
      }
    }
    if (i < messages) {
      const Message m = message(i);
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
