package version

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/klauspost/cpuid/v2"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/cli"
)

// Help is the text of lanewright version -h.
const Help = `lanewright version prints what this program and this machine are. Record it with every figure.

Usage: lanewright version

Example:

  lanewright version
`

// Run prints what this program and this machine are.
func Run(_ context.Context, c *cli.Console, args []string) error {
	if err := cli.Parse(cli.NewFlags("version"), args); err != nil {
		return err
	}
	cli.Printf(c.Out, "lanewright  %s\nGo          %s\nsystem      %s/%s\nprocessor   %s\nprocessors  %d, GOMAXPROCS %d\n",
		moduleVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH, processor(), runtime.NumCPU(), runtime.GOMAXPROCS(0))
	return nil
}

// Machine describes this program and this machine in one line, for the head of a report.
func Machine() string {
	return fmt.Sprintf("lanewright %s, %s, %s/%s, %s, %d processors",
		moduleVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH, processor(), runtime.NumCPU())
}

func processor() string { return cmp.Or(cpuid.CPU.BrandName, "unknown") }

// moduleVersion returns the version of this module that the go command recorded, with the
// commit when the go command recorded that too.
func moduleVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	version := cmp.Or(info.Main.Version, "(devel)")
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if commit := settings["vcs.revision"]; commit != "" {
		version += " (commit " + commit[:min(12, len(commit))]
		if settings["vcs.modified"] == "true" {
			version += ", modified"
		}
		version += ")"
	}
	return version
}
