#!/usr/bin/env bash
# verify_test.sh STEPCAST: a small part of verify_full.sh for CI: two hosts at 1 Gbit/s calibrated, paced and mlp models
# verified, then three points at 200 Mbit/s from the same profile. Prints the real figures; the bound is generous, because
# machines that test are noisy.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
stepcast=$(realpath "$1")
. "$here/cluster.sh"
cluster_require
cluster_up 2 1gbit
cd "$here"
profile=$cluster_directory/hosts.toml
cluster_mpirun "$stepcast" calibrate --backend host --quick --force --fabric ethernet-1g \
  --link-rate "1 Gb/s" --out "$profile"

verify() { # SCENARIO SETTINGS...
  local scenario=$1
  shift
  cluster_mpirun "$stepcast" verify "$scenario" --backend host --profile "$profile" --steps 5 --tolerance 80% "$@"
}
verify paced.toml --set training.strategy=ddp,zero1,zero3 --set training.gradient_accumulation_steps=1 \
  --set training.micro_batch_size=16
verify mlp.toml --set training.strategy=ddp --set training.micro_batch_size=64
cluster_rate 200mbit
verify paced.toml --set training.strategy=ddp,zero3 --set training.gradient_accumulation_steps=1 \
  --set training.micro_batch_size=16 --set cluster.link_rate="200 Mb/s"
verify mlp.toml --set training.strategy=ddp --set training.gradient_accumulation_steps=1 \
  --set training.micro_batch_size=64 --set cluster.link_rate="200 Mb/s"
