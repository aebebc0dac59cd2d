#!/usr/bin/env bash
# Sets collsim up on Debian 12 and shows what it does. Safe to repeat; fast when nothing is missing.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: ./quickstart.sh         install what is missing, build into build/release, run a first experiment
       ./quickstart.sh test    the same set-up, then all tests
       ./quickstart.sh --help  this text
TEXT
}

action=run
case "$#:${1-}" in
  0:) ;;
  1:test) action="test" ;;
  1:-h | 1:--help) usage && exit 0 ;;
  *) usage >&2 && exit 2 ;;
esac

# What each package is for stands in README.md, "Dependencies".
packages=(
  g++ cmake ninja-build ccache
  libboost-graph-dev libyaml-cpp-dev libexpat1-dev libfmt-dev libcli11-dev nlohmann-json3-dev
  doctest-dev libbenchmark-dev
)

# Progress goes to stderr, so that stdout holds the results alone.
say() { echo "== $*" >&2; }

cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")"

say "Looking for the Debian packages that collsim is built with"
.ci/install-missing "${packages[@]}"

say "Configuring build/release"
cache=build/release/CMakeCache.txt
fresh=()
if [[ -f $cache ]] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "$cache"; then
  fresh=(--fresh) # the folder was moved or copied: its old configuration points elsewhere
fi
cmake "${fresh[@]}" --preset release >&2

if [[ $action == test ]]; then
  say "Building everything"
  cmake --build --preset release --parallel "$(nproc)" >&2
  say "Running all tests"
  ctest --preset release --parallel "$(nproc)"
else
  say "Building the program"
  cmake --build --preset release --target collsim --parallel "$(nproc)" >&2
  say "build/release/collsim run experiments/quickstart.yaml"
  build/release/collsim run experiments/quickstart.yaml
fi
