#include "calibrate/launch/mpi.hpp"

#include <mpi.h>

#include "calibrate/device.hpp"

namespace stepcast {

std::string broadcast_through_mpi(const Rendezvous& rendezvous, const std::string& text_of_rank_0) {
  MPI_Init(nullptr, nullptr);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::string text = text_of_rank_0;
  const bool as_started = rank == rendezvous.rank && size == rendezvous.size;
  if (as_started) {
    int length = static_cast<int>(text.size());
    MPI_Bcast(&length, 1, MPI_INT, 0, MPI_COMM_WORLD);
    text.resize(static_cast<std::size_t>(length));
    MPI_Bcast(text.data(), length, MPI_CHAR, 0, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  if (!as_started) {
    throw MachineError(
        "mpirun started " + std::to_string(rendezvous.size) +
            " ranks, but the MPI that stepcast was "
            "built with sees " +
            std::to_string(size) + ": it is not the MPI of this mpirun",
        "tell where rank 0 is: mpirun -x MASTER_ADDR=HOST (Open MPI) or -genv MASTER_ADDR HOST (MPICH)");
  }
  return text;
}

}  // namespace stepcast
