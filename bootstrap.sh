#!/usr/bin/env bash
# ./bootstrap.sh packages | demo | test : installs what is missing (Debian), builds, runs.
set -euo pipefail
cd "$(dirname "$0")"

packages=(g++ cmake ninja-build clang-format libboost-dev libtomlplusplus-dev rapidjson-dev libgtest-dev
  libgmock-dev libbenchmark-dev libpugixml-dev graphviz libeigen3-dev zlib1g-dev libgloo-dev libopenmpi-dev openmpi-bin iproute2
  util-linux)

install_packages() {
  local missing=()
  for package in "${packages[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q "install ok installed" || missing+=("$package")
  done
  if ((${#missing[@]} == 0)); then return; fi
  echo "installing: ${missing[*]}" >&2
  local sudo=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null || { echo "need root to install: ${missing[*]}" >&2; exit 3; }
    sudo=(sudo)
  fi
  "${sudo[@]}" apt-get update -q >&2
  DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -y -q --no-install-recommends "${missing[@]}" >&2
}

case "${1:-}" in
  packages)
    install_packages
    ;;
  demo)
    install_packages
    cmake --preset release >&2
    cmake --build --preset release --target stepcast >&2
    build/release/cli/stepcast run scenarios/8-to-32.toml
    ;;
  test)
    install_packages
    cmake --workflow --preset release
    ;;
  *)
    echo "usage: ./bootstrap.sh packages   install the Debian packages that are missing" >&2
    echo "       ./bootstrap.sh demo       ... build, and run the main job: scenarios/8-to-32.toml" >&2
    echo "       ./bootstrap.sh test       ... build, and run all tests" >&2
    exit 2
    ;;
esac
