package stress

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/sched"
)

// runTree computes the tree of a script once and returns the violations.
func runTree(script []byte, workers int, mode forkMode, spoil func(*forkTree)) (failures []string) {
	r := newRound("fork-trees", 0, Config{HangTimeout: 2 * time.Minute})
	r.run(scenario{"fork-trees", func(r *round) {
		p := &forkRun{r: r, s: r.open(sched.Config{MaxWorkers: workers}, nil)}
		t := readForkTree(p, script)
		if spoil != nil {
			spoil(t)
		}
		p.computeAll([]plan{{t, mode}})
		r.must("Shutdown", p.s.Shutdown(context.Background()))
		p.checkEnd(0, nil)
	}})
	return r.failures
}

// TestForkTreesShrink computes trees that rapid generates. When one fails, rapid
// shrinks its script.
func TestForkTreesShrink(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		script := rapid.SliceOfN(rapid.Byte(), 1, 200).Draw(t, "script")
		workers := rapid.IntRange(1, 8).Draw(t, "workers")
		mode := forkMode(rapid.IntRange(0, int(forkModes)-1).Draw(t, "mode"))
		for _, text := range runTree(script, workers, mode, nil) {
			t.Errorf("%s", text)
		}
	})
}

// TestForkTreeRead checks how scripts are read.
func TestForkTreeRead(t *testing.T) {
	for _, tc := range []struct {
		name   string
		script []byte
		want   string
	}{
		{"nothing", nil, "slots\n  0 spin\n"},
		{"children", []byte{1, 0, 2, 0, 0, 2, 4, 0, 0, 0, 8}, "pointers\n  0 yield\n    1 block\n    2 schedule\n"},
		{"failures", []byte{0, 3, 0, 0, 0, 2, 0, 0, 1, 0, 0, 0, 2}, "slots\n  0 spin\n    1 spin, panics after step 1\n    2 spin, exits after step 2\n"},
		{"exits are not caught", []byte{0, 3, 20, 0, 0, 3, 1, 0, 0, 2}, "slots\n  0 catch scope\n    1 spin, panics after step 2\n"},
		{"no block-until without a fork", []byte{2, 0, 6}, "join2\n  0 block\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := readForkTree(&forkRun{}, tc.script).String(); got != tc.want {
				t.Errorf("the tree is\n%swant\n%s", got, tc.want)
			}
		})
	}
}

// TestForkTreeLaws checks that each violation of a computation is found, and that none
// is reported for a correct one.
func TestForkTreeLaws(t *testing.T) {
	pair := []byte{0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0}
	fails := []byte{0, 3, 0, 0, 0, 2, 0, 0, 1, 0, 0}
	for _, tc := range []struct {
		name   string
		script []byte
		spoil  func(*forkTree)
		want   string // "": no violation
	}{
		{"nothing", pair, nil, ""},
		{"a panic", fails, nil, ""},
		{"wrong result", pair, func(t *forkTree) { t.root.value++ }, "the result is"},
		{"twice", pair, func(t *forkTree) { t.nodes[2].ran.Add(1) }, "body 2 ran 2 times"},
		{"never", pair, func(t *forkTree) { t.nodes = append(t.nodes, &forkNode{t: t, id: 3}) }, "body 3 ran 0 times"},
		{"after the end", pair, func(t *forkTree) { t.comp.ended.Store(true) }, "runs after the end"},
		{"still running", pair, func(t *forkTree) { t.comp.running.Add(1) }, "while 1 bodies of it run"},
		{"no panic", pair, func(t *forkTree) { t.root.mayFail = true }, "a body fails, and ForkJoin has returned"},
		{"another panic", fails, func(t *forkTree) { t.nodes[1].t = &forkTree{p: t.p} }, "ForkJoin raised"},
		{"a panic that should be caught", fails, func(t *forkTree) { t.nodes[1].mayNotRun = true }, "ForkJoin raised"},
		{"exit", pair, func(t *forkTree) { t.nodes[1].fails = nodeExits }, "ended by Goexit"},
		{"a task lost", pair, func(t *forkTree) { t.p.accepted.Add(1) }, "tasks were accepted"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			found := strings.Join(runTree(tc.script, 1, byCaller, tc.spoil), "\n")
			if found == "" && tc.want != "" || tc.want == "" && found != "" || !strings.Contains(found, tc.want) {
				t.Errorf("found %q, want %q", found, tc.want)
			}
		})
	}
}

// TestForkPause checks that a pause reports a scheduler that is not idle, and that the fork
// monitor of a computation is counted.
func TestForkPause(t *testing.T) {
	r := newRound("fork-small", 0, Config{HangTimeout: 200 * time.Millisecond})
	p := &forkRun{r: r, s: r.open(sched.Config{MaxWorkers: 2}, nil)}
	end := time.Now().Add(10 * time.Second)
	for forkMonitors() != 0 && time.Now().Before(end) {
		runtime.Gosched() // the monitors of earlier tests end after some milliseconds
	}
	// The monitor ends during a long computation that makes no fork. So each attempt
	// looks for it once, at the beginning of a new computation.
	counted := false
	for !counted && time.Now().Before(end) {
		sched.ForkJoin(p.s, func(*sched.Forks[int, int], int) int {
			counted = forkMonitors() == 1
			return 0
		}, 0)
	}
	if !counted {
		t.Errorf("%d fork monitors at the beginning of a computation, want one", forkMonitors())
	}
	sched.ForkJoin(p.s, func(*sched.Forks[int, int], int) int {
		p.pause(0)
		return 0
	}, 0)
	if len(r.failures) != 1 || !strings.Contains(r.failures[0], "the scheduler is not idle") {
		t.Errorf("found %q", r.failures)
	}
	r.end(p.s, -1)
}
