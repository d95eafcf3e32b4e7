//go:build (darwin || dragonfly || freebsd || linux || netbsd || openbsd) && !interleave

package pool_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/lanewright/lanewright/internal/proctest"
	"github.com/lanewright/lanewright/pool"
)

// mains are the main functions of processes that are neither tests nor workers with the tasks of newTasks. They do not
// return. The variable names one of them.
var mains = map[string]func(){}

const mainVariable = "TEST_MAIN"

func TestMain(m *testing.M) {
	if f := mains[os.Getenv(mainVariable)]; f != nil {
		f()
	}
	h, _ := newTasks()
	nested := 0
	if os.Getenv("TEST_NESTED") != "" {
		nested = 1
	}
	pool.WorkerMain(h,
		pool.AllowNested(nested),
		pool.OnStart("goexits", func(context.Context) error { runtime.Goexit(); return nil }),
		pool.OnStart("works", func(context.Context) error { return nil }),
		pool.OnStart("fails", func(context.Context) error { return errors.New("no disk") }),
		pool.OnStart("panics", func(context.Context) error { panic("oh") }),
		pool.OnStart("exits", func(context.Context) error { os.Exit(5); return nil }),
		pool.OnStart("waits", waitForRelease),
		pool.OnStart("hangs", func(context.Context) error { select {} }),
	)
	os.Exit(m.Run())
}

// waitForRelease creates the file that the environment names, and returns when release is called for that.
func waitForRelease(context.Context) error {
	file := os.Getenv("TEST_HOOK")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return err
	}
	f, err := os.Open(file + ".fifo")
	if err != nil {
		return err
	}
	return f.Close()
}

// errDisk is an error with a name across processes, and errOther one without.
var errDisk, errOther = errors.New("disk full"), errors.New("other")

// shape is a type that crosses through a codec.
type shape struct {
	Name  string
	Sides []int
}

// panicError is an error whose Error method does not return.
type panicError string

func (b panicError) Error() string {
	switch b {
	case "panic with goexit":
		runtime.Goexit()
	case "panic with panic":
		panic("again")
	}
	select {}
}

// tasks are the tasks of the worker processes of these tests.
type tasks struct {
	echo    *pool.Func[[]byte, []byte]
	add     *pool.Func[[2]int, int]
	grow    *pool.Func[shape, shape]
	next    *pool.Func[int, int]
	same    *pool.Func[int, []byte] // returns sameBytes each time
	reuse   *pool.Func[int, []byte] // returns reusedBytes, which it clears when its context has ended
	pid     *pool.Func[int, int]
	left    *pool.Func[int, time.Duration]
	fail    *pool.Func[string, int]
	exit    *pool.Func[int, int]
	kill    *pool.Func[int, int]
	hang    *pool.Func[string, int] // creates the file when it has begun, and returns when its context ends
	abort   *pool.Func[string, int] // hang, Abortable
	hold    *pool.Func[string, int] // creates the file, and returns when release is called for that, or never
	nested  *pool.Func[int, string]
	env     *pool.Func[string, string]
	slow    *pool.Func[int, gatedResult]
	large   *pool.Func[int, []byte] // returns that many bytes
	note    *pool.Func[visit, int]  // appends its number to the file
	once    *pool.Func[visit, int]  // fails if a call with that number has begun before
	spin    *pool.Func[string, int] // creates the file, and then computes for ever
	setting *pool.Func[int, []int]  // returns GOMAXPROCS and GOGC
	fill    *pool.Func[int, int]    // keeps that many bytes, which it writes to
	untyped string
	borderTasks
}

// kept is what fill keeps.
var kept []byte

// gatedResult is a result whose decoding may have to wait.
type gatedResult struct{ text string }

// decodeGate is what the decoding of a result waits for.
type decodeGate struct {
	begun atomic.Int32 // how many have come to it
	open  chan struct{}
}

// decoding, when not nil, is the gate of the results that the host decodes.
var decoding atomic.Pointer[decodeGate]

func (g gatedResult) MarshalBinary() ([]byte, error) { return []byte(g.text), nil }

func (g *gatedResult) UnmarshalBinary(b []byte) error {
	g.text = string(b)
	if c := decoding.Load(); c != nil {
		c.begun.Add(1)
		<-c.open
	}
	return nil
}

// visit is the argument of a call that must not begin twice: the byte of its number in the file says whether it has.
type visit struct {
	File   string
	Number int
}

// begin notes that the call has begun.
func (v visit) begin() error {
	f, err := os.OpenFile(v.File, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	had := make([]byte, 1)
	if _, err := f.ReadAt(had, int64(v.Number)); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if had[0] != 0 {
		return fmt.Errorf("call %d has begun twice", v.Number)
	}
	_, err = f.WriteAt([]byte{1}, int64(v.Number))
	return err
}

func newTasks() (*pool.Handlers, *tasks) {
	h := new(pool.Handlers)
	pool.RegisterError(h, "disk", errDisk)
	t := &tasks{untyped: "untyped"}
	t.echo = pool.Register(h, "echo", func(_ context.Context, b []byte) ([]byte, error) { return b, nil })
	t.add = pool.Register(h, "add", func(_ context.Context, a [2]int) (int, error) { return a[0] + a[1], nil })
	t.grow = pool.Register(h, "grow", func(_ context.Context, s shape) (shape, error) {
		s.Sides = append(s.Sides, len(s.Sides))
		return s, nil
	})
	t.next = pool.Register(h, "next", func(_ context.Context, n int) (int, error) { return n + 1, nil })
	t.register(h)
	t.left = pool.Register(h, "left", func(ctx context.Context, _ int) (time.Duration, error) {
		until, _ := ctx.Deadline()
		return time.Until(until), nil
	})
	t.same = pool.Register(h, "same", func(context.Context, int) ([]byte, error) { return sameBytes, nil })
	t.reuse = pool.Register(h, "reuse", func(ctx context.Context, _ int) ([]byte, error) {
		for i := range reusedBytes {
			reusedBytes[i] = 7
		}
		context.AfterFunc(ctx, func() { clear(reusedBytes) })
		return reusedBytes, nil
	})
	t.pid = pool.Register(h, "pid", func(context.Context, int) (int, error) { return os.Getpid(), nil })
	t.fail = pool.Register(h, "fail", func(_ context.Context, how string) (int, error) {
		switch how {
		case "panic":
			panic("oh")
		case "huge panic":
			panic(strings.Repeat("x", 2<<20))
		case "goexit":
			runtime.Goexit()
		case "panic with goexit", "panic with panic", "panic for ever":
			panic(panicError(how))
		case "disk":
			return 0, fmt.Errorf("save: %w", errDisk)
		case "file":
			_, err := os.Open("/nonexistent/file")
			return 0, err
		case "fields":
			return 0, &pool.RemoteError{Message: "bad", Fields: map[string]any{"code": 7.0}}
		}
		return 0, errOther
	})
	t.exit = pool.Register(h, "exit", func(_ context.Context, code int) (int, error) { os.Exit(code); return 0, nil })
	t.kill = pool.Register(h, "kill", func(_ context.Context, sig int) (int, error) {
		_ = syscall.Kill(os.Getpid(), syscall.Signal(sig))
		select {}
	})
	hang := func(ctx context.Context, file string) (int, error) {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			return 0, err
		}
		<-ctx.Done()
		return 0, os.WriteFile(file+".ended", []byte(fmt.Sprint(pool.AbortSignalOf(ctx).Aborted())), 0o600)
	}
	t.hang = pool.Register(h, "hang", hang)
	t.abort = pool.Register(h, "abort", hang, pool.TaskOptions{Abortable: true})
	t.hold = pool.Register(h, "hold", func(_ context.Context, file string) (int, error) {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			return 0, err
		}
		f, err := os.Open(file + ".fifo") // returns when the other end is opened
		if err != nil {
			select {}
		}
		return os.Getpid(), f.Close()
	})
	t.nested = pool.Register(h, "nested", func(ctx context.Context, _ int) (string, error) {
		p, err := pool.New(nil, pool.Config{})
		_, err2 := t.add.Call(ctx, [2]int{1, 2})
		if err == nil {
			err = p.Close()
		}
		return fmt.Sprint(errors.Is(err, pool.ErrNestedWorker), errors.Is(err2, pool.ErrNestedWorker)), nil
	})
	t.large = pool.Register(h, "large", func(_ context.Context, n int) ([]byte, error) { return make([]byte, n), nil })
	t.note = pool.Register(h, "note", func(_ context.Context, v visit) (int, error) {
		f, err := os.OpenFile(v.File, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			return 0, err
		}
		_, err = f.Write([]byte{byte(v.Number)})
		return v.Number, errors.Join(err, f.Close())
	})
	t.slow = pool.Register(h, "slow", func(context.Context, int) (gatedResult, error) { return gatedResult{"a"}, nil })
	t.env = pool.Register(h, "env", func(_ context.Context, name string) (string, error) { return os.Getenv(name), nil })
	t.fill = pool.Register(h, "fill", func(_ context.Context, n int) (int, error) {
		kept = bytes.Repeat([]byte{1}, n)
		return n, nil
	})
	t.setting = pool.Register(h, "setting", func(context.Context, int) ([]int, error) {
		gogc := debug.SetGCPercent(100) // there is no other way to read it
		debug.SetGCPercent(gogc)
		return []int{runtime.GOMAXPROCS(0), gogc}, nil
	})
	t.spin = pool.Register(h, "spin", func(_ context.Context, file string) (n int, _ error) {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			return 0, err
		}
		for { // until the process ends
			n++
		}
	})
	t.once = pool.Register(h, "once", func(_ context.Context, v visit) (int, error) { return v.Number, v.begin() })
	h.Handle(t.untyped, func(_ context.Context, v any) (any, error) { return v, nil })
	return h, t
}

// newProcessPool makes a pool of worker processes.
func newProcessPool(tb testing.TB, c pool.Config) (*pool.Pool, *tasks) {
	tb.Helper()
	proctest.Need(tb)
	h, ts := newTasks()
	if c.Process == nil {
		c.Process = new(pool.Process)
	}
	if c.Process.Payload.Max == 0 {
		c.Process.Payload = pool.Payload{Initial: 1 << 20, Max: 8 << 20}
	}
	p, err := pool.New(h, c)
	if errors.Is(err, errors.ErrUnsupported) {
		tb.Skip(err)
	}
	must(tb, err)
	tb.Cleanup(func() {
		ends(tb, "Terminate", func() { // which waits for the services without its context
			if left, err := p.Terminate(within(tb)); left != 0 || err != nil {
				tb.Errorf("Terminate = %d, %v", left, err)
			}
		})
	})
	return p, ts
}

// releaser returns what lets the handler of hold with that file return.
func releaser(tb testing.TB, file string) (release func()) {
	tb.Helper()
	fifo := file + ".fifo"
	must(tb, syscall.Mkfifo(fifo, 0o600))
	return func() {
		f, err := os.OpenFile(fifo, os.O_WRONLY, 0)
		must(tb, err)
		must(tb, f.Close())
	}
}

// begun waits until a handler has made the file.
func begun(tb testing.TB, file string) {
	tb.Helper()
	until(tb, "the handler has begun", func() bool { _, err := os.Stat(file); return err == nil })
}

// TestProcessPermits: a lane has as many permits as its process may have calls, and no more, however many are sent ahead.
func TestProcessPermits(t *testing.T) {
	p, _ := newProcessPool(t, pool.Config{Lanes: 1})
	for range 2 { // the second time the lane has them already
		if n := p.ExtraPermits(0, 5); n != 5 {
			t.Errorf("%d calls, want 5", n)
		}
	}
	atRestProcesses(t, p)
}

// TestProcessCalls: calls of each tier of payload and each encoding have their results, which another process has made.
// K-006, C-007, C-008.
func TestProcessCalls(t *testing.T) {
	p, ts := newProcessPool(t, pool.Config{Lanes: 2, Concurrency: 2})
	ctx := within(t)
	for i := range 200 {
		if got, err := ts.add.Call(ctx, [2]int{i, 1}); err != nil || got != i+1 {
			t.Fatalf("add = %d, %v; want %d", got, err, i+1)
		}
	}
	for _, n := range []int{0, 24, 25, 512, 513, 100_000, 1 << 20} {
		arg := bytes.Repeat([]byte{byte(n)}, n)
		if got, err := ts.echo.Call(ctx, arg); err != nil || !bytes.Equal(got, arg) {
			t.Errorf("echo of %d bytes = %d bytes, %v", n, len(got), err)
		}
	}
	if got, err := ts.grow.Call(ctx, shape{"a", []int{7}}); err != nil || got.Name != "a" || len(got.Sides) != 2 {
		t.Errorf("grow = %v, %v", got, err)
	}
	if pid, err := ts.pid.Call(ctx, 0); err != nil || pid == os.Getpid() {
		t.Errorf("pid = %d, %v", pid, err)
	}
	for _, v := range []any{nil, 7, "text", []byte{1}, 2.5} {
		if got, err := p.RunTask(ctx, ts.untyped, v); err != nil || fmt.Sprint(got) != fmt.Sprint(v) {
			t.Errorf("untyped %v = %v, %v", v, got, err)
		}
	}
	if got, err := p.RunTask(ctx, "add", [2]int{3, 4}); err != nil || got != 7 {
		t.Errorf("RunTask(add) = %v, %v", got, err)
	}
	var fs []*pool.Future[int]
	for i := range 300 {
		fs = append(fs, ts.add.Go(ctx, [2]int{i, i}))
	}
	for i, f := range fs {
		if got, err := f.Wait(ctx); err != nil || got != 2*i {
			t.Fatalf("Go: %d, %v; want %d", got, err, 2*i)
		}
	}
	dep := ts.add.Go(ctx, [2]int{1, 1})
	if pid, err := ts.pid.After(ctx, dep).Wait(ctx); err != nil || pid == os.Getpid() {
		t.Errorf("After = %d, %v", pid, err)
	}
	atRestProcesses(t, p)
}

// atRestProcesses checks that no call is left and that the counts say so.
func atRestProcesses(t *testing.T, p *pool.Pool) {
	t.Helper()
	must(t, p.Wait(within(t)))
	m := p.Metrics()
	if m.Accepted != m.Ended || m.Backlog != 0 || m.InFlight != 0 || m.Waiting != 0 {
		t.Errorf("at rest: %+v", m)
	}
	for _, l := range m.Lanes {
		if l.Backlog != 0 || l.InFlight != 0 || l.Overdue != 0 || len(l.Running) != 0 {
			t.Errorf("at rest: %+v", l)
		}
	}
}

// sameBytes is a result that a handler keeps. reusedBytes is memory of a handler whose calls come one after another.
var (
	sameBytes   = []byte("the same bytes")
	reusedBytes = make([]byte, 256<<10)
)

// TestProcessResultsOfOthers: the bytes of a result belong to the handler in the worker, and to the caller in the host. No
// other call changes them.
func TestProcessResultsOfOthers(t *testing.T) {
	p, ts := newProcessPool(t, pool.Config{Lanes: 1})
	var all [][]byte
	for i := range 3 {
		got, err := ts.same.Call(within(t), i)
		must(t, err)
		all = append(all, got)
		if n, err := ts.next.Call(within(t), i); err != nil || n != i+1 { // a result that is encoded
			t.Errorf("%d, %v", n, err)
		}
		small, err := ts.echo.Call(within(t), []byte{byte(i)})
		if err != nil || !bytes.Equal(small, []byte{byte(i)}) {
			t.Errorf("%v, %v", small, err)
		}
	}
	for range 20 {
		got, err := ts.reuse.Call(within(t), 0)
		if err != nil || len(got) != len(reusedBytes) || bytes.Count(got, []byte{7}) != len(got) {
			t.Fatalf("%d of %d bytes are those of the result, %v", bytes.Count(got, []byte{7}), len(got), err)
		}
		must(t, p.Discard(p.Lanes()[0].ID, nil)) // another process: the function of this one may come late
	}
	for i, got := range all {
		if string(got) != "the same bytes" {
			t.Errorf("result %d is %q", i, got)
		}
	}
}

// TestProcessFailures: errors, panics and Goexits of handlers keep their text, their type and the identity of the errors
// with a name. C-037, K-117.
func TestProcessFailures(t *testing.T) {
	p, ts := newProcessPool(t, pool.Config{Lanes: 1})
	ctx := within(t)
	call := func(how string) *pool.RemoteError {
		_, err := ts.fail.Call(ctx, how)
		var e *pool.RemoteError
		if !errors.As(err, &e) || errors.Is(err, pool.ErrNotStarted) || errors.Is(err, pool.ErrWorkerLost) {
			t.Fatalf("%s: %v", how, err)
		}
		return e
	}
	if e := call("other"); e.Message != "other" || e.Type != "*errors.errorString" || errors.Is(e, errDisk) {
		t.Errorf("%+v", e)
	}
	if e := call("disk"); !errors.Is(e, errDisk) || e.Message != "save: disk full" {
		t.Errorf("%+v", e)
	}
	if e := call("panic"); !strings.Contains(e.Error(), `panic in task "fail": oh`) || !strings.Contains(e.Stack, "process_test.go") {
		t.Errorf("%v\n%s", e, e.Stack)
	}
	if e := call("goexit"); !errors.Is(e, pool.ErrGoexit) {
		t.Errorf("%+v", e)
	}
	if e := call("fields"); e.Fields["code"] != 7.0 {
		t.Errorf("%+v", e)
	}
	if e := call("file"); e.Type != "*fs.PathError" {
		t.Errorf("%+v", e)
	}
	if e := call("huge panic"); !strings.Contains(e.Message, "too large") {
		t.Errorf("%.200v", e)
	}
	if _, err := ts.large.Call(ctx, 2<<20); !strings.Contains(fmt.Sprint(err), "too large") {
		t.Errorf("a large result: %.200v", err)
	}
	m := p.Metrics().Ends
	if m.Failed != 5 || m.Panicked != 2 || m.Exited != 1 {
		t.Errorf("%+v", m)
	}
	if got, err := ts.add.Call(ctx, [2]int{1, 2}); err != nil || got != 3 {
		t.Errorf("afterwards: %d, %v", got, err)
	}
}

// TestProcessPanicValues: a panic whose value has a method that does not return ends its call. The text is
// the type of the value after a Goexit. A method that blocks belongs to the handler: the time of the caller ends the call,
// and the permit comes back when the method returns, or with another process.
func TestProcessPanicValues(t *testing.T) {
	p, ts := newProcessPool(t, pool.Config{Lanes: 1, Concurrency: 2})
	for how, want := range map[string]string{"panic with goexit": "pool_test.panicError", "panic with panic": "again"} {
		for range 3 {
			_, err := ts.fail.Call(within(t), how)
			var e *pool.RemoteError
			if !errors.As(err, &e) || !strings.Contains(e.Message, want) || errors.Is(err, pool.ErrWorkerLost) {
				t.Fatalf("%s: %v", how, err)
			}
		}
	}
	ctx, cancel := context.WithTimeout(within(t), 20*time.Millisecond)
	defer cancel()
	if _, err := ts.fail.Call(ctx, "panic for ever"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a value that blocks: %v", err)
	}
	if got, err := ts.add.Call(within(t), [2]int{1, 2}); err != nil || got != 3 {
		t.Errorf("beside the value that blocks: %d, %v", got, err)
	}
	if m := p.Metrics().Ends; m.Panicked != 6 || p.Workers()[0].Deaths != 0 {
		t.Errorf("%+v, %d deaths", m, p.Workers()[0].Deaths)
	}
}

// TestProcessDeath: the end of a worker process ends the call that it runs with the text for it, and the next call runs
// in a new process. C-013, C-014, C-015.
func TestProcessDeath(t *testing.T) {
	p, ts := newProcessPool(t, pool.Config{Lanes: 1})
	ctx := within(t)
	for _, tc := range []struct {
		call func() (int, error)
		text string
		is   error
	}{
		{func() (int, error) { return ts.exit.Call(ctx, 3) }, "Worker stopped with exit code 3", pool.ErrWorkerLost},
		{func() (int, error) { return ts.exit.Call(ctx, 0) }, "Worker stopped with exit code 0", pool.ErrWorkerExited},
		{func() (int, error) { return ts.kill.Call(ctx, int(syscall.SIGKILL)) }, "Worker error: signal: killed", pool.ErrWorkerLost},
	} {
		_, err := tc.call()
		if err == nil || err.Error() != tc.text || !errors.Is(err, tc.is) || !errors.Is(err, pool.ErrWorkerLost) || errors.Is(err, pool.ErrNotStarted) {
			t.Errorf("%v; want %q", err, tc.text)
		}
		if got, err := ts.add.Call(ctx, [2]int{1, 2}); err != nil || got != 3 {
			t.Errorf("afterwards: %d, %v", got, err)
		}
	}
	atRestProcesses(t, p)
	if n := p.Metrics().Ends.WorkerLost; n != 3 {
		t.Errorf("%d calls were lost; want 3", n)
	}
	if w := p.Workers(); len(w) != 1 || w[0].Deaths != 3 || w[0].Generation != 4 || w[0].State != "serving" {
		t.Errorf("%+v", w)
	}
}

// TestProcessContextEnd: the handler of a call learns of the end of the context, of its time, and, if it is Abortable,
// of an abort. The caller has its error at once, and the lane is occupied until the handler has returned.
func TestProcessContextEnd(t *testing.T) {
	p, ts := newProcessPool(t, pool.Config{Lanes: 1, Concurrency: 2})
	ended := func(file string) string {
		t.Helper()
		var text []byte
		until(t, "the handler has ended", func() (ok bool) {
			b, err := os.ReadFile(file + ".ended")
			text = b
			return err == nil && len(b) > 0
		})
		return string(text)
	}
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(within(t))
	file := dir + "/cancel"
	f := ts.hang.Go(ctx, file)
	begun(t, file)
	cancel()
	if _, err := f.Wait(within(t)); !errors.Is(err, context.Canceled) || errors.Is(err, pool.ErrNotStarted) {
		t.Errorf("cancelled: %v", err)
	}
	if got := ended(file); got != "false" {
		t.Errorf("the signal of a task that is not Abortable: %s", got)
	}
	file = dir + "/abort"
	f = ts.abort.Go(within(t), file)
	begun(t, file)
	f.Abort(nil)
	if _, err := f.Wait(within(t)); !errors.Is(err, pool.ErrAborted) {
		t.Errorf("aborted: %v", err)
	}
	if got := ended(file); got != "true" {
		t.Errorf("the signal of an Abortable task: %s", got)
	}
	ctx, cancel = context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	if left, err := ts.left.Go(ctx, 0).Wait(within(t)); err != nil || left > time.Hour || left < time.Hour*3/4 {
		t.Errorf("the handler of a call with an hour has %v, %v", left, err)
	}
	file = dir + "/time"
	ctx, cancel = context.WithTimeout(within(t), 50*time.Millisecond)
	defer cancel()
	if _, err := ts.hang.Call(ctx, file); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("timed out: %v", err)
	}
	if _, err := os.Stat(file); err == nil { // otherwise it had not started in time
		ended(file)
	}
	until(t, "the lane is free", func() bool { l := p.Lanes()[0]; return l.Overdue == 0 && len(l.Running) == 0 })
	atRestProcesses(t, p)
	if d := p.Workers()[0].Deaths; d != 0 {
		t.Errorf("%d processes have died", d)
	}
	file = dir + "/other"
	f = ts.hang.Go(within(t), file)
	begun(t, file)
	f.Abort(nil)
	must(t, p.Ping(within(t), 0)) // the process has received what the host has sent before
	for range 200 {               // and its goroutines have run
		if _, err := ts.add.Call(within(t), [2]int{1, 2}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(file + ".ended"); err == nil || p.Lanes()[0].Overdue != 1 {
		t.Errorf("the handler of a task that is not Abortable has learned of an abort: %v", err)
	}
	ends(t, "Discard", func() { _ = p.Discard(p.Lanes()[0].ID, nil) })
}

// suspend stops a process, and returns when none of its threads runs, where the system tells that.
func suspend(t *testing.T, pid int) {
	t.Helper()
	must(t, syscall.Kill(pid, syscall.SIGSTOP))
	until(t, "the process has stopped", func() bool {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid)) // the pattern is valid
		for _, thread := range threads {
			text, _ := os.ReadFile(thread) // empty for a thread that has ended
			if _, state, ok := strings.Cut(string(text), ") "); ok && state[0] != 'T' && state[0] != 'Z' {
				return false
			}
		}
		return true
	})
}

// TestProcessHardLimitOfAnAbortedCall: the hard limit holds for a handler whose call has ended.
func TestProcessHardLimitOfAnAbortedCall(t *testing.T) {
	p, ts := newProcessPool(t, pool.Config{Lanes: 1, HardLimit: time.Second})
	file := t.TempDir() + "/file"
	f := ts.hold.Go(within(t), file)
	begun(t, file)
	f.Abort(nil)
	until(t, "the process is killed", func() bool { return p.Workers()[0].Deaths == 1 })
	until(t, "the lane is free", func() bool { return p.Lanes()[0].Overdue == 0 })
}

// TestProcessReturns: calls that a dead process had and has not started run in their order, before those that came later.
// One that names the lane ends, and has not started.
func TestProcessReturns(t *testing.T) {
	p, ts := newProcessPool(t, pool.Config{Lanes: 1, Concurrency: 6})
	file := t.TempDir() + "/file"
	pid := p.Workers()[0].Pid
	suspend(t, pid)
	var fs []*pool.Future[int]
	for i := range 5 {
		fs = append(fs, ts.note.Go(within(t), visit{file, i}))
	}
	named := pool.GoAt(within(t), p.Lanes()[0].ID, ts.note, visit{file, 99})
	for i := range 5 {
		fs = append(fs, ts.note.Go(within(t), visit{file, 5 + i}))
	}
	if m := p.Metrics(); m.InFlight != 6 || m.Waiting != 5 {
		t.Errorf("%d run, %d wait", m.InFlight, m.Waiting)
	}
	must(t, p.SetConcurrency(1)) // the next process
	must(t, syscall.Kill(pid, syscall.SIGKILL))
	for i, f := range fs {
		if got, err := f.Wait(within(t)); err != nil || got != i {
			t.Errorf("call %d: %d, %v", i, got, err)
		}
	}
	if _, err := named.Wait(within(t)); !errors.Is(err, pool.ErrLaneDiscarded) || !errors.Is(err, pool.ErrNotStarted) {
		t.Errorf("the call that names the lane: %v", err)
	}
	text, err := os.ReadFile(file)
	must(t, err)
	if want := []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}; !bytes.Equal(text, want) {
		t.Errorf("the calls have begun in the order %v", text)
	}
	atRestProcesses(t, p)
	if l := p.Metrics().Lanes[0]; l.Resent != 5 {
		t.Errorf("%d calls have come back", l.Resent)
	}
}

// TestProcessLease: a goroutine gets a lane without a process when the next process serves.
func TestProcessLease(t *testing.T) {
	file := t.TempDir() + "/worker"
	exe, err := os.Executable()
	must(t, err)
	must(t, os.WriteFile(file, []byte("exec "+exe+"\n"), 0o600))
	release := releaser(t, file)
	p, ts := newProcessPool(t, pool.Config{Lanes: 1, Process: &pool.Process{Command: []string{"/bin/sh", file}}})
	must(t, os.WriteFile(file, []byte("read line <"+file+".fifo; exec "+exe+"\n"), 0o600))
	for i := range 5 {
		must(t, syscall.Kill(p.Workers()[0].Pid, syscall.SIGKILL))
		until(t, "the next process starts", func() bool { return p.Workers()[0].Generation == i+2 })
		leases := make(chan *pool.Lease, 1)
		go func() {
			lease, err := p.Acquire(within(t))
			if err != nil {
				t.Errorf("Acquire: %v", err)
			}
			leases <- lease
		}()
		until(t, "Acquire waits", func() bool { return p.LeaseWaiters() == 1 })
		release()
		lease := <-leases
		if lease == nil {
			return
		}
		if _, err := pool.CallOn(within(t), lease, ts.pid, 0); err != nil {
			t.Errorf("%v", err)
		}
		lease.Release()
	}
}

// TestProcessCrashLoop: processes that end before they have answered a call are started with growing pauses, and then not.
func TestProcessCrashLoop(t *testing.T) {
	pool.SetRestartDelay(t, time.Hour) // Close ends that as well
	_, ts := newProcessPool(t, pool.Config{Lanes: 1})
	until(t, "a call is refused", func() bool {
		_, err := ts.exit.Call(within(t), 1)
		if errors.Is(err, pool.ErrWorkerLost) == errors.Is(err, pool.ErrNotStarted) {
			t.Fatalf("%v", err)
		}
		return errors.Is(err, pool.ErrRestartIntensity)
	})
}

// TestProcessHardLimit: the hard limit of a call kills its process. Another call that runs there ends with an error that
// says so. K-104.
func TestProcessHardLimit(t *testing.T) {
	p, ts := newProcessPool(t, pool.Config{Lanes: 1, Concurrency: 2, HardLimit: 300 * time.Millisecond})
	dir := t.TempDir()
	first := ts.hold.Go(within(t), dir+"/first")
	begun(t, dir+"/first")
	var other *pool.Future[int]
	until(t, "a later call runs", func() bool {
		other = ts.hold.Go(within(t), dir+"/other")
		return true
	})
	_, err := first.Wait(within(t))
	if !errors.Is(err, pool.ErrHardLimit) {
		t.Errorf("the call: %v", err)
	}
	_, err = other.Wait(within(t))
	var w pool.WorkerError
	if !errors.As(err, &w) || err.Error() != "Worker error: hard limit of another call" {
		if !errors.Is(err, pool.ErrHardLimit) { // it was that close to its own limit
			t.Errorf("the other call: %v", err)
		}
	}
	until(t, "the next process answers", func() bool { // it may take longer than the limit on a busy machine
		got, err := ts.add.Call(within(t), [2]int{1, 2})
		return err == nil && got == 3
	})
	atRestProcesses(t, p)
}

// TestProcessClose: Close ends calls at once and the processes afterwards. Calls of Shutdown finish.
func TestProcessClose(t *testing.T) {
	p, ts := newProcessPool(t, pool.Config{Lanes: 2, Process: &pool.Process{StopGrace: 100 * time.Millisecond}})
	dir := t.TempDir()
	var fs []*pool.Future[int]
	for i := range 5 {
		fs = append(fs, ts.hold.Go(within(t), fmt.Sprint(dir, "/", i)))
	}
	begun(t, dir+"/0")
	ends(t, "Close", func() { _ = p.Close() })
	for _, f := range fs {
		if _, err := f.Wait(within(t)); !errors.Is(err, pool.ErrThreadClosed) {
			t.Errorf("%v", err)
		}
	}
	if left, err := p.Terminate(within(t)); left != 0 || err != nil {
		t.Errorf("Terminate = %d, %v", left, err)
	}
	if _, err := ts.add.Call(within(t), [2]int{}); !errors.Is(err, pool.ErrPoolShutdown) {
		t.Errorf("after Close: %v", err)
	}

	p, ts = newProcessPool(t, pool.Config{Lanes: 2, Process: &pool.Process{StopGrace: time.Hour}}) // the processes end by themselves
	file := t.TempDir() + "/file"
	release := releaser(t, file)
	f := ts.hold.Go(within(t), file)
	begun(t, file)
	ended := make(chan error, 1)
	go func() { ended <- p.Shutdown(within(t)) }()
	until(t, "the pool drains", func() bool { return p.Metrics().Status == "draining" })
	release()
	if pid, err := f.Wait(within(t)); err != nil || pid == 0 {
		t.Errorf("%d, %v", pid, err)
	}
	must(t, <-ended)

	p, ts = newProcessPool(t, pool.Config{Lanes: 1, Process: &pool.Process{StopGrace: time.Hour}})
	file = t.TempDir() + "/file"
	ts.abort.Go(within(t), file)
	begun(t, file)
	must(t, p.Close())
	if left, err := p.Terminate(within(t)); left != 0 || err != nil { // the handler learns of it, and its process of its end
		t.Errorf("Terminate = %d, %v", left, err)
	}
}

// TestProcessDiscard: Discard ends the calls of a lane and kills its process. The lane has a new id then.
func TestProcessDiscard(t *testing.T) {
	p, ts := newProcessPool(t, pool.Config{Lanes: 1})
	lease, err := p.Acquire(within(t))
	must(t, err)
	pid, err := pool.CallOn(within(t), lease, ts.pid, 0)
	must(t, err)
	file := t.TempDir() + "/file"
	f := pool.GoOn(within(t), lease, ts.hold, file)
	begun(t, file)
	ends(t, "Discard", func() { lease.Discard(errOther) })
	if _, err := f.Wait(within(t)); !errors.Is(err, errOther) || errors.Is(err, pool.ErrWorkerLost) {
		t.Errorf("the call: %v", err)
	}
	if _, err := pool.CallOn(within(t), lease, ts.pid, 0); !errors.Is(err, pool.ErrLeaseOver) {
		t.Errorf("the lease: %v", err)
	}
	again, err := ts.pid.Call(within(t), 0)
	if err != nil || again == pid {
		t.Errorf("pid %d, then %d, %v", pid, again, err)
	}
	if id := p.Lanes()[0].ID; id.Generation != 2 {
		t.Errorf("%+v", id)
	}
	if err := p.Discard(pool.LaneID{Lane: 0, Generation: 1}, nil); !errors.Is(err, pool.ErrLaneDiscarded) {
		t.Errorf("Discard of an old id = %v", err)
	}
	atRestProcesses(t, p)
}

// nilError is an error whose method panics when it is nil.
type nilError struct{ text string }

func (e *nilError) Error() string { return e.text }

// TestProcessDiscardReason: the reason of a Discard, which ends a process that has answered no call, is code of the program.
// The lane gets another process, whatever the reason does.
func TestProcessDiscardReason(t *testing.T) {
	p, ts := newProcessPool(t, pool.Config{Lanes: 1})
	file := t.TempDir() + "/file"
	f := ts.hold.Go(within(t), file)
	begun(t, file)
	ends(t, "Discard", func() { must(t, p.Discard(p.Lanes()[0].ID, (*nilError)(nil))) })
	if _, err := f.Wait(within(t)); !errors.As(err, new(*nilError)) {
		t.Errorf("the error of the call is a %T", err)
	}
	until(t, "the next process answers", func() bool { got, err := ts.next.Call(within(t), 1); return err == nil && got == 2 })
}

// TestProcessLaneDeath: a death gives the lane a new id. Calls that name the old one, or came through its lease, end and
// have not started.
func TestProcessLaneDeath(t *testing.T) {
	p, ts := newProcessPool(t, pool.Config{Lanes: 2})
	lease, err := p.AcquireLane(within(t), 0)
	must(t, err)
	id := lease.ID()
	file := t.TempDir() + "/file"
	running := pool.GoOn(within(t), lease, ts.hold, file)
	begun(t, file)
	waiting := pool.GoOn(within(t), lease, ts.pid, 0)
	named := pool.GoAt(within(t), id, ts.pid, 0)
	anyLane := ts.add.Go(within(t), [2]int{1, 2})
	must(t, syscall.Kill(p.Workers()[0].Pid, syscall.SIGKILL))
	if _, err := running.Wait(within(t)); !errors.Is(err, pool.ErrWorkerLost) {
		t.Errorf("the call that ran: %v", err)
	}
	for name, f := range map[string]*pool.Future[int]{"leased": waiting, "named": named} {
		if _, err := f.Wait(within(t)); !errors.Is(err, pool.ErrLaneDiscarded) || !errors.Is(err, pool.ErrNotStarted) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := pool.CallOn(within(t), lease, ts.pid, 0); !errors.Is(err, pool.ErrLeaseOver) {
		t.Errorf("the lease: %v", err)
	}
	if got, err := anyLane.Wait(within(t)); err != nil || got != 3 {
		t.Errorf("a call that names no lane: %d, %v", got, err)
	}
	if _, err := pool.CallAt(within(t), id, ts.pid, 0); !errors.Is(err, pool.ErrLaneDiscarded) {
		t.Errorf("the id: %v", err)
	}
	atRestProcesses(t, p)
}

// TestProcessNotReady: New names why a worker process is not ready, and leaves none. K-093, C-043.
func TestProcessNotReady(t *testing.T) {
	proctest.Need(t)
	for name, tc := range map[string]struct {
		process pool.Process
		is      error
		text    string
	}{
		"no program":    {pool.Process{Command: []string{"/nonexistent/program"}}, pool.ErrWorkerBoot, "/nonexistent/program"},
		"no folder":     {pool.Process{Dir: "/nonexistent"}, pool.ErrWorkerBoot, "/nonexistent"},
		"no worker":     {pool.Process{Command: []string{"/bin/sh", "-c", "echo hello; exit 4"}}, pool.ErrWorkerBoot, "hello"},
		"hook fails":    {pool.Process{Bootstrap: "fails"}, pool.ErrWorkerBoot, "no disk"},
		"hook panics":   {pool.Process{Bootstrap: "panics"}, pool.ErrWorkerBoot, "oh"},
		"hook exits":    {pool.Process{Bootstrap: "exits"}, pool.ErrWorkerBoot, "exit code 5"},
		"hook goexits":  {pool.Process{Bootstrap: "goexits"}, pool.ErrWorkerBoot, "Goexit"},
		"hook hangs":    {pool.Process{Bootstrap: "hangs", StartTimeout: 200 * time.Millisecond}, pool.ErrWorkerBoot, "200ms"},
		"hook missing":  {pool.Process{Bootstrap: "missing"}, pool.ErrWorkerBoot, `"missing"`},
		"negative time": {pool.Process{StartTimeout: -1}, nil, "Process.StartTimeout"},
	} {
		t.Run(name, func(t *testing.T) {
			h, _ := newTasks()
			p, err := pool.New(h, pool.Config{Lanes: 2, Process: &tc.process})
			if errors.Is(err, errors.ErrUnsupported) {
				t.Skip(err)
			}
			if err == nil {
				_ = p.Close()
				t.Fatal("New has no error")
			}
			if tc.is != nil && !errors.Is(err, tc.is) || errors.Is(err, pool.ErrWorkerLost) || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("New = %v; want %q", err, tc.text)
			}
		})
	}
	h, _ := newTasks()
	pool.Register(h, "another", func(context.Context, int) (int, error) { return 0, nil })
	if _, err := pool.New(h, pool.Config{Lanes: 1, Process: new(pool.Process)}); !errors.Is(err, pool.ErrHandlersMismatch) || !strings.Contains(err.Error(), `"another"`) {
		t.Errorf("New with another task = %v", err)
	}
}

// TestProcessRefusals: what a pool of processes cannot have is an error that names it. K-122, K-123, K-142.
func TestProcessRefusals(t *testing.T) {
	p, ts := newProcessPool(t, pool.Config{Lanes: 1, Process: &pool.Process{Bootstrap: "works", Env: []string{"A_TEST=1"}}})
	ctx := within(t)
	if got, err := ts.nested.Call(ctx, 0); err != nil || got != "true true" {
		t.Errorf("nested = %q, %v", got, err)
	}
	if got, err := ts.env.Call(ctx, "A_TEST"); err != nil || got != "1" {
		t.Errorf("A_TEST = %q, %v", got, err)
	}
	t.Setenv("SECRET", "1")
	if got, err := ts.env.Call(ctx, "SECRET"); err != nil || got != "" {
		t.Errorf("SECRET = %q, %v", got, err)
	}
	if _, err := ts.echo.Call(ctx, make([]byte, 2<<20)); !strings.Contains(fmt.Sprint(err), "too large") || !errors.Is(err, pool.ErrNotStarted) {
		t.Errorf("a large argument: %v", err)
	}
	must(t, p.SetConcurrency(31))
	if err := p.SetConcurrency(32); err == nil {
		t.Error("SetConcurrency(32) has no error")
	}
	for field, c := range map[string]pool.Config{
		"Inline": {Inline: new(pool.Inline)}, "Overflow": {Overflow: pool.CallerRuns}, "Concurrency": {Concurrency: 32},
		"Labels": {Labels: true}, "Process.Region": {Process: &pool.Process{Region: 9}},
	} {
		if c.Process == nil {
			c.Process = new(pool.Process)
		}
		if _, err := pool.New(nil, c); err == nil || !strings.Contains(err.Error(), "Config."+field+":") {
			t.Errorf("New with %s = %v", field, err)
		}
	}
	h := new(pool.Handlers)
	pool.RemoteFunc[int, int](h, "far")
	if _, err := pool.New(h, pool.Config{Lanes: 1}); !errors.Is(err, pool.ErrRemoteOnly) {
		t.Errorf("RemoteFunc without processes: %v", err)
	}
	h = new(pool.Handlers)
	pool.Register(h, "chan", func(context.Context, chan int) (int, error) { return 0, nil })
	if _, err := pool.New(h, pool.Config{Lanes: 1, Process: new(pool.Process)}); err == nil || !strings.Contains(err.Error(), `"chan"`) {
		t.Errorf("a type without an encoding: %v", err)
	}
}

// TestProcessKillStorm kills worker processes while callers call. Each call ends once: with its result, or as one that
// may have run. A call that comes back has not run before. C-016, K-143.
func TestProcessKillStorm(t *testing.T) {
	p, ts := newProcessPool(t, pool.Config{Lanes: 3, Concurrency: 3})
	ctx := within(t)
	var over atomic.Bool
	var answered, lost, calls atomic.Int64
	file := t.TempDir() + "/begun"
	must(t, os.WriteFile(file, nil, 0o600))
	callers := make(chan error, 4)
	for range cap(callers) {
		go func() {
			for !over.Load() {
				n := int(calls.Add(1))
				got, err := ts.once.Call(ctx, visit{file, n})
				switch {
				case err == nil && got == n:
					answered.Add(1)
				case errors.Is(err, pool.ErrWorkerLost) && !errors.Is(err, pool.ErrNotStarted):
					lost.Add(1)
				default:
					callers <- fmt.Errorf("call %d = %d, %w", n, got, err)
					return
				}
			}
			callers <- nil
		}()
	}
	kills := 100
	if testing.Short() {
		kills = 20
	}
	random := newRand(t)(0)
	for range kills {
		for next := answered.Load() + int64(random.IntN(200)); answered.Load() < next && len(callers) == 0; {
			runtime.Gosched()
		}
		if w := p.Workers()[random.IntN(3)]; w.Pid != 0 && w.State == "serving" {
			_ = syscall.Kill(w.Pid, syscall.SIGKILL)
		}
	}
	over.Store(true)
	for range cap(callers) {
		if err := <-callers; err != nil {
			t.Error(err)
		}
	}
	atRestProcesses(t, p)
	resent := uint64(0)
	for _, l := range p.Metrics().Lanes {
		resent += l.Resent
	}
	t.Logf("%d answered, %d lost, %d sent again", answered.Load(), lost.Load(), resent)
}

// TestProcessBeside: while a handler runs, the process begins another call if it may, and answers it. The handlers may
// return in any order. A handler that calls Goexit leaves a process that takes calls.
func TestProcessBeside(t *testing.T) {
	p, ts := newProcessPool(t, pool.Config{Lanes: 1, Concurrency: 3})
	dir := t.TempDir()
	for _, first := range []int{0, 1} {
		var fs []*pool.Future[int]
		var release []func()
		for i := range 2 {
			file := fmt.Sprintf("%s/%d-%d", dir, first, i)
			release = append(release, releaser(t, file))
			fs = append(fs, ts.hold.Go(within(t), file))
			begun(t, file)
		}
		if got, err := ts.add.Call(within(t), [2]int{1, 2}); err != nil || got != 3 {
			t.Errorf("beside two handlers: %d, %v", got, err)
		}
		for _, i := range []int{first, 1 - first} {
			release[i]()
			if _, err := fs[i].Wait(within(t)); err != nil {
				t.Error(err)
			}
			if _, err := ts.fail.Call(within(t), "goexit"); !errors.Is(err, pool.ErrGoexit) {
				t.Errorf("Goexit: %v", err)
			}
		}
	}
	if d := p.Workers()[0].Deaths; d != 0 {
		t.Errorf("%d processes have died", d)
	}
}

// TestProcessBorrowerLeaves: a caller returns when its context ends, although answers to others come all the time.
func TestProcessBorrowerLeaves(t *testing.T) {
	_, ts := newProcessPool(t, pool.Config{Lanes: 1, Concurrency: 4})
	file := t.TempDir() + "/file"
	release := releaser(t, file)
	f := ts.hold.Go(within(t), file)
	begun(t, file)
	over, flooding := make(chan struct{}), make(chan struct{}, 2)
	for range 2 {
		go func() {
			defer func() { flooding <- struct{}{} }()
			for {
				select {
				case <-over:
					return
				default:
				}
				<-ts.add.Go(within(t), [2]int{1, 2}).Done()
			}
		}()
	}
	for range 20 {
		ctx, cancel := context.WithTimeout(within(t), time.Millisecond)
		ends(t, "a wait with a context that ends", func() {
			if _, err := f.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
			}
		})
		cancel()
	}
	close(over)
	came(t, "the flood ends", flooding)
	came(t, "the flood ends", flooding)
	release()
	_, err := f.Wait(within(t))
	must(t, err)
}

// TestProcessPing: a worker process answers a ping while its handler runs. C-032.
func TestProcessPing(t *testing.T) {
	p, ts := newProcessPool(t, pool.Config{Lanes: 1})
	file := t.TempDir() + "/file"
	f := ts.hold.Go(within(t), file)
	begun(t, file)
	for range 3 {
		must(t, p.Ping(within(t), 0))
	}
	stopped := p.Workers()[0].Pid
	suspend(t, stopped)
	waiting := make(chan error, 2)
	ping := func() { waiting <- p.Ping(within(t), 0) }
	go ping()
	until(t, "the ping waits", func() bool { return p.Pinging(0) == 1 })
	ctx, cancel := context.WithTimeout(within(t), 20*time.Millisecond)
	defer cancel()
	if err := p.Ping(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Ping of a stopped process = %v", err)
	}
	go ping()
	must(t, syscall.Kill(stopped, syscall.SIGKILL))
	must(t, came(t, "the next process answers", waiting))
	must(t, came(t, "the next process answers", waiting))
	if _, err := f.Wait(within(t)); !errors.Is(err, pool.ErrWorkerLost) {
		t.Errorf("%v", err)
	}
}

// TestProcessMemory: a call that finds no free memory for its argument, or no slot, waits for that, and no other call does.
// The worker process is stopped meanwhile. A call that waits so ends with its context.
func TestProcessMemory(t *testing.T) {
	p, ts := newProcessPool(t, pool.Config{Lanes: 1, Concurrency: 31})
	pid := p.Workers()[0].Pid
	for range 3 {
		suspend(t, pid)
		arg := bytes.Repeat([]byte{7}, 1<<20)
		var fs []*pool.Future[[]byte]
		for range 31 {
			fs = append(fs, ts.echo.Go(within(t), arg))
		}
		ctx, cancel := context.WithCancel(within(t))
		waiting := ts.echo.Go(ctx, arg)
		cancel()
		if _, err := waiting.Wait(within(t)); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		fs[30].Abort(nil) // it has a permit and no memory
		must(t, syscall.Kill(pid, syscall.SIGCONT))
		for i, f := range fs[:30] {
			if got, err := f.Wait(within(t)); err != nil || len(got) != len(arg) {
				t.Fatalf("call %d: %d bytes, %v", i, len(got), err)
			}
		}
		if got, err := ts.add.Call(within(t), [2]int{1, 2}); err != nil || got != 3 {
			t.Errorf("afterwards: %d, %v", got, err)
		}
	}
	atRestProcesses(t, p)
	if d := p.Workers()[0].Deaths; d != 0 {
		t.Errorf("%d processes have died", d)
	}
}

// TestProcessAnswersWaitForMemory: answers that find no free memory are sent when there is some, without a call after them.
func TestProcessAnswersWaitForMemory(t *testing.T) {
	_, ts := newProcessPool(t, pool.Config{Lanes: 1, Concurrency: 31, Process: &pool.Process{Payload: pool.Payload{Initial: 16 << 10, Max: 16 << 10}}})
	for range 200 {
		var fs []*pool.Future[[]byte]
		for range 31 {
			fs = append(fs, ts.large.Go(within(t), 2<<10))
		}
		for _, f := range fs {
			if got, err := f.Wait(within(t)); err != nil || len(got) != 2<<10 {
				t.Fatalf("%d bytes, %v", len(got), err)
			}
		}
	}
}

// TestProcessTimeBeforeStart: a worker process does not run a call whose time was over when it came there. K-138.
func TestProcessTimeBeforeStart(t *testing.T) {
	p, ts := newProcessPool(t, pool.Config{Lanes: 1, Timeout: 20 * time.Millisecond})
	pid := p.Workers()[0].Pid
	file := t.TempDir() + "/file"
	suspend(t, pid)
	_, err := ts.hang.Call(within(t), file)
	must(t, syscall.Kill(pid, syscall.SIGCONT))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	until(t, "the lane is free", func() bool { l := p.Lanes()[0]; return l.Overdue == 0 && len(l.Running) == 0 })
	if _, err := os.Stat(file); err == nil {
		t.Error("the handler has run")
	}
	if m := p.Metrics().Ends; m.TimedOut != 1 {
		t.Errorf("%+v", m)
	}
}

// TestProcessDecoding: the decoding of a result by code of the program holds up no other call, and neither an Abort nor
// Close.
func TestProcessDecoding(t *testing.T) {
	p, ts := newProcessPool(t, pool.Config{Lanes: 1, Concurrency: 3})
	c := &decodeGate{open: make(chan struct{})}
	decoding.Store(c)
	defer decoding.Store(nil)
	first, second := ts.slow.Go(bg, 0), ts.slow.Go(bg, 0) // no end of a context needs a goroutine
	until(t, "both results are being decoded", func() bool { return c.begun.Load() == 2 })
	if got, err := ts.add.Call(within(t), [2]int{1, 2}); err != nil || got != 3 {
		t.Errorf("beside them: %d, %v", got, err)
	}
	first.Abort(nil)
	if _, err := first.Wait(within(t)); !errors.Is(err, pool.ErrAborted) {
		t.Errorf("aborted: %v", err)
	}
	ends(t, "Close", func() { _ = p.Close() })
	if _, err := second.Wait(within(t)); !errors.Is(err, pool.ErrThreadClosed) {
		t.Errorf("closed: %v", err)
	}
	close(c.open)
}

// TestProcessStartAgain: a lane whose process cannot be started again tries so with growing pauses. While no lane has a
// process, calls are refused after several attempts, and accepted when one has succeeded.
func TestProcessStartAgain(t *testing.T) {
	pool.SetRestartDelay(t, 50*time.Millisecond)
	script := t.TempDir() + "/worker"
	exe, err := os.Executable()
	must(t, err)
	works := []byte("exec " + exe + "\n")
	must(t, os.WriteFile(script, works, 0o600))
	p, ts := newProcessPool(t, pool.Config{Lanes: 1, Process: &pool.Process{Command: []string{"/bin/sh", script}, Output: func(int, []byte, bool) {}}})
	must(t, os.WriteFile(script, []byte("exit 4\n"), 0o600))
	must(t, syscall.Kill(p.Workers()[0].Pid, syscall.SIGKILL))
	until(t, "a call is refused", func() bool {
		_, err := ts.add.Call(within(t), [2]int{1, 2})
		if err != nil && errors.Is(err, pool.ErrNotStarted) == errors.Is(err, pool.ErrWorkerLost) {
			t.Fatalf("%v", err)
		}
		return errors.Is(err, pool.ErrRestartIntensity)
	})
	if _, err := p.Acquire(within(t)); !errors.Is(err, pool.ErrRestartIntensity) {
		t.Errorf("Acquire = %v", err)
	}
	if w := p.Workers()[0]; w.Pid != 0 || w.Deaths != 1 || w.Generation < 5 {
		t.Errorf("%+v", w)
	}
	must(t, os.WriteFile(script, works, 0o600))
	until(t, "a call is accepted", func() bool {
		got, err := ts.add.Call(within(t), [2]int{1, 2})
		return err == nil && got == 3
	})
	atRestProcesses(t, p)
}

// TestProcessResize: Resize starts processes for new lanes, and a failing one is its error. Close ends those of all lanes.
func TestProcessResize(t *testing.T) {
	script := t.TempDir() + "/worker"
	exe, err := os.Executable()
	must(t, err)
	must(t, os.WriteFile(script, []byte("exec "+exe+"\n"), 0o600))
	p, ts := newProcessPool(t, pool.Config{Lanes: 1, Process: &pool.Process{Command: []string{"/bin/sh", script}}})
	must(t, p.Resize(within(t), 3))
	pids := map[int]bool{}
	for i := range 3 {
		id := p.Lanes()[i].ID
		pid, err := pool.CallAt(within(t), id, ts.pid, 0)
		must(t, err)
		pids[pid] = true
	}
	if len(pids) != 3 {
		t.Errorf("%d processes", len(pids))
	}
	must(t, p.Resize(within(t), 1))
	must(t, os.WriteFile(script, []byte("exit 4\n"), 0o600))
	if err := p.Resize(within(t), 4); !errors.Is(err, pool.ErrWorkerBoot) {
		t.Errorf("Resize = %v", err)
	}
	if got, err := ts.add.Call(within(t), [2]int{1, 2}); err != nil || got != 3 {
		t.Errorf("afterwards: %d, %v", got, err)
	}
}

// TestProcessLimits: Pause and SetConcurrency hold for processes, also for those that come later.
func TestProcessLimits(t *testing.T) {
	p, ts := newProcessPool(t, pool.Config{Lanes: 1})
	p.Pause()
	f := ts.add.Go(within(t), [2]int{1, 2})
	must(t, syscall.Kill(p.Workers()[0].Pid, syscall.SIGKILL))
	until(t, "another process serves", func() bool { w := p.Workers()[0]; return w.Generation == 2 && w.State == "serving" })
	if n := p.Metrics().Waiting; n != 1 {
		t.Errorf("%d calls wait", n)
	}
	p.Resume()
	if got, err := f.Wait(within(t)); err != nil || got != 3 {
		t.Errorf("%d, %v", got, err)
	}
	must(t, p.SetConcurrency(2))
	must(t, syscall.Kill(p.Workers()[0].Pid, syscall.SIGKILL))
	dir := t.TempDir()
	release := []func(){releaser(t, dir+"/a"), releaser(t, dir+"/b"), releaser(t, dir+"/c")}
	var fs []*pool.Future[int]
	for _, name := range []string{"a", "b", "c"} {
		fs = append(fs, ts.hold.Go(within(t), dir+"/"+name))
	}
	begun(t, dir+"/a")
	begun(t, dir+"/b")
	if m := p.Metrics(); m.InFlight != 2 || m.Waiting != 1 {
		t.Errorf("%d run, %d wait", m.InFlight, m.Waiting)
	}
	for i, f := range fs {
		release[i]()
		if _, err := f.Wait(within(t)); err != nil && !errors.Is(err, pool.ErrWorkerLost) {
			t.Error(err)
		}
	}
	atRestProcesses(t, p)
}

// TestProcessKinds: calls cross in each kind of memory, and behind a prefix. The lines of the output come with the number
// of their lane. K-122.
func TestProcessKinds(t *testing.T) {
	for name, c := range map[string]*pool.Process{
		"named":  {Region: pool.Named},
		"file":   {Region: pool.File},
		"prefix": {Prefix: []string{"/usr/bin/env", "A_TEST=2"}},
		"dir":    {Dir: "/tmp"},
	} {
		t.Run(name, func(t *testing.T) {
			p, ts := newProcessPool(t, pool.Config{Lanes: 1, Process: c})
			arg := bytes.Repeat([]byte{3}, 100_000)
			if got, err := ts.echo.Call(within(t), arg); err != nil || !bytes.Equal(got, arg) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			if got, err := ts.env.Call(within(t), "A_TEST"); err != nil || (got == "2") != (name == "prefix") {
				t.Errorf("A_TEST = %q, %v", got, err)
			}
			must(t, syscall.Kill(p.Workers()[0].Pid, syscall.SIGKILL))
			until(t, "the next process answers", func() bool { _, err := ts.add.Call(within(t), [2]int{}); return err == nil })
		})
	}
}

// TestProcessOfAnotherProgram: a host needs the names and types of tasks only, and never runs their handlers. A worker
// that allows it makes pools. K-123, K-142.
func TestProcessOfAnotherProgram(t *testing.T) {
	proctest.Need(t)
	h, _ := newTasks()
	names := new(pool.Handlers)
	var add *pool.Func[[2]int, int]
	var nested *pool.Func[int, string]
	for _, name := range pool.TaskNames(h) {
		switch name {
		case "add":
			add = pool.RemoteFunc[[2]int, int](names, name)
		case "nested":
			nested = pool.RemoteFunc[int, string](names, name)
		default:
			pool.RemoteFunc[int, int](names, name)
		}
	}
	p, err := pool.New(names, pool.Config{Lanes: 1, Process: &pool.Process{Env: []string{"TEST_NESTED=1"}}})
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	must(t, err)
	defer func() { _, _ = p.Terminate(within(t)) }()
	if got, err := add.Call(within(t), [2]int{1, 2}); err != nil || got != 3 {
		t.Errorf("%d, %v", got, err)
	}
	if got, err := nested.Call(within(t), 0); err != nil || got != "false true" {
		t.Errorf("nested = %q, %v", got, err)
	}
}

// TestProcessForgets: a future that is kept keeps no argument. K-135.
func TestProcessForgets(t *testing.T) {
	_, ts := newProcessPool(t, pool.Config{Lanes: 1})
	gone := make(chan struct{})
	var f *pool.Future[[]byte]
	func() {
		arg := make([]byte, 1<<16)
		runtime.AddCleanup(&arg[0], func(int) { close(gone) }, 0)
		f = ts.echo.Go(within(t), arg)
	}()
	_, err := f.Wait(within(t))
	must(t, err)
	until(t, "the argument is collected", func() bool {
		runtime.GC()
		select {
		case <-gone:
			return true
		default:
			return false
		}
	})
	if n := f.KeptArgument(); n != 0 {
		t.Errorf("%d bytes of the request are kept", n)
	}
}

// TestProcessCallID: the ids of calls with one permit differ from those of the next ones, also where the number of the
// permit wraps. C-004.
func TestProcessCallID(t *testing.T) {
	last := uint64(0)
	for _, from := range []uint64{0, 1<<32 - 3, 1<<33 - 5} {
		for n := from; n < from+8; n++ {
			id := pool.IDOf(5, n)
			if uint32(id) != 5 || id>>32 == 0 || id == last {
				t.Errorf("id %#x of handler %d, after %#x", id, n, last)
			}
			last = id
		}
	}
}
