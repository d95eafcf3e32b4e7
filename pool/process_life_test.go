//go:build (darwin || dragonfly || freebsd || linux || netbsd || openbsd) && !interleave

package pool_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/lanewright/lanewright/pool"
	"github.com/lanewright/lanewright/transport"
)

// TestProcessSharedBytes: a pool of four processes shares 32 MiB with them, and the mailboxes. A pool without processes
// shares nothing, and neither does one whose processes have ended. K-114.
func TestProcessSharedBytes(t *testing.T) {
	const control = transport.ControlBytes + 64 // the abort bits take one line
	defaults := pool.Payload{Initial: transport.DefaultPayloadInitial, Max: transport.DefaultPayloadMax}
	p, _ := newProcessPool(t, pool.Config{Lanes: 4, Process: &pool.Process{Payload: defaults}})
	if got, want := p.Metrics().SharedBytes, int64(32<<20+4*control); got != want {
		t.Errorf("four processes share %d bytes, want %d", got, want)
	}
	_, err := p.Terminate(within(t))
	must(t, err)
	if got := p.Metrics().SharedBytes; got != 0 {
		t.Errorf("processes that have ended share %d bytes", got)
	}
	q := newPool(t, new(pool.Handlers), pool.Config{Lanes: 4})
	if got := q.Metrics().SharedBytes; got != 0 {
		t.Errorf("goroutines share %d bytes", got)
	}
}

// TestProcessLowMemory: a worker with LowMemory has the settings of that, and those of Env and Payload come first. The
// settings of the host do not.
func TestProcessLowMemory(t *testing.T) {
	t.Setenv("GOGC", "300")
	t.Setenv("GOMAXPROCS", "2")
	const control, low, most = transport.ControlBytes + 64, 256 << 10, 8 << 20
	for _, tc := range []struct {
		name    string
		process pool.Process
		setting []int // GOMAXPROCS and GOGC
		initial int64
	}{
		{"off", pool.Process{Payload: pool.Payload{Max: most}}, []int{2, 300}, 4 << 20},
		{"on", pool.Process{LowMemory: true, Payload: pool.Payload{Max: most}}, []int{1, 50}, low},
		{"less", pool.Process{LowMemory: true, Payload: pool.Payload{Max: 16 << 10}}, []int{1, 50}, 16 << 10},
		{"own", pool.Process{LowMemory: true, Payload: pool.Payload{Initial: 1 << 20, Max: most}, Env: []string{"GOGC=off"}}, []int{1, -1}, 1 << 20},
		{"host", pool.Process{LowMemory: true, Payload: pool.Payload{Max: most}, Env: []string{"GOGC", "GOMAXPROCS"}}, []int{2, 300}, low},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, ts := newProcessPool(t, pool.Config{Lanes: 1, Process: &tc.process})
			if got, err := ts.setting.Call(within(t), 0); err != nil || !slices.Equal(got, tc.setting) {
				t.Errorf("GOMAXPROCS and GOGC are %v, %v; want %v", got, err, tc.setting)
			}
			if got, want := p.Metrics().SharedBytes, control+2*tc.initial; got != want {
				t.Errorf("%d bytes are shared, want %d", got, want)
			}
			if tc.initial == low { // the memory grows in both directions
				if got, err := ts.echo.Call(within(t), make([]byte, 1<<20)); err != nil || len(got) != 1<<20 {
					t.Errorf("a payload of 1 MiB: %d bytes, %v", len(got), err)
				}
			}
		})
	}
}

// TestProcessResidentMemory: Workers shows the resident memory of each process, and none of a process that has ended.
func TestProcessResidentMemory(t *testing.T) {
	p, ts := newProcessPool(t, pool.Config{Lanes: 2})
	const n = 64 << 20
	_, err := pool.CallAt(within(t), p.Lanes()[1].ID, ts.fill, n)
	must(t, err)
	small, large := p.Workers()[0].RSS, p.Workers()[1].RSS
	if runtime.GOOS != "linux" {
		if small != 0 || large != 0 {
			t.Errorf("%d and %d bytes", small, large)
		}
		return
	}
	if small <= 0 || large < n || large < small+n/2 {
		t.Errorf("a process that keeps %d bytes has %d, and one that keeps none has %d", n, large, small)
	}
	must(t, syscall.Kill(p.Workers()[1].Pid, syscall.SIGKILL))
	until(t, "another process serves", func() bool { w := p.Workers()[1]; return w.Generation == 2 && w.State == "serving" })
	if w := p.Workers()[1]; w.RSS <= 0 || w.RSS >= large {
		t.Errorf("the next process has %d bytes", w.RSS)
	}
	_, err = p.Terminate(within(t))
	must(t, err)
	for _, w := range p.Workers() {
		if w.RSS != 0 {
			t.Errorf("a process that has ended: %+v", w)
		}
	}
}

// TestProcessResizeEndsProcesses: the process of a lane that Resize has taken out ends when its call has ended and its
// lease is released. The state of the process is gone, so the lane has a new id when it is back, and another process.
func TestProcessResizeEndsProcesses(t *testing.T) {
	p, ts := newProcessPool(t, pool.Config{Lanes: 3})
	before, ids := p.Workers(), p.Lanes()
	file := t.TempDir() + "/held"
	release := releaser(t, file)
	held := make(chan error, 1)
	go func() {
		_, err := pool.CallAt(within(t), ids[1].ID, ts.hold, file)
		held <- err
	}()
	begun(t, file)
	lease, err := p.AcquireLane(within(t), 2)
	must(t, err)
	patient, cancel := context.WithCancel(within(t))
	cancel()
	mustBe(t, p.Resize(patient, 1), context.Canceled)
	for range 20 { // the lanes do not end what they have
		for range 50 { // meanwhile the services look at the lanes
			_, err := ts.pid.Call(within(t), 0)
			must(t, err)
		}
		if got, err := pool.CallOn(within(t), lease, ts.pid, 0); err != nil || got != before[2].Pid {
			t.Fatalf("the leased lane: process %d, %v; want %d", got, err, before[2].Pid)
		}
	}
	for _, w := range p.Workers() {
		if w.State != "serving" || w.Pid != before[w.Lane].Pid {
			t.Errorf("a lane that is in, or has a call or a lease: %+v", w)
		}
	}
	release()
	must(t, came(t, "the call", held))
	lease.Release()
	gone := func(lane int) {
		t.Helper()
		until(t, "the process to end", func() bool {
			w := p.Workers()[lane]
			return w.State == "out" && w.Pid == 0 && errors.Is(syscall.Kill(before[lane].Pid, 0), syscall.ESRCH)
		})
		if w := p.Workers()[lane]; w.Deaths != 0 || w.Generation != 1 {
			t.Errorf("%+v", w)
		}
	}
	gone(1)
	gone(2)
	if pid, err := ts.pid.Call(within(t), 0); err != nil || pid != before[0].Pid {
		t.Errorf("process %d, %v; want %d", pid, err, before[0].Pid)
	}
	must(t, p.Resize(within(t), 3))
	for lane := 1; lane < 3; lane++ {
		var id pool.LaneID
		until(t, "the lane to have a process", func() bool {
			id = p.Lanes()[lane].ID
			return p.Workers()[lane].State == "serving"
		})
		if pid, err := pool.CallAt(within(t), id, ts.pid, 0); err != nil || pid == before[lane].Pid {
			t.Errorf("lane %d: process %d, %v", lane, pid, err)
		}
		if _, err := pool.CallAt(within(t), ids[lane].ID, ts.pid, 0); !errors.Is(err, pool.ErrLaneDiscarded) {
			t.Errorf("lane %d: a call with the former id: %v", lane, err)
		}
	}
	atRestProcesses(t, p)
}

// TestProcessOutCountsForNothing: no call waits for a process whose lane is out. A call ends when the only lane that is in
// cannot start its process.
func TestProcessOutCountsForNothing(t *testing.T) {
	script := t.TempDir() + "/worker"
	exe, err := os.Executable()
	must(t, err)
	must(t, os.WriteFile(script, []byte("exec "+exe+"\n"), 0o600))
	pool.SetRestartDelay(t, time.Hour) // Close ends that as well
	p, ts := newProcessPool(t, pool.Config{Lanes: 2, Process: &pool.Process{Command: []string{"/bin/sh", script}, Output: func(int, []byte, bool) {}}})
	must(t, p.Resize(within(t), 1))
	until(t, "the process to end", func() bool { return p.Workers()[1].State == "out" })
	must(t, os.WriteFile(script, []byte("exit 4\n"), 0o600))
	must(t, syscall.Kill(p.Workers()[0].Pid, syscall.SIGKILL))
	until(t, "calls are refused", func() bool {
		_, err := ts.pid.Call(within(t), 0)
		return errors.Is(err, pool.ErrRestartIntensity)
	})
}

// TestProcessResizeUnderLoad: no call is lost and none begins twice while lanes with processes go and come.
func TestProcessResizeUnderLoad(t *testing.T) {
	p, ts := newProcessPool(t, pool.Config{Lanes: 3, Concurrency: 2})
	file := t.TempDir() + "/begun"
	must(t, os.WriteFile(file, nil, 0o600))
	var over atomic.Bool
	var calls atomic.Int64
	callers := make(chan error, 4)
	for range cap(callers) {
		go func() {
			for !over.Load() {
				n := int(calls.Add(1))
				if got, err := ts.once.Call(within(t), visit{file, n}); err != nil || got != n {
					callers <- fmt.Errorf("call %d = %d, %w", n, got, err)
					return
				}
			}
			callers <- nil
		}()
	}
	for round := range 40 {
		next := calls.Load() + 20
		until(t, "some calls", func() bool { return calls.Load() >= next || len(callers) > 0 })
		must(t, p.Resize(within(t), 1+round%3))
	}
	over.Store(true)
	for range cap(callers) {
		if err := came(t, "a caller", callers); err != nil {
			t.Error(err)
		}
	}
	must(t, p.Resize(within(t), 1))
	until(t, "the processes to end", func() bool { w := p.Workers(); return w[1].State == "out" && w[2].State == "out" })
	for _, w := range p.Workers() {
		if w.Deaths != 0 {
			t.Errorf("%+v", w)
		}
	}
	atRestProcesses(t, p)
}

// TestProcessResizeObeysItsContext: a Resize whose context ends while it waits for a process adds no lane, and ends the
// processes that it has started. A later one is not in its way.
func TestProcessResizeObeysItsContext(t *testing.T) {
	dir := t.TempDir()
	script, started := dir+"/worker", dir+"/started"
	exe, err := os.Executable()
	must(t, err)
	works := []byte("exec " + exe + "\n")
	must(t, os.WriteFile(script, works, 0o600))
	p, ts := newProcessPool(t, pool.Config{Lanes: 1, Process: &pool.Process{Command: []string{"/bin/sh", script}}})
	second := "if mkdir " + dir + "/first 2>/dev/null; then exec " + exe + "; fi\n" // of three lanes, only the first is ready
	must(t, os.WriteFile(script, []byte(second+"echo $$ >"+started+".new; mv "+started+".new "+started+"; exec sleep 3600\n"), 0o600))
	why := errors.New("no patience")
	ctx, cancel := context.WithCancelCause(within(t))
	done := make(chan error, 1)
	go func() { done <- p.Resize(ctx, 3) }()
	begun(t, started)
	if w := p.Workers(); len(w) != 3 || w[2].State != "starting" {
		t.Errorf("%+v", w)
	}
	cancel(why)
	mustBe(t, came(t, "Resize", done), why)
	text, err := os.ReadFile(started)
	must(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	must(t, err)
	until(t, "the process to end", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
	until(t, "the other process to end", func() bool {
		w := p.Workers()
		return len(w) == 2 && w[1].State == "out" && w[1].Pid == 0
	})
	if n := len(p.Lanes()); n != 1 {
		t.Errorf("%d lanes", n)
	}
	must(t, os.WriteFile(script, works, 0o600))
	must(t, p.Resize(within(t), 3))
	pids := map[int]bool{}
	for i := range 3 {
		pid, err := pool.CallAt(within(t), p.Lanes()[i].ID, ts.pid, 0)
		must(t, err)
		pids[pid] = true
	}
	if w := p.Workers(); len(pids) != 3 || len(w) != 3 || w[2].Generation != 1 {
		t.Errorf("%d processes: %+v", len(pids), w)
	}
	atRestProcesses(t, p)
}
