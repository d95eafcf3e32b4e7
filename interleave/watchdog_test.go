package interleave_test

import (
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lanewright/lanewright/interleave"
)

// waitForGoroutines fails the test unless the number of goroutines falls to n, and no
// goroutine is left that has lost control.
func waitForGoroutines(t *testing.T, n int) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() > n || interleave.LostGoroutines() > 0 {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines are left, want %d; %d of them have lost control", runtime.NumGoroutine(), n, interleave.LostGoroutines())
		}
		runtime.Gosched()
	}
}

// lookWhenStuck makes the watchdog look only after the program blocks or spins, as often
// as it takes. The result depends on no time. A watchdog that has not given up after many
// looks never will: release then lets the program continue. end stops all that.
func lookWhenStuck(output io.Writer, release func()) (end func()) {
	ticks, quit := make(chan time.Time), make(chan struct{})
	resetTicks := interleave.SetHangTicks(ticks)
	resetTimeout := interleave.SetHangTimeout(time.Millisecond, output)
	spinning.Store(false)
	go func() {
		for !spinning.Load() && !blocksInProgram() {
			select {
			case <-quit:
				return
			default:
				runtime.Gosched()
			}
		}
		for n := 0; ; n++ {
			select {
			case <-quit:
				return
			case ticks <- time.Time{}:
			}
			if n == manyLooks {
				release()
			}
		}
	}()
	return func() {
		close(quit)
		resetTicks()
		resetTimeout()
	}
}

const manyLooks = 100 * interleave.HangLooks // chosen

// blocksInProgram reports whether a goroutine is blocked in the code of a program.
func blocksInProgram() bool {
	buf := make([]byte, 1<<20)
	for text := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		header, calls, _ := strings.Cut(text, "\n")
		inProgram := strings.Contains(calls, ".(*thread).run(") || strings.Contains(calls, ".(*explorer).callBody(") || strings.Contains(calls, ".(*explorer).callFinals(")
		isFree := strings.Contains(header, "[run") || strings.Contains(header, "[coroutine") || strings.Contains(calls, ").await(")
		if inProgram && !isFree {
			return true
		}
	}
	return false
}

var spinning atomic.Bool // a program is in spin

// TestBlockedThreadFailsTheExploration: a thread, the body or a Final function that
// blocks on something other than a Sema or a Mutex, or that computes for ever, fails the
// exploration with its stack. Later explorations work. When the blocked function
// continues, it and the goroutine of the explorer end.
func TestBlockedThreadFailsTheExploration(t *testing.T) {
	programs := []struct {
		name, thread, want string
		body               func(m *interleave.M, release <-chan struct{})
	}{
		{
			"a channel", "t", "thread t has been blocked for more than 1ms (chan receive at watchdog_test.go:",
			func(m *interleave.M, release <-chan struct{}) {
				var a interleave.Int32
				m.Go("t", func() {
					a.Add(1)
					<-release
					a.Add(1)
				})
			},
		},
		{
			"a channel before the first step", "t", "thread t has been blocked for more than 1ms (chan receive at watchdog_test.go:",
			func(m *interleave.M, release <-chan struct{}) {
				m.Go("t", func() { <-release })
			},
		},
		{
			"select", "t", "(select at watchdog_test.go:",
			func(m *interleave.M, release <-chan struct{}) {
				m.Go("t", func() {
					select {
					case <-release:
					case <-make(chan int):
					}
				})
			},
		},
		{
			"sync.Mutex", "t", "(sync.Mutex.Lock at watchdog_test.go:",
			func(m *interleave.M, release <-chan struct{}) {
				var mu sync.Mutex
				mu.Lock()
				go func() { <-release; mu.Unlock() }()
				m.Go("t", func() { mu.Lock() })
			},
		},
		{
			"sync.WaitGroup, and a Goexit after it", "t", "(sync.WaitGroup.Wait at watchdog_test.go:",
			func(m *interleave.M, release <-chan struct{}) {
				var wg sync.WaitGroup
				wg.Go(func() { <-release })
				m.Go("t", func() { wg.Wait(); runtime.Goexit() })
			},
		},
		{
			"a channel, and a panic after it", "t", "(chan receive at watchdog_test.go:",
			func(m *interleave.M, release <-chan struct{}) {
				m.Go("t", func() { <-release; panic("a panic after the end of the exploration") })
			},
		},
		{
			"a channel, and a loop that yields after it", "t", "(chan receive at watchdog_test.go:",
			func(m *interleave.M, release <-chan struct{}) {
				var a interleave.Int32
				m.Go("t", func() {
					<-release
					for a.Load() == 0 {
						interleave.Yield()
					}
				})
			},
		},
		{
			"a loop", "t", "thread t loops without a step or computes for longer than 1ms (at watchdog_test.go:",
			func(m *interleave.M, release <-chan struct{}) {
				m.Go("t", func() { spin(release) })
			},
		},
		{
			"the body", "", "the body has been blocked for more than 1ms (chan receive at watchdog_test.go:",
			func(m *interleave.M, release <-chan struct{}) {
				var a interleave.Int32
				m.Go("t", func() { a.Add(1) })
				<-release
				a.Load()
			},
		},
		{
			"the body, which ends by Goexit", "", "the body has been blocked",
			func(_ *interleave.M, release <-chan struct{}) {
				<-release
				runtime.Goexit()
			},
		},
		{
			"a loop of the body", "", "the body loops without a step",
			func(_ *interleave.M, release <-chan struct{}) { spin(release) },
		},
		{
			"a Final function", "", "a Final function has been blocked for more than 1ms (chan receive at watchdog_test.go:",
			func(m *interleave.M, release <-chan struct{}) {
				var a interleave.Int32
				m.Final(func() { <-release; a.Load() })
			},
		},
		{
			"a deferred function", "t", "a deferred function of thread t has been blocked for more than 1ms",
			func(m *interleave.M, release <-chan struct{}) {
				m.GoDaemon("t", func() {
					defer func() { <-release }()
					var s interleave.Sema
					s.Init(1)
					s.Wait()
				})
			},
		},
	}
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		for _, p := range programs {
			t.Run(p.name, func(t *testing.T) {
				before := runtime.NumGoroutine()
				release := make(chan struct{})
				open := sync.OnceFunc(func() { close(release) })
				var report strings.Builder
				end := lookWhenStuck(&report, open)
				r := interleave.Explore(o, func(m *interleave.M) { p.body(m, release) })
				end()
				wantFailure(t, r, interleave.Misuse, p.want)
				f := r.Failure
				if f.Thread != p.thread || f.Execution != 1 || f.Schedule == "" || r.Executions != 1 || r.Complete {
					t.Errorf("got %+v with %+v", r, f)
				}
				if !strings.HasPrefix(f.Stack, "goroutine ") || !strings.Contains(f.Stack, "watchdog_test.go:") {
					t.Errorf("the stack is not that of the thread:\n%s", f.Stack)
				}
				if got := report.String(); !strings.Contains(got, f.Message) || !strings.Contains(got, f.Stack) {
					t.Errorf("the report does not contain the message and the stack: %s", got)
				}
				r = interleave.Explore(o, mpscProgram(mpscBugs{}, 1))
				if interleave.SelfKnown {
					wantComplete(t, r)
				} else {
					wantFailure(t, r, interleave.Misuse, "a thread of an earlier exploration is still blocked")
				}
				open()
				waitForGoroutines(t, before)
				wantComplete(t, interleave.Explore(o, mpscProgram(mpscBugs{}, 1)))
			})
		}
	})
}

// spin computes until the channel is closed.
func spin(release <-chan struct{}) {
	spinning.Store(true)
	for open := true; open; {
		select {
		case _, open = <-release:
		default:
		}
	}
}

// TestLostThreadDisturbsNoExploration: a thread of an exploration that was given up
// continues during a later exploration. Its operations are no steps of that
// exploration, which has the same executions as ever. The other threads of the lost
// exploration never run again.
func TestLostThreadDisturbsNoExploration(t *testing.T) {
	if !interleave.SelfKnown {
		t.Skip("foreign goroutines cannot be distinguished from threads here")
	}
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		release, ended := make(chan struct{}), make(chan struct{})
		var others atomic.Int32
		var lost interleave.Int32
		open := sync.OnceFunc(func() { close(release) })
		end := lookWhenStuck(io.Discard, open)
		r := interleave.Explore(o, func(m *interleave.M) {
			for range 2 {
				m.Go("other", func() {
					lost.Add(1)
					others.Add(1)
				})
			}
			m.Go("lost", func() {
				defer close(ended)
				<-release
				for range 1000 {
					lost.Add(1)
					if interleave.Active() {
						t.Error("a lost thread is part of an exploration")
					}
				}
				interleave.Yield() // ends the thread
				t.Error("a lost thread continues after a Yield")
			})
		})
		end()
		wantFailure(t, r, interleave.Misuse, "thread lost has been blocked")
		want := interleave.Explore(o, mpscProgram(mpscBugs{}, 1))
		executions := 0
		got := interleave.Explore(o, func(m *interleave.M) {
			mpscProgram(mpscBugs{}, 1)(m)
			if executions++; executions == 2 {
				m.Go("release", func() {
					open()
					<-ended
				})
			}
			if executions == 3 {
				m.Fatalf("end")
			}
		})
		if got.Failure == nil || got.Executions != 3 {
			t.Errorf("got %+v", got)
		}
		wantComplete(t, want)
		if again := interleave.Explore(o, mpscProgram(mpscBugs{}, 1)); again.Executions != want.Executions || again.Steps != want.Steps {
			t.Errorf("%d executions of %d steps before, %d of %d after", want.Executions, want.Steps, again.Executions, again.Steps)
		}
		if lost.Load() != 1000 || others.Load() != 0 {
			t.Errorf("the lost thread has counted %d, and %d other threads continued", lost.Load(), others.Load())
		}
	})
}

// TestProgressKeepsAnExploration: the watchdog does not give up an exploration that
// runs executions or whose thread takes steps, however long it takes.
func TestProgressKeepsAnExploration(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		ticks := make(chan time.Time)
		defer interleave.SetHangTicks(ticks)()
		const rounds = 5 * interleave.HangLooks
		r := interleave.Explore(o, func(m *interleave.M) {
			var a interleave.Int32
			m.Go("t", func() {
				for range rounds {
					ticks <- time.Time{}
					a.Add(1)
				}
			})
		})
		wantComplete(t, r)
		o.Strategy, o.Preemptions, o.Executions = interleave.Random, 0, rounds
		r = interleave.Explore(o, func(m *interleave.M) {
			m.Go("t", func() { ticks <- time.Time{} })
		})
		if r.Failure != nil || r.Executions != rounds {
			t.Errorf("got %+v", r)
		}
	})
}
