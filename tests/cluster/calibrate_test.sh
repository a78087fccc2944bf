#!/usr/bin/env bash
# calibrate_test.sh STEPCAST: two hosts calibrate, started by srun's variables as a plain user. A rank that is killed
# and a disk that fills up lose nothing that was measured, the message says what happened, and --resume goes on.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
cluster_require
cluster_up 2 1gbit
install -m 755 "$1" "$cluster_directory/stepcast"  # where nobody can run it
work=$cluster_directory/work
mkdir -m 777 "$work"

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
expect() {
  [[ $1 == *"$2"* ]] || fail "no \"$2\" in: $1"
}
# calibrate PROFILE OPTIONS...: what both ranks print goes to $work/out.
calibrate() {
  local profile=$1
  shift
  cluster_srun "$cluster_directory/stepcast" calibrate --backend host --quick --force --fabric ethernet-1g \
    --out "$profile" "$@" >"$work/out" 2>&1
}
lines() {
  if [[ -f $1 ]]; then wc -l <"$1"; else echo 0; fi
}

# A rank is killed while it measures.
calibrate "$work/killed.toml" &
ranks=$!
for ((i = 0; i < 600 && $(lines "$work/killed.toml.journal") < 5; i++)); do sleep 0.1; done
for process in $(ip netns pids "$cluster_name-1"); do
  if [[ $(cat "/proc/$process/comm") == stepcast ]]; then kill -KILL "$process"; fi
done
wait "$ranks" && fail "the others went on without rank 1"
said=$(<"$work/out")
expect "$said" "stepcast: error: rank 1 (host h1) ended during \""
expect "$said" "measurements are kept in $work/killed.toml.journal; go on with --resume"
kept=$(lines "$work/killed.toml.journal")
((kept >= 5)) || fail "$kept lines are left of at least 5"
echo "$said"
calibrate "$work/killed.toml" --resume --budget 2s || fail "--resume: $(<"$work/out")"
expect "$(<"$work/out")" "$((kept - 1)) measurements are in $work/killed.toml.journal"
[[ -f $work/killed.toml && ! -e $work/killed.toml.journal ]] || fail "no profile, or the journal is still there"

# The disk has room for some dozens of measurements.
disk=$work/disk
mkdir "$disk"
mount -t tmpfs -o size=24k,mode=1777 stepcast-test "$disk" || cluster_skip "a small disk can't be mounted"
trap 'umount "$disk" 2>/dev/null || true; cluster_down' EXIT
status=0
calibrate "$disk/full.toml" || status=$?
((status == 3)) || fail "exit code $status on a full disk: $(<"$work/out")"
said=$(<"$work/out")
expect "$said" "can't write $disk/full.toml.journal: No space left on device; the "
expect "$said" "go on with --resume"
[[ -z $(tail -c 1 "$disk/full.toml.journal") ]] || fail "the journal's last line is torn"
echo "$said"
kept=$(lines "$disk/full.toml.journal")
mount -o remount,size=4m "$disk"
calibrate "$disk/full.toml" --resume --budget 2s || fail "--resume: $(<"$work/out")"
expect "$(<"$work/out")" "$((kept - 1)) measurements are in $disk/full.toml.journal"
[[ -f $disk/full.toml ]] || fail "no profile"
