#!/usr/bin/env bash
# run_plain.sh HOSTS RATE COMMAND...: runs COMMAND as srun would, one rank a host, as a plain user and without mpirun,
# on a cluster of network namespaces. Making the hosts needs root; nobody must be able to run COMMAND.
set -euo pipefail
# shellcheck source=tests/cluster/cluster.sh
. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
(($# >= 3)) || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
cluster_require
cluster_up "$1" "$2"
shift 2
cluster_srun "$@"
