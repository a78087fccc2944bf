#include "calibrate/device.hpp"
#include "calibrate/launch/mpi.hpp"

namespace stepcast {

std::string broadcast_through_mpi(const Rendezvous&, const std::string&) {
  throw MachineError("mpirun doesn't say where rank 0 is, and this stepcast was built without MPI",
                     "tell it: mpirun -x MASTER_ADDR=HOST (Open MPI) or -genv MASTER_ADDR HOST (MPICH)");
}

}  // namespace stepcast
