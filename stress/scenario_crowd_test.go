package stress

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/lanewright/lanewright/internal/proctest"
)

// crowdProgramEnv names the program of a crowd that a process of TestCrowdAtTheThreadLimit runs.
const crowdProgramEnv = "STRESS_CROWD_PROGRAM"

// TestCrowdAtTheThreadLimit: each program of a crowd runs while each worker has a thread of its own and
// the Go runtime allows few more threads than workers and callbacks without a place: 32 for itself
// and for threads that end while others begin. One thread more ends the process. V-14c.
func TestCrowdAtTheThreadLimit(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the number of threads that the runtime needs depends on the system")
	}
	for _, p := range crowdPrograms {
		if os.Getenv(crowdProgramEnv) == p.name {
			crowdAtTheThreadLimit(t, p)
			return
		}
	}
	proctest.Need(t)
	for _, p := range crowdPrograms {
		t.Run(p.name, func(t *testing.T) {
			cmd := proctest.Self(t, []string{crowdProgramEnv + "=" + p.name}, "-test.run=^TestCrowdAtTheThreadLimit$", "-test.timeout=5m",
				fmt.Sprintf("-test.short=%t", testing.Short()), fmt.Sprintf("-stress.seed=%d", *seed))
			if out, err := proctest.Output(t, cmd); err != nil || !strings.Contains(out, "within the limit") {
				t.Errorf("%v, output:\n%.4000s\nreplay with -run '^TestCrowdAtTheThreadLimit$/^%s$' -stress.seed=%d", err, out, p.name, *seed)
			}
		})
	}
}

// crowdAtTheThreadLimit runs p in a process with the limit.
func crowdAtTheThreadLimit(t *testing.T, p crowdProgram) {
	t.Helper()
	const workers, others = 64, 32
	runtime.GOMAXPROCS(min(8, runtime.GOMAXPROCS(0))) // the Go runtime has a thread for each processor
	before := liveThreads()
	debug.SetMaxThreads(before + workers + p.unplaced(workers) + others)
	r := newRound("crowd-threads/"+p.name, *seed, Config{Short: testing.Short(), HangTimeout: 4 * time.Minute})
	// settle waits for the end of threads. The Go runtime keeps some idle ones, and uses them for the next
	// workers. Their number stays the same.
	settle := func(workers int) {
		left, since := liveThreads(), time.Now()
		for left > before+workers+others/2 && time.Since(since) < time.Second {
			runtime.Gosched()
			if n := liveThreads(); n != left {
				left, since = n, time.Now()
			}
		}
		if most := before + workers + others; left > most {
			r.Errorf("%d threads are left, want %d at most", left, most)
		}
	}
	r.run(scenario{p.name, func(r *round) { p.run(crowd{r, workers, true, settle}) }})
	for _, text := range r.failures {
		t.Error(text)
	}
	fmt.Println("within the limit")
}

// liveThreads returns the number of threads that count against the limit.
func liveThreads() int {
	n, _ := runtime.ThreadCreateProfile(nil)
	return n
}
