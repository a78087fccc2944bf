#pragma once

#include "models/architecture.hpp"
#include "models/model.hpp"

namespace stepcast::counting {

/// The counting rule. A kernel reads each of its tensor operands once and writes each result once; what is
/// small beside them (weights of a norm, statistics, rotary tables) is left out of traffic unless named.
/// `eager` is PyTorch with Hugging Face's modules, one kernel an operation; `fused` is a compiler's or
/// Megatron's element-wise fusion: a chain of element-wise operations is one kernel. `n` counts elements of
/// the tensor for one sample, `tokens` its rows. docs/models.md has the table.

/// What an operator moves and what it keeps, its own results only.
struct Counted {
  MemoryWork work;
  SavedActivations eager, fused;
};

/// Layer or RMS norm. `readers`: how many operators consume the result and send back a gradient; eager adds
/// them up one by one. The fused backward also adds the residual's gradient (the join), so `residual` has
/// none of its own. RMS norm in eager mode is a chain in fp32 (cast, square, mean, scale, cast, weight).
[[nodiscard]] Counted norm(const TransformerArchitecture& shape, double n, double tokens, int readers,
                           bool joins);
/// RMS norm of every head of queries and keys: as `norm`, without a join; the fused form keeps its input.
[[nodiscard]] Counted head_norm(double n, double heads);
/// x + dropout(f(x)) of `addends` summands beside x; the eager backward runs an addition for each of the
/// `joins` where another gradient meets the residual's at x.
[[nodiscard]] Counted residual(double n, bool dropout, int addends = 1, int joins = 1);
/// Rotation of queries and keys (n elements together): mul, rotate_half (neg, cat), mul, add.
[[nodiscard]] Counted rotary(double n);
/// Eager only: keys and values repeated up to the number of query heads.
[[nodiscard]] Counted repeat_key_values(double kept, double repeated);
[[nodiscard]] Counted activation(Activation kind, double n);
/// act(gate) * up.
[[nodiscard]] Counted gated_activation(double n);
/// Gradient of a bias: a column sum over the gradient of the product's result.
[[nodiscard]] Counted bias(double n);
[[nodiscard]] Counted dropout(double n);
/// T5's bias on n scores (heads * length^2), made once a micro-batch and added to the scores by the attention
/// core; its gradient is summed over the batch.
[[nodiscard]] Counted relative_bias(double n);
/// Rows picked out of a table of `table_elements`; backward fills the table's whole gradient and adds rows
/// into it.
[[nodiscard]] Counted embedding(double n, double tokens, double table_elements);
/// Adds a second embedding (positions, token types); backward sums its gradient over the batch.
[[nodiscard]] Counted added_embedding(double n);
[[nodiscard]] Counted scale(double n);
/// Mean cross entropy over n logits of `tokens` tokens. Eager: cast to fp32, log_softmax, nll_loss, and their
/// gradients.
[[nodiscard]] Counted cross_entropy(double n, double tokens);
/// cap * tanh(logits / cap).
[[nodiscard]] Counted softcap(double n);

/// Router probabilities (softmax in fp32, top-k), then rows picked out by expert: `routed` = tokens * top-k
/// rows of `hidden` elements. Eager (Hugging Face's loop over experts) sends back one full-size gradient an
/// expert and adds them up; the fused form sorts once.
[[nodiscard]] Counted permute(double tokens, double routed, double hidden, double experts);
/// Weighted sum of the experts' results back into token order.
[[nodiscard]] Counted unpermute(double tokens, double routed, double hidden, double experts);

/// Batch norm followed by ReLU (or not), n elements of a convolution's result.
[[nodiscard]] Counted batch_norm(double n, bool relu);
/// ReLU(a + b) in a residual block.
[[nodiscard]] Counted add_relu(double n);
[[nodiscard]] Counted max_pool(double in, double out);
[[nodiscard]] Counted average_pool(double in, double out);

}  // namespace stepcast::counting
