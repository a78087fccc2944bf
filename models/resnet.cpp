#include "models/resnet.hpp"

#include <utility>

#include "models/counting.hpp"
#include "models/layer_builder.hpp"

namespace stepcast {
namespace {

constexpr std::int64_t expansion = 4;

/// A layer of convolutions that knows the size of the image between them.
class ConvolutionLayer {
 public:
  ConvolutionLayer(std::string name, LayerKind kind) : layer_(std::move(name), kind, nullptr) {}

  struct Image {
    std::int64_t channels{}, height{}, width{};
    [[nodiscard]] double elements() const { return static_cast<double>(channels * height * width); }
  };

  /// Convolution without bias, padded by kernel / 2. Its result stays for the batch norm that follows.
  Image convolution(const std::string& name, Image in, std::int64_t out_channels, std::int64_t kernel,
                    std::int64_t stride, bool input_gradient = true) {
    Operator op;
    op.name = name;
    op.kind = OperatorKind::convolution;
    ConvolutionWork& work = op.convolution;
    work.in_channels = in.channels;
    work.out_channels = out_channels;
    work.kernel = kernel;
    work.stride = stride;
    work.in_height = in.height;
    work.in_width = in.width;
    work.out_height = reduced(in.height, stride);
    work.out_width = reduced(in.width, stride);
    work.input_gradient = input_gradient;
    const Image out{out_channels, work.out_height, work.out_width};
    op.saved_eager.elements = op.saved_fused.elements = out.elements();
    op.parameters = {layer_.parameter(name + ".weight", {out_channels, in.channels, kernel, kernel})};
    layer_.add(std::move(op));
    return out;
  }

  void batch_norm(const std::string& name, Image image, bool relu) {
    layer_
        .memory(name, counting::batch_norm(image.elements(), relu),
                {layer_.parameter(name + ".weight", {image.channels}),
                 layer_.parameter(name + ".bias", {image.channels})})
        .recomputed_by_selective = true;
    buffers_ += Bytes(static_cast<double>(2 * 4 * image.channels + 8));
  }

  LayerBuilder& operators() { return layer_; }

  Layer build(double output_elements) {
    Layer layer = layer_.build(output_elements);
    layer.buffers = buffers_;
    return layer;
  }

  /// Padding of kernel / 2: the size shrinks by the stride alone, rounded up.
  static std::int64_t reduced(std::int64_t extent, std::int64_t stride) {
    return (extent + stride - 1) / stride;
  }

 private:
  LayerBuilder layer_;
  Bytes buffers_;
};

using Image = ConvolutionLayer::Image;

Layer stem(Image& image) {
  ConvolutionLayer layer("stem", LayerKind::embedding);
  image = layer.convolution("conv1", image, 64, 7, 2, false);
  layer.batch_norm("bn1", image, true);
  const Image pooled{image.channels, ConvolutionLayer::reduced(image.height, 2),
                     ConvolutionLayer::reduced(image.width, 2)};
  layer.operators().memory("maxpool", counting::max_pool(image.elements(), pooled.elements()));
  image = pooled;
  return layer.build(image.elements());
}

Layer bottleneck(const std::string& name, Image& image, std::int64_t width, std::int64_t stride) {
  ConvolutionLayer layer(name, LayerKind::block);
  const Image in = image;
  image = layer.convolution("conv1", image, width, 1, 1);
  layer.batch_norm("bn1", image, true);
  image = layer.convolution("conv2", image, width, 3, stride);
  layer.batch_norm("bn2", image, true);
  image = layer.convolution("conv3", image, width * expansion, 1, 1);
  layer.batch_norm("bn3", image, false);
  if (stride != 1 || in.channels != image.channels) {
    const Image shortcut = layer.convolution("downsample.0", in, width * expansion, 1, stride);
    layer.batch_norm("downsample.1", shortcut, false);
  }
  layer.operators().memory("add", counting::add_relu(image.elements()));
  return layer.build(image.elements());
}

Layer classifier(Image image, std::int64_t classes) {
  LayerBuilder layer("fc", LayerKind::head, nullptr);
  const auto channels = static_cast<double>(image.channels);
  layer.memory("avgpool", counting::average_pool(image.elements(), channels));
  const int weight = layer.parameter("fc.weight", {classes, image.channels});
  layer.gemm("fc", 1, classes, image.channels, {weight}, static_cast<double>(classes));
  layer.memory("fc.bias", counting::bias(static_cast<double>(classes)),
               {layer.parameter("fc.bias", {classes})});
  layer.memory("loss.cross_entropy", counting::cross_entropy(static_cast<double>(classes), 1));
  return layer.build(0);
}

}  // namespace

Model build_resnet(const ResnetArchitecture& shape, std::string name) {
  Model model;
  model.name = std::move(name);
  model.family = "resnet";
  model.logits_elements = static_cast<double>(shape.classes);
  Image image{3, shape.image_size, shape.image_size};
  model.layers.push_back(stem(image));
  std::int64_t width = 64;
  for (std::size_t stage = 0; stage < shape.depths.size(); ++stage) {
    for (std::int64_t block = 0; block < shape.depths[stage]; ++block) {
      const std::int64_t stride = block == 0 && stage > 0 ? 2 : 1;
      model.layers.push_back(bottleneck("layer" + std::to_string(stage + 1) + "." + std::to_string(block),
                                        image, width, stride));
    }
    width *= 2;
  }
  model.layers.push_back(classifier(image, shape.classes));
  link_equal_layers(model);
  model.active_parameter_count = model.parameter_count();
  return model;
}

}  // namespace stepcast
