# shellcheck shell=bash
# A cluster of network namespaces on one machine. Source this file in bash; it defines:
#
#   cluster_require            exits with 77, aloud, where namespaces or tc can't be had
#   cluster_up HOSTS RATE      makes hosts h0, h1, ... that reach each other at RATE ("1gbit", "200mbit") in each
#                              direction; they are removed when the script ends, also by Ctrl-C or an error
#   cluster_rate RATE          changes the rate of all links
#   cluster_on I COMMAND...    runs a command on host I, pinned to one core (I modulo the cores)
#   cluster_on_as_nobody I COMMAND...  ... as a user without privileges
#   cluster_mpirun COMMAND...  through mpirun, one rank a host (RANKS_PER_HOST=K cluster_mpirun ...: K), as on a
#                              real cluster: an agent in place of ssh enters the hosts
#   cluster_srun COMMAND...    one rank a host, with the variables that srun sets, as nobody and without mpirun
#
# Usage:
#   set -euo pipefail
#   . tests/cluster/cluster.sh
#   cluster_require
#   cluster_up 2 1gbit
#   cluster_mpirun stepcast calibrate ...
#
# Everything is named stepcast-PID-..., so runs don't collide; what a killed run left is removed by the next
# cluster_up. Host I has the address 10.231.0.(I+1) and core I modulo the cores; the switch is a bridge in a
# namespace of its own, where mpirun itself runs.

cluster_network=10.231.0

cluster_skip() {
  echo "SKIPPED: no test cluster: $*" >&2
  exit 77
}

cluster_require() {
  ((EUID == 0)) || cluster_skip "network namespaces need root"
  local tool
  for tool in ip tc unshare taskset setpriv; do
    command -v "$tool" >/dev/null || cluster_skip "$tool is missing (Debian: iproute2, util-linux)"
  done
  local probe="stepcast-$$-probe" why
  why=$( {
    ip netns add "$probe" &&
      ip -n "$probe" link add veth0 type veth peer name veth1 &&
      ip -n "$probe" link add bridge0 type bridge &&
      tc -n "$probe" qdisc add dev veth0 root tbf rate 1gbit burst 32kb latency 50ms &&
      ip netns exec "$probe" unshare --uts --mount true
  } 2>&1) || { ip netns del "$probe" 2>/dev/null; cluster_skip "${why:-the kernel refuses}"; }
  ip netns del "$probe"
}

# What a link may send at once after a pause: half a millisecond of its rate, but at least 16 KiB. Chunks of a collective
# are larger (1 MiB); shorter bursts lose rate whenever the kernel's timer comes late.
cluster_burst() {
  local number=${1%%[a-z]*} bits
  case ${1#"$number"} in
    gbit) bits=$((number * 1000000000)) ;;
    mbit) bits=$((number * 1000000)) ;;
    *) echo "rate $1 is not written like 1gbit or 200mbit" >&2; return 2 ;;
  esac
  local burst=$((bits / 8 / 2000))
  echo $((burst > 16384 ? burst : 16384))
}

# Both ends of every cable: what a host sends, and what the switch sends to it. The kernel hands packets of up to
# 64 KiB from host to host whole: a quarter of the burst leaves room for late timers; larger ones than the burst are cut.
cluster_rate() {
  local i burst
  burst=$(cluster_burst "$1")
  for ((i = 0; i < cluster_hosts; i++)); do
    ip -n "$cluster_name-$i" link set eth0 gso_max_size $((burst / 4))
    ip -n "$cluster_name-hub" link set "port$i" gso_max_size $((burst / 4))
    tc -n "$cluster_name-$i" qdisc replace dev eth0 root tbf rate "$1" burst "$burst" latency 50ms
    tc -n "$cluster_name-hub" qdisc replace dev "port$i" root tbf rate "$1" burst "$burst" latency 50ms
  done
}

cluster_remove_left_over() {
  local name process
  for name in $(ip netns list | sed -n 's/^\(stepcast-[0-9]*\)-hub.*/\1/p'); do
    process=${name#stepcast-}
    [[ -d /proc/$process ]] || cluster_remove "$name"
  done
}

cluster_up() {
  cluster_remove_left_over
  cluster_hosts=$1
  cluster_name=stepcast-$$
  cluster_directory=${TMPDIR:-/tmp}/$cluster_name
  trap cluster_down EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  mkdir -p "$cluster_directory"
  chmod 755 "$cluster_directory"
  local hub=$cluster_name-hub i
  ip netns add "$hub"
  ip -n "$hub" link set lo up
  ip -n "$hub" link add bridge0 type bridge
  ip -n "$hub" addr add $cluster_network.254/24 dev bridge0
  ip -n "$hub" link set bridge0 up
  echo "127.0.0.1 localhost" >"$cluster_directory/hosts"
  echo "$cluster_network.254 hub" >>"$cluster_directory/hosts"
  for ((i = 0; i < cluster_hosts; i++)); do
    local host=$cluster_name-$i
    ip netns add "$host"
    ip -n "$host" link set lo up
    ip -n "$hub" link add "port$i" type veth peer name eth0 netns "$host"
    ip -n "$hub" link set "port$i" master bridge0 up
    ip -n "$host" addr add "$cluster_network.$((i + 1))/24" dev eth0
    ip -n "$host" link set eth0 up
    echo "$cluster_network.$((i + 1)) h$i" >>"$cluster_directory/hosts"
  done
  cluster_rate "$2"
}

# cluster_remove NAME: ends what runs on its hosts, asking first, and removes them.
cluster_remove() {
  local name=$1 space spaces processes attempt
  local -
  set +e  # a process may go between being listed and being ended
  spaces=$(ip netns list | sed -n "s/^\($name-[0-9a-z]*\).*/\1/p")
  for ((attempt = 0; attempt < 50; attempt++)); do
    processes=$(for space in $spaces; do ip netns pids "$space"; done 2>/dev/null)
    [[ -n $processes ]] || break
    # shellcheck disable=SC2086
    if ((attempt == 0)); then kill -TERM $processes; fi 2>/dev/null
    # shellcheck disable=SC2086
    if ((attempt == 40)); then kill -KILL $processes; fi 2>/dev/null
    sleep 0.1
  done
  for space in $spaces; do ip netns del "$space"; done
  rm -rf "${TMPDIR:-/tmp}/${name:?}"
}

cluster_down() {
  if [[ -n ${cluster_name:-} ]]; then cluster_remove "$cluster_name"; fi
  cluster_name=
}

# cluster_inside SPACE HOSTNAME COMMAND...: a process there sees its own host name and the cluster's /etc/hosts.
cluster_inside() {
  local space=$1 host=$2
  shift 2
  # shellcheck disable=SC2016
  ip netns exec "$cluster_name-$space" unshare --uts --mount sh -c '
    hostname "$1" && mount --bind "$2" /etc/hosts && shift 2 && exec "$@"' \
    sh "$host" "$cluster_directory/hosts" "$@"
}

cluster_on() {
  local i=$1
  shift
  cluster_inside "$i" "h$i" taskset -c "$((i % $(nproc)))" "$@"
}

cluster_on_as_nobody() {
  local i=$1
  shift
  cluster_on "$i" setpriv --reuid nobody --regid nogroup --clear-groups --no-new-privs "$@"
}

# mpirun starts its daemons on the hosts through this instead of ssh.
cluster_write_agent() {
  {
    echo '#!/usr/bin/env bash'
    declare -p cluster_name cluster_directory
    declare -f cluster_inside cluster_on
    # shellcheck disable=SC2016
    echo 'host=${1#h}; shift; cluster_on "$host" sh -c "$*"'
  } >"$cluster_directory/agent"
  chmod 755 "$cluster_directory/agent"
}

cluster_mpirun() {
  command -v mpirun >/dev/null || cluster_skip "mpirun is missing (Debian: openmpi-bin)"
  cluster_write_agent
  local per_host=${RANKS_PER_HOST:-1} i hosts=
  for ((i = 0; i < cluster_hosts; i++)); do hosts+=${hosts:+,}h$i:$per_host; done
  # In the background, because bash heeds signals only while it waits.
  cluster_inside hub hub mpirun --allow-run-as-root --bind-to none --mca plm_rsh_agent "$cluster_directory/agent" \
    --host "$hosts" -np "$((cluster_hosts * per_host))" "$@" <&0 &
  wait $!
}

cluster_srun() {
  local i processes=() status=0 one
  for ((i = 0; i < cluster_hosts; i++)); do
    cluster_on_as_nobody "$i" env SLURM_JOB_ID=$$ SLURM_STEP_ID=0 SLURM_PROCID="$i" \
      SLURM_STEP_NUM_TASKS="$cluster_hosts" SLURM_STEP_NODELIST="h[0-$((cluster_hosts - 1))]" "$@" &
    processes+=($!)
  done
  for one in "${processes[@]}"; do wait "$one" || status=$?; done
  return "$status"
}
