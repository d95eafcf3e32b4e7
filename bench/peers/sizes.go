package peers

import (
	"fmt"
	"time"

	"github.com/lanewright/lanewright/internal/qsort"
)

// Sizes are the sizes of the workloads.
type Sizes struct {
	flood            int // tasks of external callers
	batch            int // tasks in one batch
	tree             int // tasks: 2^n-1
	yield            int // runs of one task
	chain            int // tasks
	efficiency       int // tasks of 1 µs
	efficiencyLong   int // tasks of 10 µs
	hot, cold        int // round trips back to back; round trips and wake-ups after a pause
	pause            time.Duration
	burst            int // tasks before the idle time
	idle             time.Duration
	queued           int // queued tasks whose memory is measured
	queuedGoroutines int // waiting goroutines whose memory is measured
	sort             int // integers that tasks sort

	fib        int // the argument
	depth      int // depth of the tree, which has 2^depth-1 nodes
	entries    int // sums of a small tree
	queens     int
	joinSort   int // integers that forks sort
	loop       int // indices
	loopRounds int // loops in a run
	mapped     int // floats
	parSort    int // integers

	short, long time.Duration // calls of lane/fair
	request     time.Duration // a call of lane/web
	answers     int           // of its server

	remote                              int // calls into another process
	echoes1KiB, echoes64KiB, echoes1MiB int
}

// Full returns the sizes of BENCHMARKS.md. A fork of these libraries takes 100 times as
// long as one of lanewright, so they get smaller problems. A figure is that of one fork,
// node or element, and the note of the row has the size. There are fewer calls into other
// processes for the same reason.
func Full() Sizes {
	return Sizes{
		flood: 1_000_000, batch: 1024, tree: 1<<20 - 1, yield: 1_000_000, chain: 1_000_000,
		efficiency: 200_000, efficiencyLong: 50_000, hot: 200_000, cold: 1000, pause: 300 * time.Microsecond,
		burst: 100_000, idle: 5 * time.Second, queued: 1_000_000, queuedGoroutines: 100_000, sort: qsort.Size,
		fib: 25, depth: 18, entries: 200, queens: 11, joinSort: 1_000_000,
		loop: 1_000_000, loopRounds: 10, mapped: 10_000_000, parSort: 10_000_000,
		short: time.Millisecond, long: 200 * time.Millisecond, request: 20 * time.Millisecond, answers: 400,
		remote: 20_000, echoes1KiB: 20_000, echoes64KiB: 5000, echoes1MiB: 500,
	}
}

// Tiny returns sizes with which a workload takes milliseconds, for tests.
func Tiny() Sizes {
	return Sizes{
		flood: 3000, batch: 64, tree: 1<<10 - 1, yield: 2000, chain: 2000,
		efficiency: 300, efficiencyLong: 100, hot: 320, cold: 10, pause: 100 * time.Microsecond,
		burst: 200, idle: time.Millisecond, queued: 3000, queuedGoroutines: 300, sort: 5000,
		fib: 10, depth: 8, entries: 3, queens: 6, joinSort: 5000,
		loop: 3000, loopRounds: 2, mapped: 3000, parSort: 3000,
		short: 10 * time.Microsecond, long: time.Millisecond, request: 100 * time.Microsecond, answers: 100,
		remote: 320, echoes1KiB: 20, echoes64KiB: 5, echoes1MiB: 3,
	}
}

// note returns the note of a row, which is empty when the size is that of lanewright.
func note(format string, size, lanewright int) string {
	if size == lanewright {
		return ""
	}
	return fmt.Sprintf(format, size)
}
