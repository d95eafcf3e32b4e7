#!/usr/bin/env bash
# Measures the figures of docs/CHOOSING.md and files the raw result:
#
#   docs/bench/choosing.sh NAME        for example: docs/bench/choosing.sh epyc2
#
# It writes choosing-OS-ARCH-NAME.txt, with the machine, the Go version and the commit.
# It takes about four minutes, on an otherwise idle machine. ROUNDS may be set. The
# tables of the document are made from choosing-linux-amd64-epyc2.txt:
#
#   cd bench && go test ./choosing -run TestDocument -update
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
if [ $# -ne 1 ] || [[ $1 == -* ]]; then
	sed -n '2,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
	exit 2
fi
out=$PWD/docs/bench/choosing-$(go env GOOS)-$(go env GOARCH)-$1.txt
{
	echo "go:         $(go env GOVERSION)"
	echo "commit:     $(git describe --always --dirty --abbrev=12)"
	echo "kernel:     $(uname -sr)"
	echo "processors: $(getconf _NPROCESSORS_ONLN)"
	(cd bench && go test -run '^$' -bench . -benchtime "${ROUNDS:-21}x" ./choosing)
} >"$out.new"
mv "$out.new" "$out"
echo "wrote $out"
