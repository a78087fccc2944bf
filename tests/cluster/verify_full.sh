#!/usr/bin/env bash
# verify_full.sh [STEPCAST [OUTPUT_DIRECTORY]]: the whole matrix of verification on clusters of network namespaces.
#   Two hosts at 1 Gbit/s: calibrate (quick), then verify {mlp, gpt, paced} x {ddp, zero1, zero2, zero3} x accumulation
#   {1, 4} x two batch sizes; the same at 200 Mbit/s, predicted from the 1 Gbit/s profile with only the link's rate
#   changed. Then paced on four hosts, both rates. Writes profiles, JSON and tables to OUTPUT_DIRECTORY, and
#   verification.md there, which docs/verification.md is a dated copy of. Needs root and a quiet machine; about 25 minutes.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
stepcast=$(realpath "${1:-$here/../../build/release/cli/stepcast}")
output=${2:-verification}
. "$here/cluster.sh"
cluster_require
mkdir -p "$output"
output=$(realpath "$output")
cd "$here"

calibrate() { # HOSTS
  echo "calibrating on $1 hosts at 1 Gbit/s" >&2
  rm -f "$output/hosts-$1.toml"*
  cluster_mpirun "$stepcast" calibrate --backend host --quick --fabric ethernet-1g --link-rate "1 Gb/s" \
    --out "$output/hosts-$1.toml" >"$output/calibrate-$1.txt"
}

verify() { # NAME HOSTS MODEL RATE
  echo "verifying $3 on $2 hosts at $4" >&2
  local status=0
  cluster_mpirun "$stepcast" verify "$3.toml" --steps 5 --seconds 8 --backend host --profile "$output/hosts-$2.toml" --tolerance 25% \
    --set cluster.nodes="$2" --set cluster.link_rate="$4" --json "$output/$1.json" >"$output/$1.txt" || status=$?
  ((status <= 1)) || exit "$status"
  ((status == 0)) || beyond+=("$1")
}

beyond=()
cluster_up 2 1gbit
calibrate 2
for model in paced mlp gpt; do verify "$model-2-1g" 2 "$model" "1 Gb/s"; done
cluster_rate 200mbit
for model in paced mlp gpt; do verify "$model-2-200m" 2 "$model" "200 Mb/s"; done
cluster_down
cluster_up 4 1gbit
calibrate 4
verify paced-4-1g 4 paced "1 Gb/s"
cluster_rate 200mbit
verify paced-4-200m 4 paced "200 Mb/s"
cluster_down

{
  echo "# Verification on plain machines: predicted against measured"
  echo
  echo "Written by \`tests/cluster/verify_full.sh\` on $(date +%Y-%m-%d): network namespaces of one machine as hosts, one"
  echo "single-threaded rank each ($(nproc) cores, $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1)); links limited by tc. The profile was measured"
  echo "at 1 Gbit/s; predictions at 200 Mbit/s change only the link's rate. Nothing here ran on a GPU."
  for name in paced-2-1g mlp-2-1g gpt-2-1g paced-2-200m mlp-2-200m gpt-2-200m paced-4-1g paced-4-200m; do
    echo
    echo "## ${name%%-*}, $(cut -d- -f2 <<<"$name") hosts, $(sed 's/.*-1g/1 Gbit\/s/; s/.*-200m/200 Mbit\/s/' <<<"$name")"
    echo
    echo '```'
    cat "$output/$name.txt"
    echo '```'
  done
} >"$output/verification.md"
echo "wrote $output/verification.md" >&2
if ((${#beyond[@]} > 0)); then
  echo "beyond 25 %: ${beyond[*]}" >&2
  exit 1
fi
