//go:build race && interleave

package interleave_test

import (
	"os"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/internal/proctest"
)

// plainProgram passes a plain variable between threads by a word and a token. When
// racy, the writer publishes the word before it writes the variable.
func plainProgram(racy bool) func(m *interleave.M) {
	return func(m *interleave.M) {
		var ready atomix.Uint32
		var tokens park.Sema
		tokens.Init(1)
		value := 0
		m.Go("writer", func() {
			if racy {
				ready.Store(1)
				value = 1
			} else {
				value = 1
				ready.Store(1)
			}
			tokens.Post()
		})
		m.Go("reader", func() {
			if ready.Load() == 1 {
				value++
			}
		})
		m.Go("waiter", func() { tokens.Wait() })
		m.Final(func() { _ = value })
	}
}

// tokenProgram passes a plain variable to a daemon by a token. The daemon has
// written plain memory and is blocked when Final reads that memory.
func tokenProgram(m *interleave.M) {
	var tokens park.Sema
	tokens.Init(2)
	value, worked := 0, 0
	m.Go("writer", func() { value = 1; tokens.Post() })
	m.GoDaemon("reader", func() {
		for {
			tokens.Wait()
			worked += value
			interleave.Go("child", func() { value = 2 })
		}
	})
	m.Final(func() {
		if worked != 1 || value != 2 {
			m.Fatalf("worked %d, value %d", worked, value)
		}
	})
}

// mutexProgram writes a plain variable in critical sections of a Mutex that a thread
// has made. When racy, the second thread writes it after its Unlock. The third thread
// takes decisions while the second one is at its Lock, and is not ordered after the
// writes of the first.
func mutexProgram(racy bool) func(m *interleave.M) {
	return func(m *interleave.M) {
		var word atomix.Uint32
		m.Go("maker", func() {
			s := &struct {
				mu    interleave.Mutex
				value int
			}{value: 1}
			s.mu.Lock()
			interleave.Go("second", func() {
				s.mu.Lock()
				if !racy {
					s.value++
				}
				s.mu.Unlock()
				if racy {
					s.value++
				}
			})
			s.value++
			s.mu.Unlock()
			if s.mu.TryLock() {
				s.value++
				s.mu.Unlock()
			}
		})
		m.Go("third", func() {
			word.Store(1)
			word.Store(2)
		})
	}
}

const childEnv = "INTERLEAVE_RACE_CHILD"

// TestRaceChild is the child process of TestRaceDetectorSeesBatonThreads.
func TestRaceChild(t *testing.T) {
	o := interleave.Options{Preemptions: interleave.All}
	switch os.Getenv(childEnv) {
	case "racy":
		interleave.Check(t, "racy", o, plainProgram(true))
	case "racy coroutines":
		if r := interleave.Explore(o, plainProgram(true)); r.Failure != nil {
			t.Error(r.Failure)
		}
	case "racy mutex":
		interleave.Check(t, "racy-mutex", o, mutexProgram(true))
	case "good":
		interleave.Check(t, "good", o, plainProgram(false))
		interleave.Check(t, "good-sleep", interleave.Options{Preemptions: interleave.All, Reduce: true}, plainProgram(false))
		interleave.Check(t, "good-crash", interleave.Options{Preemptions: interleave.All, Crash: "reader"}, plainProgram(false))
		interleave.Check(t, "good-random", interleave.Options{Strategy: interleave.Random, Executions: 500}, plainProgram(false))
		interleave.Check(t, "good-pct", interleave.Options{Strategy: interleave.PCT, Executions: 500}, plainProgram(false))
		interleave.Check(t, "token", o, tokenProgram)
		interleave.Check(t, "mutex", o, mutexProgram(false))
		interleave.Check(t, "mutex-sleep", interleave.Options{Preemptions: interleave.All, Reduce: true}, mutexProgram(false))
		interleave.Check(t, "mailbox", interleave.Options{Preemptions: 2}, mailboxProgram(mailboxBugs{}, 1, 2))
	default:
		t.Skip("TestRaceDetectorSeesBatonThreads starts this test in a child process")
	}
}

// TestRaceDetectorSeesBatonThreads: with Baton the race detector reports a race on
// plain memory, and Check names the execution. It reports none in a program without
// a race. With Coroutines it does not see the race.
func TestRaceDetectorSeesBatonThreads(t *testing.T) {
	run := func(mode string) (out string, ok bool) {
		out, err := proctest.Output(t, proctest.Self(t, []string{childEnv + "=" + mode}, "-test.run=^TestRaceChild$", "-test.v"))
		return out, err == nil
	}
	out, ok := run("racy")
	if ok || !strings.Contains(out, "DATA RACE") || !strings.Contains(out, "baton_race_test.go") {
		t.Errorf("the race detector has not reported the planted race:\n%s", out)
	}
	if !strings.Contains(out, "-interleave.replay=racy:") || !strings.Contains(out, "the race detector has reported") {
		t.Errorf("the report names no execution:\n%s", out)
	}
	out, ok = run("racy mutex")
	if ok || !strings.Contains(out, "DATA RACE") || !strings.Contains(out, "-interleave.replay=racy-mutex:") {
		t.Errorf("the race detector has not reported the race beside a Mutex:\n%s", out)
	}
	out, ok = run("good")
	if !ok || strings.Contains(out, "DATA RACE") || strings.Count(out, "model ") != 9 {
		t.Errorf("a program without races failed:\n%s", out)
	}
	out, ok = run("racy coroutines")
	if !ok || strings.Contains(out, "DATA RACE") {
		t.Errorf("the race detector has reported a race between coroutines, contrary to the documentation:\n%s", out)
	}
}
