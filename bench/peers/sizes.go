package peers

import (
	"fmt"
	"time"

	"github.com/lanewright/lanewright/internal/qsort"
)

// Sizes is how much each workload does.
type Sizes struct {
	flood            int // tasks from outside
	batch            int // of them in a batch
	tree             int // tasks: 2^n-1
	yield            int // turns of one task
	chain            int // tasks
	efficiency       int // tasks of 1 µs
	efficiencyLong   int // tasks of 10 µs
	hot, cold        int // round trips back to back, and after a pause
	asleep           time.Duration
	burst            int // tasks before the idle time
	idle             time.Duration
	queued           int // tasks weighed that lie in a queue
	queuedGoroutines int // that hold a goroutine each
	sort             int // integers that tasks sort

	fib        int // the argument
	depth      int // of the tree: 2^depth-1 nodes
	entries    int // walks of a small tree
	queens     int
	joinSort   int // integers that forks sort
	loop       int // indices
	loopRounds int // loops in a run
	mapped     int // floats
	parSort    int // integers
}

// Full are the sizes of BENCHMARKS.md. Forks of these libraries take 100 times as long
// as ours, so that they get smaller problems; a figure is that of one fork, node or
// element, and the row says the size.
func Full() Sizes {
	return Sizes{
		flood: 1_000_000, batch: 1024, tree: 1<<20 - 1, yield: 1_000_000, chain: 1_000_000,
		efficiency: 200_000, efficiencyLong: 50_000, hot: 200_000, cold: 1000, asleep: 300 * time.Microsecond,
		burst: 100_000, idle: 5 * time.Second, queued: 1_000_000, queuedGoroutines: 100_000, sort: qsort.Size,
		fib: 25, depth: 18, entries: 200, queens: 11, joinSort: 1_000_000,
		loop: 1_000_000, loopRounds: 10, mapped: 10_000_000, parSort: 10_000_000,
	}
}

// Tiny are sizes that take milliseconds: they show that a workload works.
func Tiny() Sizes {
	return Sizes{
		flood: 3000, batch: 64, tree: 1<<10 - 1, yield: 2000, chain: 2000,
		efficiency: 300, efficiencyLong: 100, hot: 320, cold: 10, asleep: 100 * time.Microsecond,
		burst: 200, idle: time.Millisecond, queued: 3000, queuedGoroutines: 300, sort: 5000,
		fib: 10, depth: 8, entries: 3, queens: 6, joinSort: 5000,
		loop: 3000, loopRounds: 2, mapped: 3000, parSort: 3000,
	}
}

// note returns what a row says about a size that differs from that of our own row.
func note(format string, size, ours int) string {
	if size == ours {
		return ""
	}
	return fmt.Sprintf(format, size)
}
