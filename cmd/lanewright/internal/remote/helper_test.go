//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package remote

import (
	"bytes"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/lanewright/lanewright/internal/child"
	"github.com/lanewright/lanewright/internal/helper"
	"github.com/lanewright/lanewright/internal/proctest"
)

// TestMain runs the tests, or a worker process or a role.
func TestMain(m *testing.M) {
	Main()
	os.Exit(m.Run())
}

// isReaped fails unless a process has ended and its host has waited for it.
func isReaped(t *testing.T, p *child.Process) {
	t.Helper()
	if p.State() == nil {
		t.Error("the process has not ended")
	}
}

// TestSpinner checks that each call is answered, over several runs, and that a call after the end of the process returns.
func TestSpinner(t *testing.T) {
	proctest.Need(t)
	s, err := StartSpinner()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 50, 3} {
		if err := s.Begin(n); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if !s.Call() {
				t.Fatalf("call %d of %d has a wrong answer", i, n)
			}
		}
	}
	if err := s.Begin(1); err != nil {
		t.Fatal(err)
	}
	if err := s.process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.process.Done()
	if s.Call() {
		t.Error("a process that has ended answers")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	isReaped(t, s.process)
}

// TestHog checks that Check notices the end of the process.
func TestHog(t *testing.T) {
	proctest.Need(t)
	h, err := StartHog()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(h.Check(), h.Check()); err != nil {
		t.Error(err)
	}
	if err := h.process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-h.process.Done()
	if err := h.Check(); err == nil {
		t.Error("a process that has ended computes")
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	isReaped(t, h.process)
}

// TestMeasureHost checks that a new host has a thread and memory for its worker processes, and that it has ended.
func TestMeasureHost(t *testing.T) {
	proctest.Need(t)
	use, err := MeasureHost(t.Context(), 2, time.Millisecond)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if use.Threads < 1 || use.BytesPerLane < 4096 {
		t.Errorf("use = %+v, want at least one thread and one page a lane", use)
	}
}

// TestUnknownRole checks that a process without a known role fails instead of running the program.
func TestUnknownRole(t *testing.T) {
	proctest.Need(t)
	for _, role := range []string{"none", "", "answer:x", "answer:8", "spin", "hog", "host:1"} {
		out, err := proctest.Output(t, proctest.Self(t, []string{helper.Variable + "=" + role}))
		if err == nil || !bytes.Contains([]byte(out), []byte("role of a benchmark: ")) {
			t.Errorf("role %q: %v, %q", role, err, out)
		}
	}
}
