#include "models/counting.hpp"

namespace stepcast::counting {
namespace {

Traffic traffic(double elements, int kernels) {
  Traffic t;
  t.elements = elements;
  t.kernels = kernels;
  return t;
}

Traffic traffic(double elements, double fp32_elements, double bytes, int kernels) {
  Traffic t;
  t.elements = elements;
  t.fp32_elements = fp32_elements;
  t.bytes = bytes;
  t.kernels = kernels;
  return t;
}

Counted layer_norm(double n, double tokens, int readers, bool joins) {
  Counted counted;
  const int sums = readers - 1;
  // Forward: read x, write y, two fp32 statistics a row. Backward: read dy and x, write dx; read dy and x
  // again for the gradients of weight and bias (a partial and a final kernel).
  counted.work.eager_forward = traffic(2 * n, 2 * tokens, 0, 1);
  counted.work.eager_backward = traffic(5 * n + 3 * n * sums, 2 * tokens, 0, 3 + sums);
  counted.work.fused_forward = counted.work.eager_forward;
  counted.work.fused_backward = traffic(5 * n + n * sums + (joins ? n : 0), 2 * tokens, 0, 2);
  counted.eager = counted.fused = {n, 8 * tokens};
  return counted;
}

Counted rms_norm(double n, double tokens, int readers, bool joins, bool unit_offset) {
  Counted counted;
  const int sums = readers - 1;
  if (unit_offset) {
    // Cast (read 1, write fp32), square 2, mean 1, scale 2, (1 + weight) 2, cast back (read fp32, write 1).
    counted.work.eager_forward = traffic(2 * n, 9 * n, 0, 9);
    counted.work.eager_backward = traffic(2 * n + 3 * n * sums, 21 * n, 0, 16 + sums);
    counted.eager = {n, 8 * n + 4 * tokens};  // fp32 input and fp32 normed are kept beside the result
  } else {
    // Cast (1 | 1), square 2, mean 1, scale 2, cast back (1 | 1), weight 2; elements before fp32 elements.
    counted.work.eager_forward = traffic(4 * n, 7 * n, 0, 8);
    // Weight: gradient of x 2, product with the normed values 3, column sum 1; casts (1 | 1) twice; scale: 2,
    // and 4 for the row statistics; square 4; sum of the two ways 3.
    counted.work.eager_backward = traffic(8 * n + 3 * n * sums, 15 * n, 0, 15 + sums);
    counted.eager = {2 * n, 4 * n + 4 * tokens};  // fp32 input; normed values in the compute type; the result
  }
  counted.work.fused_forward = traffic(2 * n, tokens, 0, 1);
  counted.work.fused_backward = traffic(5 * n + n * sums + (joins ? n : 0), tokens, 0, 2);
  counted.fused = {n, 4 * tokens};
  return counted;
}

}  // namespace

Counted norm(const TransformerArchitecture& shape, double n, double tokens, int readers, bool joins) {
  return shape.norm == NormKind::layer_norm ? layer_norm(n, tokens, readers, joins)
                                            : rms_norm(n, tokens, readers, joins, shape.unit_offset_norm);
}

Counted head_norm(double n, double heads) {
  Counted counted = rms_norm(n, heads, 1, false, false);
  counted.work.eager_forward.kernels *= 2;  // queries and keys apart
  counted.work.eager_backward.kernels *= 2;
  counted.eager.elements = n;  // the result goes into the rotation, which keeps nothing; normed values stay
  counted.fused.elements = n;  // its input, for the gradient
  return counted;
}

Counted residual(double n, bool dropout, int addends, int joins) {
  Counted counted;
  // An addition reads two and writes one; dropout reads and writes one and writes (backward: reads) a byte
  // mask.
  const double mask = dropout ? n : 0;
  const int drop = dropout ? 1 : 0;
  counted.work.eager_forward = traffic(3 * n * addends + 2 * n * drop, 0, mask, addends + drop);
  counted.work.eager_backward = traffic(3 * n * joins + 2 * n * drop, 0, mask, joins + drop);
  counted.work.fused_forward = traffic((2 + addends) * n, 0, mask, 1);
  counted.work.fused_backward = traffic(2 * n * drop, 0, mask, drop);
  counted.eager = counted.fused = {n, mask};
  return counted;
}

Counted rotary(double n) {
  Counted counted;
  // Forward: x cos 2, -half 1, cat 2, sin 2, sum 3. Backward: two products 4, neg 1, two slices sent back as
  // zero-filled tensors (1 + 1) each, and the three gradients added 6.
  counted.work.eager_forward = traffic(10 * n, 10);
  counted.work.eager_backward = traffic(15 * n, 18);
  counted.work.fused_forward = counted.work.fused_backward = traffic(2 * n, 1);
  counted.eager = counted.fused = {n, 0};
  return counted;
}

Counted repeat_key_values(double kept, double repeated) {
  Counted counted;
  counted.work.eager_forward = counted.work.eager_backward = traffic(kept + repeated, 2);
  counted.eager = {repeated - kept, 0};  // keys and values before repetition are counted where they are made
  return counted;
}

Counted activation(Activation, double n) {
  Counted counted;
  counted.work.eager_forward = counted.work.fused_forward = traffic(2 * n, 1);
  counted.work.eager_backward = counted.work.fused_backward = traffic(3 * n, 1);
  counted.eager = counted.fused = {n, 0};
  return counted;
}

Counted gated_activation(double n) {
  Counted counted;
  // Forward: act(gate) 2, product 3. Backward: product 3 + 3, act 3. Fused: read two, write one; back: 3
  // and 2.
  counted.work.eager_forward = traffic(5 * n, 2);
  counted.work.eager_backward = traffic(9 * n, 3);
  counted.work.fused_forward = traffic(3 * n, 1);
  counted.work.fused_backward = traffic(5 * n, 1);
  counted.eager = {2 * n, 0};
  counted.fused = {n, 0};
  return counted;
}

Counted bias(double n) {
  Counted counted;
  counted.work.eager_backward = counted.work.fused_backward = traffic(n, 1);
  return counted;
}

Counted dropout(double n) {
  Counted counted;
  counted.work.eager_forward = counted.work.eager_backward = traffic(2 * n, 0, n, 1);
  counted.work.fused_forward = counted.work.fused_backward = counted.work.eager_forward;
  counted.eager = counted.fused = {n, n};
  return counted;
}

Counted relative_bias(double n) {
  Counted counted;
  // Look-up and transposition: written, read and written; one bias serves all samples.
  counted.work.eager_forward.micro_batch_elements = 3 * n;
  counted.work.eager_forward.kernels = 3;
  counted.work.fused_forward.micro_batch_elements = n;
  counted.work.fused_forward.kernels = 1;
  counted.work.eager_backward = counted.work.fused_backward = traffic(n, 2);
  return counted;
}

Counted embedding(double n, double tokens, double table_elements) {
  Counted counted;
  counted.work.eager_forward = traffic(2 * n, 0, 8 * tokens, 1);
  counted.work.eager_backward = traffic(3 * n, 0, 8 * tokens, 3);
  counted.work.eager_backward.micro_batch_elements = table_elements;
  counted.work.fused_forward = counted.work.eager_forward;
  counted.work.fused_backward = counted.work.eager_backward;
  counted.eager = counted.fused = {n, 8 * tokens};
  return counted;
}

Counted added_embedding(double n) {
  Counted counted;
  counted.work.eager_forward = traffic(3 * n, 2);
  counted.work.eager_backward = traffic(n, 2);
  counted.work.fused_forward = traffic(n, 1);
  counted.work.fused_backward = traffic(n, 1);
  counted.eager = counted.fused = {n, 0};
  return counted;
}

Counted scale(double n) {
  Counted counted;
  counted.work.eager_forward = counted.work.eager_backward = traffic(2 * n, 1);
  counted.eager = counted.fused = {n, 0};
  return counted;
}

Counted cross_entropy(double n, double tokens) {
  Counted counted;
  // Cast (1 | 1), log_softmax 2 fp32; back: zero fill 1, log_softmax 3, cast (1 | 1).
  counted.work.eager_forward = traffic(n, 3 * n, 8 * tokens, 4);
  counted.work.eager_backward = traffic(n, 5 * n, 8 * tokens, 4);
  // A pass for the row maximum, one for the sum; back: read logits, write the gradient.
  counted.work.fused_forward = traffic(2 * n, tokens, 8 * tokens, 2);
  counted.work.fused_backward = traffic(2 * n, tokens, 8 * tokens, 1);
  counted.eager = {0, 4 * n};  // log-probabilities; the logits are counted at their product
  counted.fused = {0, 8 * tokens};
  return counted;
}

Counted softcap(double n) {
  Counted counted;
  counted.work.eager_forward = traffic(6 * n, 3);
  counted.work.eager_backward = traffic(7 * n, 3);
  counted.work.fused_forward = traffic(2 * n, 1);
  counted.work.fused_backward = traffic(3 * n, 1);
  counted.eager = {n, 0};
  return counted;
}

Counted permute(double tokens, double routed, double hidden, double experts) {
  Counted counted;
  const double n = routed * hidden;
  const double scores = tokens * experts;
  const double index = 16 * routed;
  const int count = static_cast<int>(experts);
  // Router: cast (1 | 1), softmax 2, top-k 1, all on tokens * experts scores.
  counted.work.eager_forward = traffic(2 * n + scores, 4 * scores, index, 5 + 2 * count);
  // An expert's rows come back as rows read and added into a zero-filled gradient of all tokens (1), which is
  // added to the others' (3).
  counted.work.eager_backward =
      traffic(3 * n + 4 * experts * tokens * hidden + scores, 5 * scores, index, 4 + 3 * count);
  counted.work.fused_forward = traffic(2 * n + scores, 3 * scores, index, 4);
  counted.work.fused_backward = traffic(n + tokens * hidden + scores, 3 * scores, index, 3);
  counted.eager = counted.fused = {n, 4 * scores + index};
  return counted;
}

Counted unpermute(double tokens, double routed, double hidden, double experts) {
  Counted counted;
  const double n = routed * hidden;
  const int count = static_cast<int>(experts);
  // Scale 2, index_add 3 (read, and read and write the sum), zero fill. Back: pick 2, scale 2, weight
  // gradient 4.
  counted.work.eager_forward = traffic(5 * n + tokens * hidden, 1 + 2 * count);
  counted.work.eager_backward = traffic(8 * n, 6 * count);
  counted.work.fused_forward = traffic(n + tokens * hidden, 1);
  counted.work.fused_backward = traffic(3 * n, 1);
  return counted;
}

Counted batch_norm(double n, bool relu) {
  Counted counted;
  // Forward: a pass for the statistics, then read and write; ReLU in place 2. Backward: read dy and x for the
  // sums, then read both and write dx; ReLU 3. The eager third kernel counts the batches.
  counted.work.eager_forward = traffic(relu ? 5 * n : 3 * n, relu ? 3 : 2);
  counted.work.eager_backward = traffic(relu ? 8 * n : 5 * n, relu ? 2 : 1);
  counted.work.fused_forward = traffic(3 * n, 1);
  counted.work.fused_backward = traffic(5 * n, 1);
  if (relu) counted.eager = counted.fused = {n, 0};
  return counted;
}

Counted add_relu(double n) {
  Counted counted;
  // Sum 3, ReLU in place 2; back: ReLU 3, and the two gradients that meet at the block's input 3. Fused: the
  // sum and ReLU are the batch norm's last write, which reads the other branch and is written again here.
  counted.work.eager_forward = traffic(5 * n, 2);
  counted.work.eager_backward = traffic(6 * n, 2);
  counted.work.fused_forward = traffic(3 * n, 1);
  counted.work.fused_backward = traffic(3 * n, 1);
  counted.eager = counted.fused = {n, 0};
  return counted;
}

Counted max_pool(double in, double out) {
  Counted counted;
  counted.work.eager_forward = counted.work.fused_forward = traffic(in + out, 0, 8 * out, 1);
  counted.work.eager_backward = counted.work.fused_backward = traffic(in + 2 * out, 0, 8 * out, 2);
  counted.eager = counted.fused = {out, 8 * out};
  return counted;
}

Counted average_pool(double in, double out) {
  Counted counted;
  counted.work.eager_forward = counted.work.fused_forward = traffic(in + out, 1);
  counted.work.eager_backward = counted.work.fused_backward = traffic(in + out, 1);
  counted.eager = counted.fused = {out, 0};
  return counted;
}

}  // namespace stepcast::counting
