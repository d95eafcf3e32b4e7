//go:build crash && linux && !interleave

package pool_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/lanewright/lanewright/internal/crash"
	"github.com/lanewright/lanewright/internal/patience"
	"github.com/lanewright/lanewright/internal/proctest"
	"github.com/lanewright/lanewright/internal/shm"
	"github.com/lanewright/lanewright/pool"
)

var (
	workerDeaths = flag.Int("sweep.worker", 100, "deaths of a worker at each step; with -short at most 6")
	hostDeaths   = flag.Int("sweep.host", 20, "deaths of a host at each step; with -short at most 2")
)

// deathsOf returns how many deaths a test makes.
func deathsOf(n *int, short int) int {
	if testing.Short() {
		return min(*n, short)
	}
	return *n
}

const sweepWorker = "sweep worker"

func init() {
	mains[sweepWorker] = func() {
		h, _ := newSweepTasks()
		pool.WorkerMain(h)
		os.Exit(1)
	}
}

// newSweepTasks returns the task of the workers of a sweep. Its argument begins with a number and the size of the result.
func newSweepTasks() (*pool.Handlers, *pool.Func[[]byte, []byte]) {
	h := new(pool.Handlers)
	return h, pool.Register(h, "fill", func(_ context.Context, arg []byte) ([]byte, error) {
		number := int(binary.LittleEndian.Uint64(arg))
		crash.Own().Count(number)
		crash.At(crash.Handler)
		return filled(number, int(binary.LittleEndian.Uint64(arg[8:]))), nil
	})
}

// filled is the result of the call with that number.
func filled(number, size int) []byte {
	return bytes.Repeat([]byte{byte(number), byte(number >> 8)}, size/2)
}

// request is the argument of the call with that number.
func request(number, size int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(number))
	b = binary.LittleEndian.AppendUint64(b, uint64(size))
	return append(b, make([]byte, size)...)
}

// sizes are those of arguments and results: every tier, and blocks of several sizes.
var sizes = []int{0, 100, 600, 24, 3000, 600, 20_000}

// The outcomes of a call of a sweep.
const (
	answered = iota
	lost     // the worker may have run it
	refused  // no worker has run it
)

// sweep is the run of one step.
type sweep struct {
	t     *testing.T
	step  crash.Step
	page  *crash.Page
	path  string
	pool  *pool.Pool
	task  *pool.Func[[]byte, []byte]
	paced bool          // each call waits until the worker is parked
	limit time.Duration // Config.HardLimit

	numbers  atomic.Int64 // of calls
	outcomes [3]atomic.Int64
	notRun   chan int // the numbers of refused calls
	forced   int      // workers that the test has killed
	resent   uint64
	over     atomic.Bool
}

// newSweep returns the run of a step with a page of its own.
func newSweep(t *testing.T, s crash.Step) *sweep {
	t.Helper()
	proctest.Need(t)
	pool.SetRestartDelay(t, 10*time.Millisecond) // many processes in a row answer no call
	path := t.TempDir() + "/page"
	page, err := crash.OpenPage(path)
	must(t, err)
	return &sweep{
		t: t, step: s, page: page, path: path, notRun: make(chan int, crash.Counts),
		paced: s == crash.ParkedStored || s == crash.Parked || s == crash.Woken,
	}
}

// open makes a pool.
func (s *sweep) open(lanes, concurrency int, region pool.RegionKind) error {
	h, task := newSweepTasks()
	p, err := pool.New(h, pool.Config{Lanes: lanes, Concurrency: concurrency, HardLimit: s.limit, Process: &pool.Process{
		Env:     []string{mainVariable + "=" + sweepWorker, crash.Variable + "=@" + s.path},
		Payload: pool.Payload{Initial: 64 << 10, Max: 1 << 20},
		Region:  region,
	}})
	s.pool, s.task = p, task
	return err
}

// close ends the pool and adds up.
func (s *sweep) close() {
	s.t.Helper()
	must(s.t, s.pool.Wait(within(s.t)))
	m := s.pool.Metrics()
	if m.Accepted != m.Ended || m.Backlog != 0 || m.InFlight != 0 || m.Waiting != 0 {
		s.t.Errorf("at rest: %+v", m)
	}
	for _, l := range m.Lanes {
		s.resent += l.Resent
	}
	s.terminate()
}

func (s *sweep) terminate() {
	s.t.Helper()
	ends(s.t, "Terminate", func() {
		if left, err := s.pool.Terminate(within(s.t)); left != 0 || err != nil {
			s.t.Errorf("Terminate = %d, %v", left, err)
		}
	})
}

// ended notes the outcome of a call. It fails the test if a call has another one, or another answer, than a call may have.
func (s *sweep) ended(number, size int, got []byte, err error) {
	lostIt, notStarted := errors.Is(err, pool.ErrWorkerLost), errors.Is(err, pool.ErrNotStarted)
	switch {
	case err == nil && bytes.Equal(got, filled(number, size)):
		s.outcomes[answered].Add(1)
	case lostIt && !notStarted:
		s.outcomes[lost].Add(1)
	case !lostIt && notStarted && (errors.Is(err, pool.ErrLaneDiscarded) || errors.Is(err, pool.ErrWorkerBoot) || errors.Is(err, pool.ErrRestartIntensity)):
		s.outcomes[refused].Add(1)
		s.notRun <- number
	default:
		s.t.Errorf("call %d: %d of %d bytes, %v", number, len(got), size, err)
	}
}

// call makes one call, and waits for it unless kind is 1, in which case it waits for several.
func (s *sweep) call(kind int) {
	const several = 4
	pass := s.page.Passes(crash.ParkedStored)
	died := s.page.Deaths()
	var ids []int
	var fs []*pool.Future[[]byte]
	for range several {
		number := int(s.numbers.Add(1))
		size := sizes[number%len(sizes)]
		arg := request(number, size)
		switch kind {
		case 0:
			got, err := s.task.Call(within(s.t), arg)
			s.ended(number, size, got, err)
		case 1:
			ids, fs = append(ids, number), append(fs, s.task.Go(within(s.t), arg))
			continue
		default:
			id := s.pool.Lanes()[number%2].ID
			got, err := pool.CallAt(within(s.t), id, s.task, arg)
			s.ended(number, size, got, err)
		}
		break
	}
	for i, f := range fs {
		got, err := f.Wait(within(s.t))
		s.ended(ids[i], sizes[ids[i]%len(sizes)], got, err)
	}
	if s.paced { // the worker arms its doorbell when it lends the turn to run the call, and before it parks
		for deadline := time.Now().Add(20 * time.Millisecond); s.page.Passes(crash.ParkedStored) < pass+2 && s.page.Deaths() == died; {
			if time.Now().After(deadline) {
				return // it has not come to that, because another call was first
			}
		}
	}
}

// isBoot reports whether the step comes before a worker takes calls.
func (s *sweep) isBoot() bool { return s.step <= crash.ReadyPublished }

// run lets workers of two lanes die at the step while callers call, n times.
func (s *sweep) run(n, concurrency int, region pool.RegionKind, random *rand.Rand) {
	s.t.Helper()
	must(s.t, s.open(2, concurrency, region))
	kinds := []int{0, 1, 2}
	if s.paced {
		kinds = []int{0}
	}
	s.over.Store(false)
	done := make(chan struct{}, len(kinds))
	for _, kind := range kinds {
		go func() {
			defer func() { done <- struct{}{} }()
			for !s.over.Load() && !s.t.Failed() {
				s.call(kind)
			}
		}()
	}
	for range n {
		want := s.page.Deaths() + 1
		if s.isBoot() {
			s.page.Arm(s.step, 1)
			s.killOne(random.IntN(2))
		} else {
			s.page.Arm(s.step, 1+random.IntN(20))
		}
		until(s.t, fmt.Sprintf("death %d at the step %q", want, s.step), func() bool { return s.page.Deaths() == want || s.t.Failed() })
	}
	s.over.Store(true)
	for range kinds {
		came(s.t, "the callers return", done)
	}
	s.close()
}

// killOne kills the worker of a lane, whose next worker then starts.
func (s *sweep) killOne(lane int) {
	s.t.Helper()
	until(s.t, "the worker serves", func() bool {
		w := s.pool.Workers()[lane]
		return w.State == "serving" && w.Pid != 0 && syscall.Kill(w.Pid, syscall.SIGKILL) == nil
	})
	s.forced++
}

// runEnds lets the worker of a pool die at the step while the pool ends, n times.
func (s *sweep) runEnds(n int, region pool.RegionKind) {
	s.t.Helper()
	for range n {
		must(s.t, s.open(1, 1, region))
		s.call(0)
		s.call(1)
		s.page.Arm(s.step, 1)
		want := s.page.Deaths() + 1
		s.close()
		if got := s.page.Deaths(); got != want {
			s.t.Fatalf("%d deaths at the step %q, want %d", got, s.step, want)
		}
	}
}

// check checks the laws of all calls: none has begun twice, and one that was refused has not begun.
func (s *sweep) check() {
	s.t.Helper()
	for number := range int(s.numbers.Load()) + 1 {
		if n := s.page.Counted(number); n > 1 {
			s.t.Errorf("call %d has begun %d times", number, n)
		}
	}
	close(s.notRun)
	for number := range s.notRun {
		if n := s.page.Counted(number); n != 0 {
			s.t.Errorf("call %d has begun and was refused", number)
		}
	}
	if calls, sum := s.numbers.Load(), s.outcomes[answered].Load()+s.outcomes[lost].Load()+s.outcomes[refused].Load(); calls != sum {
		s.t.Errorf("%d calls have %d outcomes", calls, sum)
	}
}

// The calls that one worker may lose at a step, while it has one call at a time.
const (
	atMostOne = iota // at most one each
	losesNone        // none: it has not started one, or has published the answer
	losesOne         // one each
)

var losses = map[crash.Step]int{
	crash.Executed: losesNone, crash.Mapped: losesNone, crash.HelloWritten: losesNone, crash.ReadyPublished: losesNone,
	crash.PendingRead: losesNone, crash.HeaderDecoded: losesNone, crash.BeforeStarted: losesNone, crash.Acknowledging: losesNone,
	crash.AfterStarted: losesOne, crash.Handler: losesOne,
	crash.AfterPublish: losesNone, crash.BellMoved: losesNone, crash.Rung: losesNone, // a published answer arrives
	crash.Closing: losesNone, crash.Exiting: losesNone,
}

// TestKillSweepWorker lets a worker process die at each step of its protocol, many times. Each call ends once. A call that
// was sent again, or refused, had not run. An answer that was published arrives. Nothing is left. K-143, C-016.
func TestKillSweepWorker(t *testing.T) {
	warm := newSweep(t, crash.Exiting)
	warm.runEnds(1, pool.Sealed) // the first pool makes threads and descriptors that stay
	random := newRand(t)(0)
	n := deathsOf(workerDeaths, 6)
	first := used(t)
	t.Logf("%-34s %6s %6s %6s %10s", "step", "deaths", "calls", "lost", "sent again")
	for _, step := range crash.Steps(false) {
		t.Run(step.String(), func(t *testing.T) {
			before := used(t)
			s := newSweep(t, step)
			runs := func(n, concurrency int, region pool.RegionKind) {
				if step == crash.Closing || step == crash.Exiting {
					s.runEnds(n, region)
				} else {
					s.run(n, concurrency, region, random)
				}
			}
			s.limit = time.Hour // no call is sent ahead
			runs((n+1)/2, 1, pool.Sealed)
			s.limit = 0
			deaths, gone := s.page.Deaths(), int(s.outcomes[lost].Load())-s.forced
			switch losses[step] {
			case losesNone:
				if gone > 0 {
					t.Errorf("%d calls were lost; no worker had started one and not answered it", gone)
				}
			case losesOne:
				if gone != deaths {
					t.Errorf("%d calls were lost by %d deaths", gone, deaths)
				}
			default:
				if gone > deaths {
					t.Errorf("%d calls were lost by %d deaths", gone, deaths)
				}
			}
			runs(n-(n+1)/2, 3, pool.Named)
			s.check()
			deaths = s.page.Deaths()
			t.Logf("%-34s %6d %6d %6d %10d", step, deaths, s.numbers.Load(), s.outcomes[lost].Load(), s.resent)
			if deaths != n {
				t.Errorf("%d deaths, want %d", deaths, n)
			}
			if most := int64(3*deaths + 3*s.forced); s.outcomes[lost].Load() > most {
				t.Errorf("%d calls were lost, want at most %d", s.outcomes[lost].Load(), most)
			}
			before.isAlsoNow(t)
		})
	}
	first.isAlsoNow(t)
	if now := threads(t); now > first.threads+64 { // the Go runtime keeps the threads of system calls
		t.Errorf("%d threads, and %d before", now, first.threads)
	}
}

// TestKillSweepNew lets a worker die before it is ready while New waits for it. New says so, and nothing is left.
func TestKillSweepNew(t *testing.T) {
	warm := newSweep(t, crash.Exiting)
	warm.runEnds(1, pool.Sealed)
	for _, step := range crash.Steps(false) {
		s := newSweep(t, step)
		if !s.isBoot() {
			continue
		}
		before := used(t)
		for range deathsOf(workerDeaths, 2)/10 + 1 {
			s.page.Arm(step, 1)
			err := s.open(2, 1, pool.Named)
			if err == nil && step == crash.ReadyPublished { // New has seen that the worker was ready
				s.terminate()
				continue
			}
			if !errors.Is(err, pool.ErrWorkerBoot) || !strings.Contains(err.Error(), "signal: killed") {
				t.Fatalf("%s: New = %v", step, err)
			}
		}
		before.isAlsoNow(t)
	}
}

// usage is what a pool must give back.
type usage struct {
	descriptors, children, names string
	threads                      int
}

// used returns what this process uses.
func used(t *testing.T) (u usage) {
	t.Helper()
	u.threads = threads(t)
	links, err := filepath.Glob("/proc/self/fd/*")
	must(t, err)
	for _, l := range links {
		if target, err := os.Readlink(l); err == nil { // otherwise it is that of the look
			kind, _, _ := strings.Cut(target, ":")
			u.descriptors += filepath.Base(l) + " " + kind + "\n"
		}
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	must(t, err)
	for _, f := range stats {
		b, _ := os.ReadFile(f) // empty for a process that has ended
		_, rest, _ := strings.Cut(string(b), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == fmt.Sprint(os.Getpid()) {
			u.children += filepath.Dir(f) + " " + fields[0] + "\n"
		}
	}
	names, err := filepath.Glob(fmt.Sprintf("/dev/shm/%s%d-*", shm.NamePrefix, os.Getpid()))
	must(t, err)
	u.names = strings.Join(names, "\n")
	return u
}

func threads(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/task")
	must(t, err)
	return len(list)
}

// isAlsoNow waits until this process uses what it has used then. Threads are not compared.
func (u usage) isAlsoNow(t *testing.T) {
	t.Helper()
	var now usage
	for deadline := time.Now().Add(patience.Limit); ; {
		now = used(t)
		now.threads = u.threads
		if now == u {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("used before %+v, afterwards %+v", u, now)
		}
	}
}

// oftenPassed reports whether a host is at the step for each call, and not only for each process.
func oftenPassed(s crash.Step) bool {
	switch s {
	case crash.MemoryMade, crash.MemorySealed, crash.Forked, crash.ReadySeen, crash.Draining, crash.Reaping, crash.Closing:
		return false
	}
	return true
}

// TestKillSweepHost lets a host that is a process of its own die at each step, many times. No worker outlives it. The next
// host removes the names of its regions.
func TestKillSweepHost(t *testing.T) {
	proctest.Need(t)
	random := newRand(t)(0)
	var pids []int
	t.Logf("%-34s %6s %8s", "step", "deaths", "workers end after at most")
	for _, step := range crash.Steps(true) {
		t.Run(step.String(), func(t *testing.T) {
			longest := time.Duration(0)
			n := deathsOf(hostDeaths, 2)
			for i := range n {
				pass := 1 + random.IntN(3)
				if oftenPassed(step) {
					pass = 1 + random.IntN(40)
				}
				region := "sealed"
				if i%2 == 1 && step != crash.MemoryMade && step != crash.MemorySealed { // other memory is not sealed
					region = "named"
				}
				h := startHost(t, hostMode+"="+modeCalls, hostRegion+"="+region, fmt.Sprintf("%s=%s:%d", crash.Variable, step, pass))
				pids = append(pids, h.cmd.Process.Pid)
				if s := h.ended(); s != syscall.SIGKILL {
					t.Fatalf("the host has not died at pass %d of the step %q", pass, step)
				}
				longest = max(longest, h.workersEnd())
			}
			t.Logf("%-34s %6d %8v", step, n, longest.Round(time.Millisecond))
		})
	}
	h := startHost(t, hostMode+"="+modeCalls, hostRegion+"=named")
	h.says(saysServing) // it has removed the names of hosts that have ended
	for _, pid := range pids {
		if names, err := filepath.Glob(fmt.Sprintf("/dev/shm/%s%d-*", shm.NamePrefix, pid)); len(names) != 0 || err != nil {
			t.Errorf("host %d has left %q, %v", pid, names, err)
		}
	}
	must(t, h.cmd.Process.Kill())
	h.ended()
	h.workersEnd()
	_, err := shm.RemoveDead("/dev/shm")
	must(t, err)
}

// TestKillSweepForks lets the n-th start of a process fail. New says so, and gives all back that it has made.
func TestKillSweepForks(t *testing.T) {
	warm := newSweep(t, crash.Exiting)
	warm.runEnds(1, pool.Sealed)
	defer crash.Own().Disarm()
	before := used(t)
	ns := []int{1, 2, 3, 64}
	if !testing.Short() {
		ns = ns[:0]
		for n := range 64 {
			ns = append(ns, n+1)
		}
	}
	for _, n := range ns {
		s := newSweep(t, crash.Fork)
		failures := crash.Own().Deaths()
		crash.Own().Arm(crash.Fork, n)
		err := s.open(n, 1, pool.RegionKind(n%2)) // Sealed or Named
		if err == nil {
			s.terminate()
			t.Fatalf("start %d has not failed", n)
		}
		if !errors.Is(err, pool.ErrWorkerBoot) || !errors.Is(err, syscall.EAGAIN) || errors.Is(err, pool.ErrWorkerLost) {
			t.Errorf("start %d: New = %v", n, err)
		}
		if got := crash.Own().Deaths(); got != failures+1 {
			t.Errorf("start %d: %d failures", n, got-failures)
		}
		before.isAlsoNow(t)
	}
}

// TestKillSweepForkOfALane lets starts fail that replace a dead worker. While another lane has a worker, that runs the
// calls. Otherwise calls end with an error that says that they have not started. The lane tries again.
func TestKillSweepForkOfALane(t *testing.T) {
	warm := newSweep(t, crash.Exiting)
	warm.runEnds(1, pool.Sealed)
	before := used(t)
	for _, lanes := range []int{2, 1} {
		s := newSweep(t, crash.Fork)
		must(t, s.open(lanes, 1, pool.Named))
		defer crash.Own().Disarm()
		for i := range 20 {
			s.pool.Pause()
			waiting := int(s.numbers.Add(1))
			f := s.task.Go(within(t), request(waiting, 100))
			want := crash.Own().Deaths() + 1
			crash.Own().Arm(crash.Fork, 1)
			s.killOne(i % lanes)
			until(t, "the start fails", func() bool { return crash.Own().Deaths() == want })
			if lanes == 2 {
				s.pool.Resume() // otherwise the call ends while the pool is paused
			}
			got, err := f.Wait(within(t))
			if s.ended(waiting, 100, got, err); errors.Is(err, pool.ErrNotStarted) != (lanes == 1) || errors.Is(err, syscall.EAGAIN) != (lanes == 1) {
				t.Errorf("with %d lanes a call that waits ends with %v", lanes, err)
			}
			s.pool.Resume()
			until(t, "another start succeeds", func() bool { return s.pool.Workers()[i%lanes].State == "serving" })
			number := int(s.numbers.Add(1))
			got, err = s.task.Call(within(t), request(number, 100))
			if s.ended(number, 100, got, err); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		}
		s.close()
		s.check()
		before.isAlsoNow(t)
	}
}
