package tour

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"text/tabwriter"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/cli"
	"github.com/lanewright/lanewright/cmd/lanewright/internal/remote"
	"github.com/lanewright/lanewright/cmd/lanewright/internal/workload"
	"github.com/lanewright/lanewright/pool"
)

const (
	tourProcessCount   = 2
	tourProcessPermits = 16 // calls that a process has at once: more than it can answer before it is killed
	tourProcessSteps   = 1
	tourVictim         = 0 // the lane whose process is killed
)

// processTour is the fourth part of the tour: calls on a pool of two worker processes, of which
// one is killed.
type processTour struct {
	*report
	p     *pool.Pool
	tasks *remote.Tasks
	calls int
	row   processRow

	ended, answered, lost atomic.Int64 // calls
	sum, missing          atomic.Int64 // of the answers, and of those that the lost calls would have had
	killed                atomic.Pointer[error]
}

// processRow is the line of -json.
type processRow struct {
	Tour        string           `json:"tour"`
	Impl        string           `json:"impl"`
	Unsupported string           `json:"unsupported,omitempty"` // why there is no process; then nothing else is here
	Workers     int              `json:"workers"`
	Seconds     float64          `json:"seconds,omitempty"`
	Calls       int              `json:"calls,omitempty"`
	Answered    int64            `json:"answered,omitempty"`
	Lost        int64            `json:"lost"`
	SentAgain   uint64           `json:"sentAgain"`
	Replaced    int              `json:"replaced"`
	Result      int64            `json:"result,string"`  // the sum of all answers
	Missing     int64            `json:"missing,string"` // the sum of the answers that the lost calls would have had
	Lanes       []processLaneRow `json:"lanes,omitempty"`
}

// processLaneRow is one worker process.
type processLaneRow struct {
	Lane      int    `json:"lane"`
	Answered  uint64 `json:"answered"`
	Lost      uint64 `json:"lost"`
	SentAgain uint64 `json:"sentAgain"`
	Replaced  int    `json:"replaced"`
}

// tourProcesses is the fourth part of the tour. open is pool.New.
func tourProcesses(ctx context.Context, r *report, calls int, open func(*pool.Handlers, pool.Config) (*pool.Pool, error)) error {
	r.printf(`
4. %s calls into %d worker processes, one of which is killed in the middle

`, thousands(int64(calls)), tourProcessCount)
	r.step("processes")
	ctx, cancel := context.WithTimeoutCause(ctx, tourLimit, fmt.Errorf("processes: not done after %v", tourLimit))
	defer cancel()
	t := &processTour{report: r, tasks: remote.NewTasks(), calls: calls}
	t.row = processRow{Tour: "processes", Impl: wayLanewright, Workers: r.Workers}
	var err error
	for _, kind := range []pool.RegionKind{pool.Sealed, pool.File} { // Linux has sealed memory
		t.p, err = open(&t.tasks.Handlers, pool.Config{
			Lanes: tourProcessCount, Concurrency: tourProcessPermits,
			Process: &pool.Process{Region: kind, Payload: pool.Payload{Max: 1 << 20}}, // for integers
		})
		if !errors.Is(err, errors.ErrUnsupported) {
			break
		}
	}
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		t.row.Unsupported = err.Error()
		return t.write()
	case err != nil:
		return fmt.Errorf("processes: %w", err)
	}
	defer func() { _ = t.p.Close() }() // after an error; otherwise it is closed already
	if err := t.use(ctx); err != nil {
		return cmp.Or(context.Cause(ctx), fmt.Errorf("processes: %w", err))
	}
	return t.write()
}

// use makes the calls, checks that the killed process was replaced, and ends the pool.
func (t *processTour) use(ctx context.Context) error {
	l := new(lap)
	l.start()
	err := workload.Crowd(tourCallers, t.calls, func(_, n int) bool { return t.call(ctx, n) })
	l.stop()
	if killed := t.killed.Load(); killed != nil && *killed != nil {
		return *killed
	}
	if err != nil {
		return err
	}
	if err := t.p.Wait(ctx); err != nil {
		return err
	}
	t.row.Seconds, t.row.Calls = l.elapsed.Seconds(), t.calls
	t.row.Answered, t.row.Lost = t.answered.Load(), t.lost.Load()
	t.row.Result, t.row.Missing = t.sum.Load(), t.missing.Load()
	m := t.p.Metrics()
	if err := t.awaitReplaced(ctx); err != nil {
		return err
	}
	t.row.count(m, t.p.Workers())
	if err := t.p.Shutdown(ctx); err != nil {
		return err
	}
	if left, err := t.p.Terminate(ctx); left != 0 || err != nil {
		return fmt.Errorf("%d handlers have not returned: %w", left, unexpected(err, nil))
	}
	return t.row.check()
}

// call makes a call with the argument n, whose answer is n + 1. The caller whose call is in the
// middle kills a process. call reports whether the outcome is right.
func (t *processTour) call(ctx context.Context, n int) bool {
	got, err := t.tasks.Add.Call(ctx, n)
	switch {
	case err == nil && got == n+1:
		t.answered.Add(1)
		t.sum.Add(int64(got))
	case errors.Is(err, pool.ErrWorkerLost) && !errors.Is(err, pool.ErrNotStarted):
		t.lost.Add(1)
		t.missing.Add(int64(n) + 1)
	default:
		return false
	}
	if t.ended.Add(1) == int64(t.calls)/2 {
		err := kill(t.p.Workers()[tourVictim])
		t.killed.Store(&err)
	}
	return true
}

// kill kills a worker process.
func kill(w pool.WorkerInfo) error {
	p, err := os.FindProcess(w.Pid)
	if err != nil {
		return fmt.Errorf("kill process %d: %w", w.Pid, err)
	}
	defer func() { _ = p.Release() }() // always nil
	if err := p.Kill(); err != nil {
		return fmt.Errorf("kill process %d: %w", w.Pid, err)
	}
	return nil
}

// awaitReplaced returns when the process that has replaced the killed one has answered a call.
func (t *processTour) awaitReplaced(ctx context.Context) error {
	for {
		id := t.p.Lanes()[tourVictim].ID
		switch got, err := pool.CallAt(ctx, id, t.tasks.Add, 41); {
		case err == nil && got == 42:
			return nil
		case !errors.Is(err, pool.ErrLaneDiscarded) && !errors.Is(err, pool.ErrWorkerLost): // the death was seen meanwhile
			return fmt.Errorf("a call to the next process got %d, want 42: %w", got, unexpected(err, nil))
		}
	}
}

// count fills in what the pool has counted of each lane.
func (row *processRow) count(m pool.Metrics, workers []pool.WorkerInfo) {
	row.Lanes = nil
	for i, l := range m.Lanes {
		n := processLaneRow{Lane: l.Lane, Answered: l.Ends.Returned, Lost: l.Ends.WorkerLost, SentAgain: l.Resent}
		if i < len(workers) {
			n.Replaced = workers[i].Generation - 1
		}
		row.Lanes = append(row.Lanes, n)
		row.SentAgain += n.SentAgain
		row.Replaced += n.Replaced
	}
}

// check checks that the counts of the callers and of the pool add up.
func (row *processRow) check() error {
	n := int64(row.Calls)
	if row.Answered+row.Lost != n {
		return fmt.Errorf("%d calls were answered and %d were lost, of %d", row.Answered, row.Lost, n)
	}
	if want := n * (n + 1) / 2; row.Result+row.Missing != want {
		return fmt.Errorf("the answers add up to %d and those of the lost calls to %d, want %d in all", row.Result, row.Missing, want)
	}
	if len(row.Lanes) != tourProcessCount {
		return fmt.Errorf("there are %d lanes, want %d", len(row.Lanes), tourProcessCount)
	}
	answered, lost := int64(0), int64(0)
	for i, l := range row.Lanes {
		answered += int64(l.Answered)
		lost += int64(l.Lost)
		want := 0
		if i == tourVictim {
			want = 1
		}
		if l.Replaced != want || l.Answered == 0 || i != tourVictim && (l.Lost != 0 || l.SentAgain != 0) {
			return fmt.Errorf("process %d was killed, and a lane counts %+v", tourVictim, l)
		}
	}
	if answered != row.Answered || lost != row.Lost {
		return fmt.Errorf("the callers count %d answered and %d lost calls, the lanes %d and %d", row.Answered, row.Lost, answered, lost)
	}
	return nil
}

// write writes the results: a table and sentences, or a line.
func (t *processTour) write() error {
	row := &t.row
	t.Bar.Clear()
	if t.JSON {
		return writeLine(t.Out, row)
	}
	if row.Unsupported != "" {
		t.printf("   There are no worker processes here: %s\n", row.Unsupported)
		return nil
	}
	tw := tabwriter.NewWriter(t.Out, 0, 0, 3, ' ', tabwriter.AlignRight)
	cli.Printf(tw, "\tanswered\tlost\tsent again\treplaced\t\n")
	for _, l := range row.Lanes {
		cli.Printf(tw, "  lane %d\t%s\t%s\t%s\t%d\t\n", l.Lane, thousands(int64(l.Answered)), thousands(int64(l.Lost)), thousands(int64(l.SentAgain)), l.Replaced)
	}
	cli.Printf(tw, "  all\t%s\t%s\t%s\t%d\t\n", thousands(row.Answered), thousands(row.Lost), thousands(int64(row.SentAgain)), row.Replaced)
	if err := tw.Flush(); err != nil {
		return err
	}
	t.printf(`
   A process may have run a lost call before it was killed. It has not started a call that was sent
   again, so another process has run that. The process that replaced it answers calls.

   The answers add up to %s. The lost calls would have added %s, which makes %s in all.
   It took %.3f s: %.0f ns a call.
`, thousands(row.Result), thousands(row.Missing), thousands(row.Result+row.Missing), row.Seconds, row.Seconds/float64(row.Calls)*1e9)
	return nil
}
