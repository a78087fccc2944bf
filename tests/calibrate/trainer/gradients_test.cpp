#include <gtest/gtest.h>

#include <cmath>

#include "base/hash.hpp"
#include "calibrate/launch/lone_meeting.hpp"
#include "calibrate/trainer/device_memory.hpp"
#include "calibrate/trainer/network.hpp"
#include "sim/training/reducer.hpp"
#include "small_models.hpp"
#include "team.hpp"

namespace stepcast {
namespace {

/// The whole model on one rank: its loss for given weights, and its gradients.
class Probe {
 public:
  explicit Probe(const Model& model)
      : model_(model),
        graph_(read_graph(model)),
        meeting_(meet_alone("none")),
        backend_(open_host_backend(*meeting_)),
        memory_(backend_->device()) {
    for (std::size_t p = 0; p < graph_.parameters.size(); ++p) {
      const TrainedParameter& parameter = graph_.parameters[p];
      values_.push_back(starting_values(parameter, static_cast<int>(p), 7));
      // Biases and norms away from zero and one, so that nothing hides behind them.
      for (std::size_t i = 0; i < values_[p].size(); ++i) {
        values_[p][i] += 0.1F * std::sin(static_cast<float>(i + 3 * p));
      }
      views_.weights.push_back(memory_.take(parameter.count, Dtype::fp32));
      views_.gradients.push_back(memory_.take(parameter.count, Dtype::fp32));
    }
  }

  double loss(bool backward) {
    for (std::size_t p = 0; p < values_.size(); ++p) {
      backend_->device().upload(views_.weights[p], values_[p].data());
    }
    views_.fresh.assign(values_.size(), 1);
    const BatchPlace place{0, 1, 3, 1};
    const auto network = computed_network(graph_, backend_->device(), Dtype::fp32, place, views_, 5, 1);
    network->begin(0, 0);
    const int layers = static_cast<int>(model_.layers.size());
    for (int layer = 0; layer < layers; ++layer) network->forward(layer);
    for (int layer = layers; backward && layer-- > 0;) {
      network->backward(layer, [&](int parameter) { ready_.push_back(parameter); });
    }
    return network->loss(0);
  }

  std::vector<float> gradient(std::size_t parameter) {
    std::vector<float> values(values_[parameter].size());
    backend_->device().download(views_.gradients[parameter], values.data());
    return values;
  }

  /// Derivative of the loss when the parameter moves along `direction`, by central differences.
  double derivative(std::size_t parameter, const std::vector<float>& direction, double step) {
    const std::vector<float> start = values_[parameter];
    const auto moved = [&](double by) {
      for (std::size_t i = 0; i < start.size(); ++i) {
        values_[parameter][i] = start[i] + static_cast<float>(by) * direction[i];
      }
      return loss(false);
    };
    const double difference = moved(step) - moved(-step);
    values_[parameter] = start;
    return difference / (2 * step);
  }

  const Graph& graph() const { return graph_; }
  const std::vector<int>& ready() const { return ready_; }

 private:
  Model model_;
  Graph graph_;
  std::unique_ptr<Meeting> meeting_;
  std::unique_ptr<Backend> backend_;
  DeviceMemory memory_;
  ParameterViews views_;
  std::vector<std::vector<float>> values_;
  std::vector<int> ready_;
};

double length_of(const std::vector<float>& vector) {
  double sum = 0;
  for (const float x : vector) sum += static_cast<double>(x) * x;
  return std::sqrt(sum);
}

/// Every parameter tensor moves along two random halves of its gradient: there the slope is the half's
/// length. The loss is about 3 with a rounding error of some 1e-7; steps that change it by 0.001 leave errors
/// of 1e-3 by rounding and of a few thousandths by curvature and ReLU's kinks, hence 2 %.
void expect_gradients_as_finite_differences(const Model& model) {
  Probe probe(model);
  (void)probe.loss(true);
  std::vector<std::vector<float>> gradients;
  for (std::size_t p = 0; p < probe.graph().parameters.size(); ++p) gradients.push_back(probe.gradient(p));
  for (std::size_t p = 0; p < gradients.size(); ++p) {
    for (const std::uint64_t half : {0, 1}) {
      std::vector<float> direction = gradients[p];
      for (std::size_t i = 0; i < direction.size(); ++i) {
        if ((splitmix64(i + 1000 * p) & 1U) == half) direction[i] = 0;
      }
      const double length = length_of(direction);
      ASSERT_GT(length, 1e-4) << "parameter " << p;
      for (float& x : direction) x = static_cast<float>(x / length);
      EXPECT_NEAR(probe.derivative(p, direction, 0.0004 / length), length, 0.02 * length)
          << "parameter " << p;
    }
  }
}

TEST(Gradients, OfAGptAreTheSlopesOfItsLoss) { expect_gradients_as_finite_differences(small_gpt()); }

TEST(Gradients, OfAnMlpAreTheSlopesOfItsLoss) {
  expect_gradients_as_finite_differences(small_mlp());
  expect_gradients_as_finite_differences(small_mlp("relu"));
}

TEST(Gradients, BecomeReadyInTheOrderInWhichTheSimulatorSaysSo) {
  for (const Model& model : {small_gpt(), small_mlp()}) {
    Probe probe(model);
    (void)probe.loss(true);
    EXPECT_EQ(probe.ready(), probe.graph().ready_order);
    Setting setting(Strategy::ddp, "stepcast-trainer");
    StepContext context(setting.with(model).inputs(), {});
    EXPECT_EQ(probe.ready(), ready_order(context));
  }
}

}  // namespace
}  // namespace stepcast
