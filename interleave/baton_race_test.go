//go:build race && interleave

package interleave_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
)

// plainProgram hands a plain variable from one thread to another by way of a
// word and a token: in the wrong order when racy.
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

// tokenProgram hands a plain variable over by a token, and leaves workers
// parked that wrote plain memory.
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

const childEnv = "INTERLEAVE_RACE_CHILD"

// TestRaceChild is the child process of TestBatonRace.
func TestRaceChild(t *testing.T) {
	o := interleave.Options{Preemptions: interleave.All}
	switch os.Getenv(childEnv) {
	case "racy":
		interleave.Check(t, "racy", o, plainProgram(true))
	case "racy coroutines":
		if r := interleave.Explore(o, plainProgram(true)); r.Failure != nil {
			t.Error(r.Failure)
		}
	case "good":
		interleave.Check(t, "good", o, plainProgram(false))
		interleave.Check(t, "good-sleep", interleave.Options{Preemptions: interleave.All, SleepSets: true}, plainProgram(false))
		interleave.Check(t, "good-crash", interleave.Options{Preemptions: interleave.All, Crash: "reader"}, plainProgram(false))
		interleave.Check(t, "good-random", interleave.Options{Strategy: interleave.Random, Executions: 500}, plainProgram(false))
		interleave.Check(t, "good-pct", interleave.Options{Strategy: interleave.PCT, Executions: 500}, plainProgram(false))
		interleave.Check(t, "token", o, tokenProgram)
		interleave.Check(t, "mailbox", interleave.Options{Preemptions: 2}, mailboxProgram(mailboxBugs{}, 1, 2))
	default:
		t.Skip("it is started by TestBatonRace")
	}
}

// TestBatonRace checks that the race detector sees a race on plain memory in a
// program that the explorer runs, names the execution, and sees none in a
// program that has none. It cannot see it when the threads are coroutines.
func TestBatonRace(t *testing.T) {
	child := func(mode string) (out string, ok bool) {
		cmd := exec.Command(os.Args[0], "-test.run=^TestRaceChild$", "-test.v")
		cmd.Env = append(os.Environ(), childEnv+"="+mode)
		b, err := cmd.CombinedOutput()
		return string(b), err == nil
	}
	out, ok := child("racy")
	if ok || !strings.Contains(out, "DATA RACE") || !strings.Contains(out, "baton_race_test.go") {
		t.Errorf("the seeded race was not reported:\n%s", out)
	}
	if !strings.Contains(out, "-interleave.replay=racy:") || !strings.Contains(out, "the race detector has reported") {
		t.Errorf("the report names no execution:\n%s", out)
	}
	out, ok = child("good")
	if !ok || strings.Contains(out, "DATA RACE") || strings.Count(out, "model ") != 7 {
		t.Errorf("a program without races failed:\n%s", out)
	}
	out, ok = child("racy coroutines")
	if !ok || strings.Contains(out, "DATA RACE") {
		t.Errorf("coroutines let the race be seen: say so in the documentation\n%s", out)
	}
}
