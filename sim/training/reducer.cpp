#include "sim/training/reducer.hpp"

#include <algorithm>
#include <cmath>

namespace stepcast {

std::vector<int> ready_order(StepContext& context) {
  std::vector<int> order;
  for (int layer = context.layer_count - 1; layer >= 0; --layer) {
    const int first = context.first_parameter[static_cast<std::size_t>(layer)];
    for (const BackwardSegment& segment : context.layers.backward_segments(layer)) {
      for (const int index : segment.ready) order.push_back(first + index);
    }
  }
  return order;
}

Reducer::Reducer(StepContext& context, Operation operation, int stream, int communicator)
    : context_(context),
      operation_(operation),
      stream_(stream),
      communicator_(communicator),
      gradient_bytes_(element_size(context.training.gradient_dtype)),
      wire_bytes_(element_size(context.training.reduce_dtype)),
      ready_order_(stepcast::ready_order(context)) {
  form_buckets();
}

void Reducer::form_buckets() {
  const TrainingSection& training = context_.training;
  std::vector<int> order = ready_order_;
  if (training.find_unused_parameters) {
    // Without a fixed graph the reducer never rebuilds: registration order, the list then reversed.
    std::sort(order.begin(), order.end());
  }
  // Limits count the parameter's type (facts 1.2), what travels the wire's.
  const double parameter_bytes = element_size(training.parameter_dtype);
  std::vector<BucketItem> items;
  for (const int parameter : order) {
    items.push_back({parameter_bytes * context_.parameters[static_cast<std::size_t>(parameter)].elements, 0});
  }
  buckets_ = reducer_buckets(items, training.first_bucket_size.value, training.bucket_size.value);
  if (training.find_unused_parameters) std::reverse(buckets_.begin(), buckets_.end());
  bucket_of_.assign(context_.parameters.size(), -1);
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    Bucket& bucket = buckets_[b];
    bucket.size *= wire_bytes_ / parameter_bytes;
    if (operation_ == Operation::reduce_scatter) {
      // Cut into equal slices, padded.
      bucket.size = std::ceil(bucket.size / wire_bytes_ / context_.world) * context_.world * wire_bytes_;
    }
    for (int& item : bucket.items) {
      item = order[static_cast<std::size_t>(item)];
      bucket_of_[static_cast<std::size_t>(item)] = static_cast<int>(b);
    }
  }
}

void Reducer::backward(bool synchronise) {
  if (!synchronise) {
    backward_pass(context_);
    return;
  }
  pending_.clear();
  for (const Bucket& bucket : buckets_) pending_.push_back(static_cast<int>(bucket.items.size()));
  next_bucket_ = 0;
  launched_.clear();
  backward_pass(context_, [&](int parameter) {
    const auto place = static_cast<std::size_t>(parameter);
    ready_elements_ += context_.parameters[place].elements;
    ++ready_tensors_;
    --pending_[static_cast<std::size_t>(bucket_of_[place])];
    launch_complete_buckets();
  });
  copy_into_buckets();
}

void Reducer::copy_into_buckets() {
  const auto& measured = context_.model.measured;
  if (measured && !is_own_trainer(context_.training)) {
    // Half of the measured bucketing time goes in, half comes out again, unless gradients stay in the
    // buckets.
    const double share = context_.training.gradient_as_bucket_view ? 1.0 : 0.5;
    const Seconds time = share * ready_elements_ / context_.total_elements * measured->bucketing_time;
    if (time.value > 0) {
      context_.builder.compute(TaskRole::copy, context_.builder.intern(measured_work("bucket", time)));
    }
  } else {
    // One kernel a parameter copies and scales.
    context_.builder.compute(
        TaskRole::copy, context_.copy_work("bucket", 2 * gradient_bytes_ * ready_elements_, ready_tensors_));
  }
  ready_elements_ = 0;
  ready_tensors_ = 0;
}

void Reducer::launch_complete_buckets() {
  while (next_bucket_ < buckets_.size() && pending_[next_bucket_] == 0) {
    copy_into_buckets();
    const Bucket& bucket = buckets_[next_bucket_];
    if (wire_bytes_ != gradient_bytes_) {
      // A compression hook casts the bucket.
      const double elements = bucket.size / wire_bytes_;
      context_.builder.compute(TaskRole::copy,
                               context_.copy_work("compress", (gradient_bytes_ + wire_bytes_) * elements, 1));
    }
    launched_.push_back(context_.builder.collective(stream_, communicator_, operation_, Bytes(bucket.size),
                                                    {context_.builder.event()},
                                                    "bucket " + std::to_string(next_bucket_)));
    ++next_bucket_;
  }
}

void Reducer::wait_for_buckets() {
  // Futures are waited for in order, and each bucket is copied back before the next is waited for
  // (facts 1.3).
  for (std::size_t i = 0; i < launched_.size(); ++i) {
    context_.builder.wait(launched_[i]);
    const double elements = buckets_[i].size / wire_bytes_;
    if (wire_bytes_ != gradient_bytes_) {
      context_.builder.compute(
          TaskRole::copy, context_.copy_work("decompress", (gradient_bytes_ + wire_bytes_) * elements, 1));
    }
    copy_back(elements, static_cast<int>(buckets_[i].items.size()));
  }
}

void Reducer::copy_back(double elements, int tensors) {
  if (context_.training.gradient_as_bucket_view || operation_ != Operation::all_reduce) return;
  if (is_own_trainer(context_.training)) {
    tensors = 1;  // gradients lie as their bucket does
  } else if (const auto& measured = context_.model.measured) {
    const Seconds time = 0.5 * elements / context_.total_elements * measured->bucketing_time;
    if (time.value > 0) {
      context_.builder.compute(TaskRole::copy, context_.builder.intern(measured_work("copy back", time)));
    }
    return;
  }
  context_.builder.compute(TaskRole::copy,
                           context_.copy_work("copy back", 2 * gradient_bytes_ * elements, tensors));
}

}  // namespace stepcast
