package tour

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/cli"
	"github.com/lanewright/lanewright/cmd/lanewright/internal/workload"
	"github.com/lanewright/lanewright/pool"
)

const (
	tourLaneCount = 2
	tourCallers   = 64
	tourPaused    = 200  // calls to the paused pool
	tourLast      = 2000 // calls that wait at Shutdown: the lanes take up to 2112
	tourTimeout   = 20 * time.Millisecond
	tourLaneSteps = 6
	tourLimit     = 5 * time.Minute // ends the waits for a pool with wrong counts
)

// purchase is the argument of the calls.
type purchase struct{ price, amount int64 }

// errEnough aborts a call. A handler panics with errSoldOut.
var (
	errEnough  = errors.New("enough")
	errSoldOut = errors.New("sold out")
)

// laneTour is the third part of the tour: calls on a pool with two lanes.
type laneTour struct {
	*report
	p       *pool.Pool
	calls   int // calls of callAll
	made    int // calls that the pool accepted
	late    int // answers after the end of their call
	row     laneRow
	cost    *pool.Func[purchase, int64]
	poll    *pool.Func[chan bool, struct{}]
	outlast *pool.Func[chan struct{}, struct{}]
	fail    *pool.Func[struct{}, struct{}]
	count   *pool.Func[int, int]
	ran     struct {
		sync.Mutex
		numbers []int // the arguments of count in the order of the calls
	}
}

// laneRow is the line of -json.
type laneRow struct {
	Tour       string          `json:"tour"`
	Impl       string          `json:"impl"`
	Workers    int             `json:"workers"`
	Seconds    float64         `json:"seconds"`
	CPUSeconds *float64        `json:"cpu_seconds,omitempty"` // nil where it is unknown
	Calls      int             `json:"calls"`
	Result     int64           `json:"result,string"` // the sum of all answers
	Lanes      []pool.LaneInfo `json:"lanes"`         // after callAll
	Aborted    string          `json:"aborted"`
	TimedOut   string          `json:"timed_out"`
	Panicked   string          `json:"panicked"`
	Paused     int             `json:"paused"`   // calls that waited for Resume
	Finished   int             `json:"finished"` // calls that Shutdown finished
	Refused    string          `json:"refused"`
	Accepted   uint64          `json:"accepted"`
	Ended      uint64          `json:"ended"`
	Stale      uint64          `json:"staleResponses"`
}

// tourLanes is the third part of the tour.
func tourLanes(ctx context.Context, r *report, calls int) error {
	r.printf(`
3. %s typed calls over %d lanes, from %d goroutines

   A call takes a price and an amount, and the answer is their product.

`, thousands(int64(calls)), tourLaneCount, tourCallers)
	ctx, cancel := context.WithTimeoutCause(ctx, tourLimit, fmt.Errorf("lanes: not done after %v", tourLimit))
	defer cancel()
	t := &laneTour{report: r, calls: calls}
	if err := t.open(); err != nil {
		return err
	}
	defer func() { _ = t.p.Close() }() // after an error; otherwise it is closed already
	for _, part := range []struct {
		what string
		run  func(context.Context) error
	}{
		{"calls", t.callAll},
		{"abort", t.abortOne},
		{"timeout", t.timeOutOne},
		{"panic", t.panicOne},
		{"pause", t.pause},
		{"shutdown", t.shutDown},
	} {
		r.step("lanes, " + part.what)
		if err := part.run(ctx); err != nil {
			return cmp.Or(context.Cause(ctx), fmt.Errorf("lanes, %s: %w", part.what, err))
		}
	}
	return t.write()
}

// open makes the pool and its functions.
func (t *laneTour) open() (err error) {
	var h pool.Handlers
	t.cost = pool.Register(&h, "cost", func(_ context.Context, p purchase) (int64, error) {
		return p.price * p.amount, nil
	})
	t.poll = pool.Register(&h, "poll", poll, pool.TaskOptions{Abortable: true})
	t.outlast = pool.Register(&h, "outlast", outlast, pool.TaskOptions{Timeout: tourTimeout})
	t.fail = pool.Register(&h, "fail", sellOut)
	t.count = pool.Register(&h, "count", func(_ context.Context, n int) (int, error) {
		t.ran.Lock()
		defer t.ran.Unlock()
		t.ran.numbers = append(t.ran.numbers, n)
		return -n, nil
	})
	t.p, err = pool.New(&h, pool.Config{Lanes: tourLaneCount, Backlog: pool.Unlimited})
	return err
}

// poll polls its signal until its call is aborted. It sends false at its start, and
// at its end whether the signal reports the abort.
func poll(ctx context.Context, aborted chan bool) (none struct{}, err error) {
	aborted <- false
	signal := pool.AbortSignalOf(ctx)
	for !signal.Aborted() && ctx.Err() == nil {
		runtime.Gosched()
	}
	aborted <- signal.Aborted()
	return none, nil
}

// outlast returns after answered is closed: its caller has a result by then.
func outlast(_ context.Context, answered chan struct{}) (none struct{}, err error) {
	return receive(context.Background(), answered)
}

// sellOut panics with an error.
func sellOut(context.Context, struct{}) (none struct{}, err error) { panic(errSoldOut) }

// callAll makes the calls and checks the counters of the lanes.
func (t *laneTour) callAll(ctx context.Context) error {
	var sum atomic.Int64
	l := new(lap)
	l.start()
	err := workload.Crowd(tourCallers, t.calls, func(_, n int) bool {
		got, err := t.cost.Call(context.Background(), purchase{int64(n), 3})
		sum.Add(got)
		return got == 3*int64(n) && err == nil
	})
	l.stop()
	if err = cmp.Or(err, t.p.Wait(ctx)); err != nil {
		return err
	}
	n := int64(t.calls)
	if want := 3 * n * (n - 1) / 2; sum.Load() != want {
		return fmt.Errorf("the answers add up to %d, want %d", sum.Load(), want)
	}
	t.made += t.calls
	t.row = laneRow{
		Tour: "lanes", Impl: wayLanewright, Workers: t.Workers, Calls: t.calls,
		Seconds: l.elapsed.Seconds(), Result: sum.Load(), Lanes: t.p.Lanes(),
	}
	if l.cpuOK {
		cpu := l.cpu.Seconds()
		t.row.CPUSeconds = &cpu
	}
	return checkLanes(t.row.Lanes, t.calls)
}

// checkLanes checks the counters of the lanes after that many calls. The lanes accept them in turn, but for those that
// find their lane busy.
func checkLanes(lanes []pool.LaneInfo, calls int) error {
	if len(lanes) != tourLaneCount {
		return fmt.Errorf("there are %d lanes, want %d", len(lanes), tourLaneCount)
	}
	accepted := 0
	for _, l := range lanes {
		accepted += int(l.Accepted)
		switch {
		case l.Ended != l.Accepted || l.Backlog != 0 || l.InFlight != 0 || l.StaleResponses != 0 || l.Abandoned != 0:
			return fmt.Errorf("a lane has not ended every call: %+v", l)
		case l.Accepted == 0 && calls > 0:
			return fmt.Errorf("a lane accepted none of %d calls", calls)
		case l.Direct > l.Ended || l.Direct < l.Ended && l.DrainsScheduled == 0:
			return fmt.Errorf("some calls of a lane have no runner: %+v", l)
		}
	}
	if accepted != calls {
		return fmt.Errorf("the lanes accepted %d calls, want %d", accepted, calls)
	}
	return nil
}

// abortOne aborts a call with a running handler.
func (t *laneTour) abortOne(ctx context.Context) error {
	aborted := make(chan bool, 2)
	f := t.poll.Go(context.Background(), aborted)
	if _, err := receive(ctx, aborted); err != nil {
		return err
	}
	f.Abort(errEnough)
	_, err := f.Wait(ctx)
	if !errors.Is(err, errEnough) || errors.Is(err, pool.ErrNotStarted) {
		return unexpected(err, errEnough)
	}
	switch reported, err := receive(ctx, aborted); {
	case err != nil:
		return err
	case !reported:
		return errors.New("the signal of the handler did not report the abort")
	}
	t.made++
	t.late++
	t.row.Aborted = err.Error()
	return nil
}

// timeOutOne makes a call whose handler returns after the timeout.
func (t *laneTour) timeOutOne(context.Context) error {
	answered := make(chan struct{})
	defer close(answered)
	began := time.Now()
	_, err := t.outlast.Call(context.Background(), answered)
	if !errors.Is(err, context.DeadlineExceeded) {
		return unexpected(err, context.DeadlineExceeded)
	}
	if d := time.Since(began); d < tourTimeout {
		return fmt.Errorf("the timeout came after %v, want %v", d, tourTimeout)
	}
	t.made++
	if !errors.Is(err, pool.ErrNotStarted) { // otherwise no worker was free in time
		t.late++
	}
	t.row.TimedOut = err.Error()
	return nil
}

// panicOne calls a handler that panics, and then checks that both lanes still answer.
func (t *laneTour) panicOne(context.Context) error {
	_, err := t.fail.Call(context.Background(), struct{}{})
	var remote *pool.RemoteError
	if !errors.As(err, &remote) || !errors.Is(err, errSoldOut) || remote.Type != "panic" || !strings.Contains(remote.Stack, "sellOut") {
		return unexpected(err, errSoldOut)
	}
	for range tourLaneCount {
		if got, err := t.cost.Call(context.Background(), purchase{6, 7}); got != 42 || err != nil {
			return fmt.Errorf("the next call got %d, want 42: %w", got, unexpected(err, nil))
		}
	}
	t.made += 1 + tourLaneCount
	t.row.Panicked = err.Error()
	return nil
}

// pause makes calls to a pool that is paused, and resumes it.
func (t *laneTour) pause(ctx context.Context) error {
	futures, err := t.queue(ctx, tourPaused)
	if err != nil {
		return err
	}
	t.p.Resume()
	t.row.Paused = tourPaused
	return t.await(ctx, futures)
}

// queue pauses the pool and makes n calls. It checks that all of them wait.
func (t *laneTour) queue(ctx context.Context, n int) ([]*pool.Future[int], error) {
	if err := t.p.Wait(ctx); err != nil {
		return nil, err
	}
	t.p.Pause()
	t.ran.numbers = nil
	futures := make([]*pool.Future[int], n)
	for i := range futures {
		futures[i] = t.count.Go(context.Background(), i)
	}
	t.made += n
	t.ran.Lock()
	defer t.ran.Unlock()
	m := t.p.Metrics()
	if waiting := m.Backlog + m.InFlight; !m.Paused || waiting != n || len(t.ran.numbers) != 0 {
		return nil, fmt.Errorf("%d of %d calls wait and %d ran, while the pool was paused", waiting, n, len(t.ran.numbers))
	}
	return futures, nil
}

// await waits for calls of count. It checks that each of them has run once.
func (t *laneTour) await(ctx context.Context, futures []*pool.Future[int]) error {
	for i, f := range futures {
		if got, err := f.Wait(ctx); got != -i || err != nil {
			return fmt.Errorf("call %d got %d, want %d: %w", i, got, -i, unexpected(err, nil))
		}
	}
	t.ran.Lock()
	defer t.ran.Unlock()
	slices.Sort(t.ran.numbers)
	for i := range max(len(futures), len(t.ran.numbers)) {
		if i >= len(futures) || i >= len(t.ran.numbers) || t.ran.numbers[i] != i {
			return fmt.Errorf("%d of %d calls ran: %v", len(t.ran.numbers), len(futures), t.ran.numbers)
		}
	}
	return nil
}

// shutDown shuts the pool down while calls wait. The pool must finish them.
func (t *laneTour) shutDown(ctx context.Context) error {
	futures, err := t.queue(ctx, tourLast) // Shutdown resumes the pool
	if err != nil {
		return err
	}
	if err := t.p.Shutdown(ctx); err != nil {
		return err
	}
	if err := t.await(ctx, futures); err != nil {
		return err
	}
	t.row.Finished = tourLast
	_, err = t.count.Call(ctx, 0)
	if !errors.Is(err, pool.ErrPoolShutdown) || !errors.Is(err, pool.ErrNotStarted) {
		return fmt.Errorf("the call after Shutdown: %w", unexpected(err, pool.ErrPoolShutdown))
	}
	t.row.Refused = err.Error()
	if left, err := t.p.Terminate(ctx); left != 0 || err != nil {
		return fmt.Errorf("%d handlers have not returned: %w", left, unexpected(err, nil))
	}
	m := t.p.Metrics()
	t.row.Accepted, t.row.Ended, t.row.Stale = m.Accepted, m.Ended, m.StaleResponses
	if want := uint64(t.made); m.Accepted != want || m.Ended != want || m.Backlog+m.InFlight+m.Detached != 0 || m.StaleResponses != uint64(t.late) {
		return fmt.Errorf("the counters are wrong, want %d calls and %d late answers: %+v", t.made, t.late, m)
	}
	return nil
}

// unexpected returns an error with the error of a call and the wanted one. Both may be
// nil.
func unexpected(got, want error) error {
	return fmt.Errorf("the caller got the error %s, want %s", fmt.Sprint(got), fmt.Sprint(want))
}

// receive returns the next value, or an error after 30 s and at the end of ctx.
func receive[T any](ctx context.Context, from <-chan T) (v T, err error) {
	select {
	case v = <-from:
		return v, nil
	case <-ctx.Done():
		return v, context.Cause(ctx)
	case <-time.After(30 * time.Second):
		return v, errors.New("no value was sent within 30 s")
	}
}

// write writes the results: a table and sentences, or a line.
func (t *laneTour) write() error {
	row := &t.row
	t.Bar.Clear()
	if t.JSON {
		return writeLine(t.Out, row)
	}
	tw := tabwriter.NewWriter(t.Out, 0, 0, 3, ' ', tabwriter.AlignRight)
	cli.Printf(tw, "\tcalls\tanswered\trun by the caller\tdrains\twaiting\t\n")
	for _, l := range row.Lanes {
		cli.Printf(tw, "  lane %d\t%s\t%s\t%s\t%s\t%d\t\n", l.Lane, thousands(int64(l.Accepted)), thousands(int64(l.Ended)),
			thousands(int64(l.Direct)), thousands(int64(l.DrainsScheduled)), l.Backlog+l.InFlight)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	cpu := "unknown"
	if row.CPUSeconds != nil {
		cpu = fmt.Sprintf("%.3f s", *row.CPUSeconds)
	}
	t.printf(`
   The tour checked every answer; they add up to %s. It took %.3f s: %.0f ns a call; CPU time %s.
   A caller that finds its lane free runs its call itself. Otherwise it schedules a drain, unless
   one is scheduled already: a task that runs the waiting calls of the lane on a worker.

   aborted     the caller got "%s" at once, and the handler saw the abort and returned
   timed out   the caller got "%s" after %d ms
   panicked    the caller got '%s' with the stack, and both lanes answered the next call
   paused      %s calls waited; resumed: all ran, on each lane in order
   shut down   %s calls waited, and all were finished; the next one got "%s"

   All in all %s calls, and %s ended, each once; %s answers came after the end of their call.
`, thousands(row.Result), row.Seconds, row.Seconds/float64(row.Calls)*1e9, cpu,
		row.Aborted, row.TimedOut, tourTimeout.Milliseconds(), row.Panicked, thousands(int64(row.Paused)), thousands(int64(row.Finished)), row.Refused,
		thousands(int64(row.Accepted)), thousands(int64(row.Ended)), thousands(int64(row.Stale)))
	return nil
}
