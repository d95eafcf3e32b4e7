package stress

import (
	"os"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/internal/proctest"
)

// TestSystemCounts checks that a descriptor and a process that are left are found.
func TestSystemCounts(t *testing.T) {
	cmd := proctest.Self(t, nil, "-test.run=^$") // skips the test in an emulator
	before := systemCounts()
	if before.threads == 0 || len(before.files) == 0 {
		t.Skipf("this kernel does not say what a program has: %+v", before)
	}
	if text := before.compare(before); text != "" {
		t.Errorf("without a change: %s", text)
	}
	proctest.Need(t)
	f, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("cannot start a process here: %v", err)
	}
	text := systemCounts().compare(before)
	if want := "descriptors, and "; !strings.Contains(text, want) || !strings.Contains(text, os.Args[0]) {
		t.Errorf("with an open file: %q", text)
	}
	if _, err := os.Stat("/proc/thread-self/children"); err == nil && !strings.Contains(text, "1 processes, and 0 before") {
		t.Errorf("with a process: %q", text)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	before.threads -= maxNewThreads + 1
	before.regions, before.names = -1, nil
	text = systemCounts().compare(before)
	for _, want := range []string{" threads, and ", "0 regions, and -1 before"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q has no %q", text, want)
		}
	}
}
