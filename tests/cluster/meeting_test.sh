#!/usr/bin/env bash
# meeting_test.sh MEETING_PROBE: ranks of two hosts meet, started by srun's variables as a plain user without
# mpirun, and by mpirun; a rank that dies is named with its host.
set -euo pipefail
# shellcheck source=tests/cluster/cluster.sh
. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
cluster_require
cluster_up 2 1gbit
install -m 755 "$1" "$cluster_directory/meeting_probe"  # where nobody can run it
probe=$cluster_directory/meeting_probe

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
expect() {
  [[ $1 == *"$2"* ]] || fail "no \"$2\" in: $1"
}

started_by_srun=$(PATH=/usr/sbin:/usr/bin:/sbin:/bin cluster_srun "$probe")
expect "$started_by_srun" "rank 0 of 2 on h0, node 0 of 2, address 10.231.0.1, started by srun"
expect "$started_by_srun" "rank 1 of 2 on h1, node 1 of 2, address 10.231.0.2, started by srun"
echo "$started_by_srun"

# Without a step, the batch script's own process is alone, whatever it sees of the job.
alone=$(cluster_on_as_nobody 1 env SLURM_JOB_ID=1 SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_JOB_NODELIST='h[0-1]' "$probe")
expect "$alone" "rank 0 of 1 on h1, node 0 of 1"

cluster_srun "$probe" hang >"$cluster_directory/out" 2>&1 &
ranks=$!
until grep -q "all are waiting" "$cluster_directory/out"; do sleep 0.1; done
for process in $(ip netns pids "$cluster_name-1"); do
  if [[ $(cat "/proc/$process/comm") == meeting_probe ]]; then kill -KILL "$process"; fi
done
wait "$ranks" && fail "the others went on without rank 1"
killed=$(<"$cluster_directory/out")
expect "$killed" 'stepcast: error: rank 1 (host h1) ended during "a long wait"'
expect "$killed" "kept what was done"
echo "$killed"

if command -v mpirun >/dev/null; then
  with_address=$(RANKS_PER_HOST=2 cluster_mpirun -x MASTER_ADDR=h0 "$probe")
  expect "$with_address" "rank 1 of 4 on h0, node 0 of 2, address 10.231.0.1, started by mpirun"
  expect "$with_address" "rank 3 of 4 on h1, node 1 of 2, address 10.231.0.2, started by mpirun"
  echo "$with_address"
  if [[ ${2:-} == with-mpi ]]; then
    started_by_mpirun=$(cluster_mpirun "$probe")
    expect "$started_by_mpirun" "rank 1 of 2 on h1, node 1 of 2, address 10.231.0.2, started by mpirun"
    echo "$started_by_mpirun"
  fi
fi
