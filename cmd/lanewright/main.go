// Command lanewright shows what the scheduler does and measures it.
//
//	lanewright tour     sorts ten million integers, hashes a source tree, makes calls on lanes, and kills a worker process
//	lanewright bench    measures every figure of BENCHMARKS.md on this machine
//	lanewright stress   checks the laws of the scheduler on real threads, for as long as you like
//	lanewright version  prints what this program and this machine are
//
// Run it with -h for more.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/cli"
	"github.com/lanewright/lanewright/cmd/lanewright/internal/remote"
	"github.com/lanewright/lanewright/cmd/lanewright/internal/soak"
	"github.com/lanewright/lanewright/cmd/lanewright/internal/suite"
	"github.com/lanewright/lanewright/cmd/lanewright/internal/tour"
	"github.com/lanewright/lanewright/cmd/lanewright/internal/version"
	"github.com/lanewright/lanewright/stress"
)

// commands lists the commands in the order of the help.
var commands = cli.Table{
	{Name: "tour", Summary: "sort ten million integers, hash a source tree, make a million calls, kill a worker process", Help: tour.Help, Run: tour.Run},
	{Name: "bench", Summary: "measure every figure of BENCHMARKS.md on this machine", Help: suite.Help, Run: suite.Run},
	{Name: "stress", Summary: "check the laws of the scheduler on real threads, for as long as you like", Help: soak.Help, Run: soak.Run},
	{Name: "version", Summary: "print what this program and this machine are", Help: version.Help, Run: version.Run},
}

func main() {
	stress.WorkerMain()
	remote.Main()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(commands.Main(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
