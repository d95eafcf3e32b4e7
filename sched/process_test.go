package sched_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/lanewright/lanewright/internal/proctest"
	"github.com/lanewright/lanewright/sched"
)

// children are the programs that TestChild runs in a process of their own.
//
//nolint:thelper // each is a test
var children = map[string]func(t *testing.T){
	"exit": func(t *testing.T) { callback(t, func() { os.Exit(7) }) },
	"exit in Do": func(*testing.T) {
		var s sched.Scheduler
		_ = s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { os.Exit(7) }})
	},
	"stack": func(t *testing.T) {
		debug.SetMaxStack(1 << 20)
		callback(t, func() { deeper(0) }) //nolint:staticcheck // it does not return
	},
	"memory": func(t *testing.T) {
		debug.SetGCPercent(-1)
		callback(t, func() {
			var all [][]byte
			for {
				all = append(all, make([]byte, 64<<20)) //nolint:staticcheck // exhausts the memory
			}
		})
	},
	"maps": func(t *testing.T) {
		m := map[int]int{}
		write := func() {
			for i := range math.MaxInt32 {
				m[i&0xff] = i
			}
		}
		callback(t, write, write)
	},
	"near the thread limit":          nearTheThreadLimit,
	"default follows its first use":  defaultFollowsItsFirstUse,
	"default first used in a bubble": defaultFirstUsedInABubble,
	"scheduled by two at once": func(t *testing.T) {
		s, err := sched.New(sched.Config{MaxWorkers: 1, Spawner: noSpawner{}})
		must(t, err)
		task := noTask()
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { _ = s.Schedule(task) })
		}
		wg.Wait()
	},
	"written while queued": func(t *testing.T) {
		s := newScheduler(t, sched.Config{MaxWorkers: 1})
		l := newLatch(1)
		fn := func(*sched.Worker, *sched.Task) { l.hit() }
		task := &sched.Task{Fn: fn}
		must(t, s.Schedule(task))
		task.Fn = fn
		l.wait(t)
	},
}

// deeper recurses until the stack overflows.
func deeper(n int) int { return deeper(n+1) + 1 } //nolint:staticcheck // on purpose

// callback prints a line and runs fns as callbacks of a scheduler whose OnPanic accepts every
// panic.
func callback(t *testing.T, fns ...func()) {
	t.Helper()
	s, err := sched.New(sched.Config{MaxWorkers: len(fns), OnPanic: func(*sched.Task, any, []byte) {}})
	must(t, err)
	fmt.Println("in a callback")
	for _, fn := range fns {
		must(t, s.Go(fn))
	}
	_ = s.Shutdown(within(t))
	fmt.Println("the callback returned")
}

// TestChild runs one of children in the process that runChild starts.
func TestChild(t *testing.T) {
	run := children[os.Getenv("SCHED_TEST_CHILD")]
	if run == nil {
		t.Skip("runs only in the processes that other tests start")
	}
	run(t)
}

// runChild runs a child and returns its output and its exit code. prefix, if any, is a command
// that runs the command after it.
func runChild(t *testing.T, name string, prefix ...string) (out string, code int) {
	t.Helper()
	cmd := proctest.Self(t, []string{"SCHED_TEST_CHILD=" + name}, "-test.run=^TestChild$", "-test.timeout=2m")
	if len(prefix) > 0 {
		program := cmd
		cmd = exec.CommandContext(t.Context(), prefix[0], append(prefix[1:], program.Args...)...)
		cmd.Env = program.Env
	}
	out, _ = proctest.Output(t, cmd)
	return out, cmd.ProcessState.ExitCode()
}

// TestExitInACallback: os.Exit in a callback ends the program at once with that exit code.
// V-06c.
func TestExitInACallback(t *testing.T) {
	for _, name := range []string{"exit", "exit in Do"} {
		if out, code := runChild(t, name); code != 7 || strings.Contains(out, "panic") || strings.Contains(out, "returned") {
			t.Errorf("%s: exit code %d, output:\n%s", name, code, out)
		}
	}
}

// TestFatalInACallback: a fatal error of the Go runtime ends the program, also in a callback.
// V-07.
func TestFatalInACallback(t *testing.T) {
	for _, tc := range []struct {
		name, want string
		prefix     []string
	}{
		{"stack", "stack overflow", nil},
		{"maps", "concurrent map", nil},
		{"memory", "out of memory", []string{"sh", "-c", `ulimit -v 3000000 && exec "$0" "$@"`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			switch {
			case tc.name == "maps" && (runtime.GOMAXPROCS(0) < 2 || testing.Short()):
				t.Skip("needs two processors and time until two writes of a map meet")
			case tc.name == "memory" && (runtime.GOOS != "linux" || raceBuild()):
				t.Skip("needs a memory limit for the process, which the race detector does not support")
			}
			out, code := runChild(t, tc.name, tc.prefix...)
			if !strings.Contains(out, "in a callback") {
				t.Skipf("the child did not start:\n%.500s", out)
			}
			if code == 0 || !strings.Contains(out, "fatal error: ") || !strings.Contains(out, tc.want) {
				t.Errorf("exit code %d, output:\n%.2000s", code, out)
			}
		})
	}
}

// TestRacesOnTasks: the race detector reports a task that two goroutines schedule at the same
// time, and a task that is written while it is queued. V-02c, V-04c.
func TestRacesOnTasks(t *testing.T) {
	if !raceBuild() {
		t.Skip("the race detector is off")
	}
	for _, name := range []string{"scheduled by two at once", "written while queued"} {
		if out, code := runChild(t, name); code == 0 || !strings.Contains(out, "DATA RACE") {
			t.Errorf("a task that is %s: exit code %d, output:\n%s", name, code, out)
		}
	}
}

// TestProcessInACallback: a callback may start a process and wait for it, also on a worker that
// is locked to its thread. V-17d.
func TestProcessInACallback(t *testing.T) {
	proctest.Need(t)
	for _, lock := range []bool{false, true} {
		s := newScheduler(t, sched.Config{MaxWorkers: 1, LockOSThread: lock})
		g := s.NewGroup(sched.GroupConfig{})
		var errs [3]error
		for i := range errs {
			cmd := proctest.Self(t, nil, "-test.run=^$")
			must(t, g.Schedule(nil, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				w.Blocking(func() { errs[i] = cmd.Run() })
			}}))
		}
		must(t, g.Wait())
		if errs[0] != nil {
			t.Skipf("the test program cannot start itself here: %v", errs[0])
		}
		if err := errors.Join(errs[:]...); err != nil {
			t.Error(err)
		}
	}
}
