//go:build linux && !interleave

package pool_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lanewright/lanewright/internal/patience"
	"github.com/lanewright/lanewright/internal/proctest"
	"github.com/lanewright/lanewright/pool"
)

// A host of these tests is a process of its own, which makes pools until it is killed. Its environment says how. It passes
// the token on to its workers, so that a test finds them after the death of the host.
const (
	hostMain      = "host"
	hostMode      = "TEST_HOST_MODE"
	hostRegion    = "TEST_HOST_REGION"
	hostDir       = "TEST_HOST_DIR" // for the files of handlers in a tight loop
	tokenVariable = "TEST_TOKEN"

	modeCalls = "calls" // pools begin, have calls, lose a worker, and end, one after another
	modeLoop  = "loop"  // handlers in a tight loop
	modeSpace = "space" // the same, and each worker is in a pid namespace of its own
)

// What a host prints: a line before each pool, and one when the pool serves.
const (
	saysStarting = "starting"
	saysServing  = "serving"
)

func init() {
	mains[hostMain] = func() {
		fmt.Println("the host has ended:", runHost())
		os.Exit(3)
	}
}

// namespaced is the prefix of a worker that is in a pid namespace of its own.
var namespaced = []string{"unshare", "--pid", "--fork"}

// runHost is the main function of a host.
func runHost() error {
	c := pool.Config{Lanes: 2, Concurrency: 2, Process: &pool.Process{
		Env:     []string{tokenVariable},
		Payload: pool.Payload{Initial: 64 << 10, Max: 1 << 20},
	}}
	if os.Getenv(hostRegion) == "named" {
		c.Process.Region = pool.Named
	}
	mode := os.Getenv(hostMode)
	if mode == modeSpace {
		c.Process.Prefix = namespaced
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience.Limit)
	defer cancel()
	for {
		fmt.Println(saysStarting)
		h, ts := newTasks()
		p, err := pool.New(h, c)
		if err != nil {
			return err
		}
		if mode != modeCalls {
			return spins(ctx, ts)
		}
		fmt.Println(saysServing)
		if err := serves(ctx, p, ts); err != nil {
			return err
		}
		if _, err := p.Terminate(ctx); err != nil {
			return err
		}
	}
}

// spins lets all handlers of a host compute for ever.
func spins(ctx context.Context, ts *tasks) error {
	for i := range 4 {
		file := fmt.Sprint(os.Getenv(hostDir), "/", i)
		ts.spin.Go(ctx, file)
		for _, err := os.Stat(file); err != nil; _, err = os.Stat(file) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	fmt.Println(saysServing)
	<-ctx.Done()
	return ctx.Err()
}

// serves makes calls, some while a worker dies.
func serves(ctx context.Context, p *pool.Pool, ts *tasks) error {
	calls := func() error {
		var fs []*pool.Future[[]byte]
		for _, size := range []int{0, 100, 600, 24, 3000, 600, 20_000} {
			arg := make([]byte, size)
			if got, err := ts.echo.Call(ctx, arg); len(got) != size && !errors.Is(err, pool.ErrWorkerLost) {
				return fmt.Errorf("%d bytes, %w", len(got), err)
			}
			fs = append(fs, ts.echo.Go(ctx, arg))
		}
		for _, f := range fs {
			if _, err := f.Wait(ctx); err != nil && !errors.Is(err, pool.ErrWorkerLost) {
				return err
			}
		}
		return nil
	}
	for i := range 4 {
		if i == 2 {
			if pid := p.Workers()[0].Pid; pid != 0 {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		if err := calls(); err != nil {
			return err
		}
	}
	for p.Workers()[0].Generation < 2 && ctx.Err() == nil {
		if err := calls(); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// hostProcess is a host that a test has started.
type hostProcess struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines chan string
	token string
}

var hosts = 0 // that were started

// startHost starts a host with these variables.
func startHost(t *testing.T, env ...string) *hostProcess {
	t.Helper()
	hosts++
	h := &hostProcess{t: t, token: fmt.Sprintf("%d-%d", os.Getpid(), hosts), lines: make(chan string, 1<<10)}
	env = append(env, mainVariable+"="+hostMain, tokenVariable+"="+h.token)
	h.cmd = proctest.Self(t, env)
	out, err := h.cmd.StdoutPipe()
	must(t, err)
	h.cmd.Stderr = os.Stderr
	if err := h.cmd.Start(); err != nil {
		t.Skipf("a test cannot start %s here: %v", h.cmd.Path, err)
	}
	go func() {
		defer close(h.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			h.lines <- s.Text()
		}
		_, _ = io.Copy(io.Discard, out)
	}()
	return h
}

// says waits for a line that the host prints. It ends the test if the host ends before.
func (h *hostProcess) says(want string) {
	h.t.Helper()
	for {
		line := came(h.t, "the host says "+want, h.lines)
		if line == want {
			return
		}
		if line == "" || strings.HasPrefix(line, "the host has ended") {
			h.t.Fatalf("the host has ended: %s", line)
		}
	}
}

// ended waits for the end of the host, and returns the signal that has ended it.
func (h *hostProcess) ended() syscall.Signal {
	h.t.Helper()
	last := ""
	for deadline := time.After(patience.Limit); ; {
		var line string
		var ok bool
		select {
		case line, ok = <-h.lines:
		case <-deadline:
			h.t.Fatalf("host %d has not ended; it has said %q", h.cmd.Process.Pid, last)
		}
		if !ok {
			break
		}
		last = line
	}
	_ = h.cmd.Wait() // the state says more
	status := h.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !status.Signaled() {
		h.t.Errorf("the host has ended by %v: %s", h.cmd.ProcessState, last)
		return 0
	}
	return status.Signal()
}

// workersEnd waits until no worker of the host lives, and returns how long that took after the death of the host.
func (h *hostProcess) workersEnd() time.Duration {
	h.t.Helper()
	begin := time.Now()
	var left []string
	for none := 0; none < 2; { // between two images a process shows no environment
		if left = withToken(h.t, h.token); len(left) == 0 {
			none++
			continue
		}
		none = 0
		if time.Since(begin) > patience.Limit {
			h.t.Fatalf("processes that have outlived their host: %q", left)
		}
	}
	return time.Since(begin)
}

// withToken returns the processes that have the token in their environment. One that has ended has no environment.
func withToken(t *testing.T, token string) (list []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	must(t, err)
	for _, f := range files {
		b, _ := os.ReadFile(f) // that of another user cannot be read
		if slices.Contains(strings.Split(string(b), "\x00"), tokenVariable+"="+token) {
			list = append(list, f)
		}
	}
	return list
}

// TestProcessHostKilled kills hosts at random moments: while they start workers, between calls, and with handlers in a
// tight loop, also in pid namespaces. No worker outlives its host.
func TestProcessHostKilled(t *testing.T) {
	proctest.Need(t)
	kills := 100
	if testing.Short() {
		kills = 12
	}
	modes := []string{saysStarting, saysServing, modeLoop, modeSpace}
	if err := exec.Command(namespaced[0], append(slices.Clone(namespaced[1:]), "true")...).Run(); err != nil {
		t.Logf("workers in pid namespaces are left out, because %q fails: %v", namespaced, err)
		modes = modes[:3]
	}
	if strings.Contains(os.Getenv("GODEBUG"), "asyncpreemptoff=1") {
		// Handlers in a tight loop keep all processors of the worker then, so no goroutine sees the end of the host. The
		// death signal ends the worker, but it ends the prefix instead if that has forked.
		modes = modes[:3]
	}
	random := newRand(t)(0)
	longest, found := time.Duration(0), 0
	for i := range kills {
		mode, region := modes[i%len(modes)], []string{"sealed", "named"}[i/len(modes)%2]
		env := []string{hostMode + "=" + modeCalls, hostRegion + "=" + region, hostDir + "=" + t.TempDir()}
		wait := saysServing
		switch mode {
		case saysStarting:
			wait = saysStarting
		case modeLoop, modeSpace:
			env[0] = hostMode + "=" + mode
		}
		h := startHost(t, env...)
		h.says(wait)
		if mode == saysStarting || mode == saysServing {
			<-time.After(time.Duration(random.Int64N(int64(8 * time.Millisecond)))) // a random moment
		}
		found += len(withToken(t, h.token)) - 1 // the host has it too
		must(t, h.cmd.Process.Kill())
		if s := h.ended(); s != syscall.SIGKILL {
			t.Fatalf("the host has ended by %v", s)
		}
		longest = max(longest, h.workersEnd())
	}
	t.Logf("%d hosts were killed, which had %d processes; the last one ended %v after its host", kills, found, longest)
	if found < kills/2 {
		t.Errorf("the hosts had %d processes when they were killed, so the test shows little", found)
	}
}
