// Command lanewright shows what the scheduler does and measures it.
//
//	lanewright tour     sorts ten million integers, hashes a source tree, and makes calls on lanes
//	lanewright bench    measures every figure of BENCHMARKS.md on this machine
//	lanewright stress   checks the laws of the scheduler on real threads, as long as you like
//	lanewright version  says what this program and this machine are
//
// Run it with -h for more.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
