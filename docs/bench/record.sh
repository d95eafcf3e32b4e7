#!/usr/bin/env bash
# Measures this machine and stores the raw results:
#
#   docs/bench/record.sh NAME          for example: docs/bench/record.sh graviton4
#
# It writes core-OS-ARCH-NAME.jsonl, and a description of the machine to
# core-OS-ARCH-NAME.txt. On a real ARM machine call it without a NAME: the column
# arm64 of BENCHMARKS.md shows that file. This command makes the tables:
#
#   go test ./cmd/lanewright/internal/suite -run TestResults -update
#
# A run takes about half an hour, measures the last commit and needs an idle machine.
# RUNS and WORKERS may be set. The defaults are 6 and 1,2,N for N processors.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if [ $# -gt 1 ] || [[ ${1:-} == -* ]]; then
	sed -n '2,14s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
	exit 2
fi
if [ -n "$(git status --porcelain -- '*.go' go.mod go.sum)" ]; then
	echo 'record.sh: the tree has uncommitted changes, so the result could not be repeated' >&2
	exit 1
fi
if grep -qs 'qemu\|QEMU TCG' /proc/cpuinfo; then
	echo 'record.sh: this processor is emulated' >&2
	exit 1
fi
n=$(getconf _NPROCESSORS_ONLN)
workers=${WORKERS:-$(printf '%s\n' 1 2 "$n" | sort -nu | paste -sd,)}
command=(bench -json -workers "$workers" -runs "${RUNS:-6}")
out=docs/bench/core-$(go env GOOS)-$(go env GOARCH)${1:+-$1}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
CGO_ENABLED=0 go build -o "$tmp/lanewright" ./cmd/lanewright
{
	echo "command: lanewright ${command[*]}"
	echo "commit:  $(git rev-parse HEAD)"
	echo "date:    $(date -u +%F)"
	echo "go:      $(go version)"
	echo "system:  $(uname -srm)"
	lscpu 2>/dev/null | grep -E '^(Model name|CPU\(s\)|Thread|Core|Socket|L[123]|Hypervisor)' || true
} >"$tmp/txt"
"$tmp/lanewright" "${command[@]}" >"$tmp/jsonl" 2> >(tee "$tmp/log" >&2)
{
	cat "$tmp/txt"
	echo
	cat "$tmp/log"
} >"$out.txt"
mv "$tmp/jsonl" "$out.jsonl"
echo "wrote $out.jsonl and $out.txt"
