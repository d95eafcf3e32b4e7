//go:build (darwin || dragonfly || freebsd || linux || netbsd || openbsd) && !interleave

package pool_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lanewright/lanewright/internal/proctest"
	"github.com/lanewright/lanewright/pool"
)

// borderTasks are the tasks of the tests of what a handler in a worker process can reach.
type borderTasks struct {
	files  *pool.Func[bool, []string] // the descriptors of the process, or of a program that it starts
	reach  *pool.Func[int, []string]  // the exported methods and fields of the context
	behave *pool.Func[behaviour, int] // returns the number, or ends in another way
	beside *pool.Func[int, int]       // the number of handlers that run
}

// behaviour is how a handler ends.
type behaviour struct {
	Number int
	How    string
}

// number returns the number of a call, which its result or its error has.
func (b behaviour) number() int { return 7*b.Number + 1 }

func (t *borderTasks) register(h *pool.Handlers) {
	t.files = pool.Register(h, "files", func(ctx context.Context, grandchild bool) ([]string, error) {
		if !grandchild {
			return openFiles("/proc/self/fd")
		}
		out, err := exec.CommandContext(ctx, "/bin/sh", "-c", `for f in /proc/$$/fd/*; do readlink "$f"; done; true`).Output()
		return strings.Fields(string(out)), err
	})
	t.reach = pool.Register(h, "reach", func(ctx context.Context, _ int) (list []string, _ error) {
		v := reflect.TypeOf(ctx)
		for i := range v.NumMethod() {
			list = append(list, v.Method(i).Name)
		}
		for _, f := range reflect.VisibleFields(v.Elem()) {
			if f.IsExported() {
				list = append(list, f.Name)
			}
		}
		return list, nil
	})
	var running atomic.Int32
	t.beside = pool.Register(h, "beside", func(context.Context, int) (int, error) {
		defer running.Add(-1)
		n := running.Add(1)
		runtime.Gosched()
		return int(max(n, running.Load())), nil
	})
	t.behave = pool.Register(h, "behave", func(ctx context.Context, b behaviour) (int, error) {
		switch b.How {
		case "panics":
			panic(fmt.Sprint("number ", b.number()))
		case "fails":
			return 0, fmt.Errorf("number %d", b.number())
		case "exits":
			runtime.Goexit()
		case "goes on":
			go func() { <-ctx.Done(); _ = ctx.Err() }()
		}
		return b.number(), nil
	})
}

// TestProcessConcurrency: a worker process runs at most Concurrency handlers at once, however many calls the host has sent
// ahead, also after SetConcurrency.
func TestProcessConcurrency(t *testing.T) {
	p, ts := newProcessPool(t, pool.Config{Lanes: 1})
	for _, n := range []int{1, 3, 1, pool.MaxProcessCalls, 1} {
		if err := p.SetConcurrency(n); err != nil {
			t.Fatal(err)
		}
		var fs [500]*pool.Future[int]
		for i := range fs {
			fs[i] = ts.beside.Go(within(t), i)
		}
		most := 0
		for i, f := range fs {
			got, err := f.Wait(within(t))
			if err != nil {
				t.Fatalf("call %d: %v", i, err)
			}
			most = max(most, got)
		}
		t.Logf("Concurrency %d: at most %d handlers at once", n, most)
		if most > n || most < 1 {
			t.Errorf("%d handlers at once, and Concurrency is %d", most, n)
		}
	}
}

// TestProcessCallsBehindALongOne: what is true of calls that wait in the queue of the pool is true of those that wait in a
// process. More permits let them run, and an aborted one does not run. A Discard sends none again.
func TestProcessCallsBehindALongOne(t *testing.T) {
	p, ts := newProcessPool(t, pool.Config{Lanes: 1})
	dir := t.TempDir()
	for round := range 10 {
		ctx := within(t)
		file := fmt.Sprint(dir, "/", round)
		release := releaser(t, file)
		var quick []*pool.Future[int]
		more := func(n int) {
			for range n {
				quick = append(quick, ts.next.Go(ctx, len(quick)))
			}
		}
		more(100) // after which calls may be sent ahead
		long := ts.hold.Go(ctx, file)
		more(10)
		aborted := ts.hang.Go(ctx, file+".aborted")
		more(10)
		begun(t, file)
		aborted.Abort(nil)
		must(t, p.SetConcurrency(2))
		for i, f := range quick {
			if got, err := f.Wait(ctx); got != i+1 || err != nil {
				t.Errorf("call %d: %d, %v", i, got, err)
			}
		}
		release()
		if _, err := long.Wait(ctx); err != nil {
			t.Errorf("the long call: %v", err)
		}
		if _, err := os.Stat(file + ".aborted"); err == nil {
			t.Error("a call that was aborted before has run")
		}
		must(t, p.SetConcurrency(1))
		atRestProcesses(t, p)
		more(100)
		if err := p.Discard(p.Lanes()[0].ID, nil); err != nil {
			t.Errorf("Discard: %v", err)
		}
	}
	if n := p.Lanes()[0].Resent; n != 0 {
		t.Errorf("%d calls were sent again, and no process has died by itself", n)
	}
}

// openFiles returns the names of the open files of a process.
func openFiles(folder string) (list []string, err error) {
	paths, err := filepath.Glob(folder + "/*")
	for _, path := range paths {
		if name, err := os.Readlink(path); err == nil { // that of the list itself is closed
			list = append(list, name)
		}
	}
	return list, err
}

// TestProcessDescriptors: neither a worker process nor a program that its handler starts has a descriptor of the memory of a
// link. No exported method or field of the context of a handler leads to the link. K-118.
func TestProcessDescriptors(t *testing.T) {
	_, ts := newProcessPool(t, pool.Config{Lanes: 2})
	for range 2 {
		for _, grandchild := range []bool{false, true} {
			list, err := ts.files.Call(within(t), grandchild)
			if err != nil || runtime.GOOS == "linux" && (len(list) < 3 || grandchild && len(list) > 3) {
				t.Fatalf("%q, %v", list, err)
			}
			for _, name := range list {
				if strings.Contains(name, "lanewright") || strings.Contains(name, "memfd") || strings.Contains(name, "shm") {
					t.Errorf("grandchild %v: %q is open", grandchild, name)
				}
			}
		}
	}
	list, err := ts.reach.Call(within(t), 0)
	if want := []string{"Deadline", "Done", "Err", "Value"}; err != nil || !slices.Equal(list, want) {
		t.Errorf("a context has %q, %v; want %q", list, err, want)
	}
}

// TestProcessAnswersAreTheirOwn: each call has one answer, which is that of its own handler, however the handlers end. C-007,
// C-008.
func TestProcessAnswersAreTheirOwn(t *testing.T) {
	p, ts := newProcessPool(t, pool.Config{Lanes: 2, Concurrency: 16})
	ways := []string{"returns", "panics", "fails", "exits", "goes on"}
	const calls = 1000
	var fs [calls]*pool.Future[int]
	for i := range fs {
		fs[i] = ts.behave.Go(within(t), behaviour{i, ways[i%len(ways)]})
	}
	for i, f := range fs {
		b := behaviour{i, ways[i%len(ways)]}
		got, err := f.Wait(within(t))
		text := fmt.Sprint("number ", b.number())
		switch b.How {
		case "panics", "fails":
			if err == nil || !strings.HasSuffix(strings.SplitN(err.Error(), "\n", 2)[0], text) {
				t.Errorf("call %d: %d, %v; want %q", i, got, err, text)
			}
		case "exits":
			if !errors.Is(err, pool.ErrGoexit) {
				t.Errorf("call %d: %d, %v", i, got, err)
			}
		default:
			if err != nil || got != b.number() {
				t.Errorf("call %d: %d, %v; want %d", i, got, err, b.number())
			}
		}
	}
	atRestProcesses(t, p)
	if m := p.Metrics(); m.Ended != calls || m.StaleResponses != 0 {
		t.Errorf("%d calls have ended, and %d answers belong to no call", m.Ended, m.StaleResponses)
	}
}

// TestProcessReady: New returns after the worker has said that it is ready, which is after its hook. K-094.
func TestProcessReady(t *testing.T) {
	proctest.Need(t)
	file := t.TempDir() + "/file"
	release := releaser(t, file)
	h, ts := newTasks()
	type made struct {
		p   *pool.Pool
		err error
	}
	done := make(chan made, 1)
	go func() {
		p, err := pool.New(h, pool.Config{Lanes: 1, Process: &pool.Process{Bootstrap: "waits", Env: []string{"TEST_HOOK=" + file}}})
		done <- made{p, err}
	}()
	begun(t, file)
	select {
	case m := <-done:
		t.Fatalf("New has returned before the hook: %v", m.err)
	default:
	}
	release()
	m := <-done
	must(t, m.err)
	defer func() { _ = m.p.Close() }()
	if got, err := ts.next.Call(within(t), 1); err != nil || got != 2 {
		t.Errorf("%d, %v", got, err)
	}
}
