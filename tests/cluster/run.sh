#!/usr/bin/env bash
# run.sh HOSTS RATE COMMAND...: runs COMMAND with mpirun on a cluster of network namespaces, one rank a host
# (RANKS_PER_HOST=K: K). Needs root. Example: run.sh 2 1gbit build/release/cli/stepcast calibrate --backend host
set -euo pipefail
# shellcheck source=tests/cluster/cluster.sh
. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
(($# >= 3)) || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
cluster_require
cluster_up "$1" "$2"
shift 2
cluster_mpirun "$@"
