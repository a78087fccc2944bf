#pragma once

#include <filesystem>
#include <string>

namespace stepcast {

/// "ethernet-25g": the class of the interface that bears this address, from its speed in
/// `system`/class/net/NAME; "" where that does not say, or the interface is none of a card (a veth pair,
/// whose speed is made up).
[[nodiscard]] std::string fabric_of_interface(const std::string& address,
                                              const std::filesystem::path& system = "/sys");
[[nodiscard]] std::string fabric_of_interface_name(const std::string& name,
                                                   const std::filesystem::path& system = "/sys");
/// "infiniband-400g" or "roce-200g": the class of most of this node's RDMA cards' active ports, from
/// `system`/class/infiniband; "" without any.
[[nodiscard]] std::string fabric_of_rdma_cards(const std::filesystem::path& system = "/sys");

/// The node preset with this GPU and at least so many of them: the smallest. "" where none, or several of
/// that size, would do.
[[nodiscard]] std::string node_preset_of(const std::string& gpu, int gpus_per_node);

}  // namespace stepcast
