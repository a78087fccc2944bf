#include "sim/collective/collective.hpp"

namespace stepcast {

std::string_view name_of(Operation operation) {
  switch (operation) {
    case Operation::all_reduce:
      return "all_reduce";
    case Operation::all_gather:
      return "all_gather";
    case Operation::reduce_scatter:
      return "reduce_scatter";
    case Operation::broadcast:
      return "broadcast";
    case Operation::reduce:
      return "reduce";
    case Operation::all_to_all:
      return "all_to_all";
    case Operation::send_recv:
      return "send_recv";
  }
  return "unknown";
}

std::string_view name_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::automatic:
      return "automatic";
    case Algorithm::ring:
      return "ring";
    case Algorithm::tree:
      return "tree";
    case Algorithm::nvls:
      return "nvls";
    case Algorithm::nvls_tree:
      return "nvls_tree";
    case Algorithm::hierarchical:
      return "hierarchical";
    case Algorithm::direct:
      return "direct";
    case Algorithm::collnet_direct:
      return "collnet_direct";
    case Algorithm::collnet_chain:
      return "collnet_chain";
    case Algorithm::pat:
      return "pat";
  }
  return "unknown";
}

std::string_view name_of(Protocol protocol) {
  switch (protocol) {
    case Protocol::automatic:
      return "automatic";
    case Protocol::ll:
      return "LL";
    case Protocol::ll128:
      return "LL128";
    case Protocol::simple:
      return "Simple";
  }
  return "unknown";
}

}  // namespace stepcast
