//go:build interleave

package program_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
	lfsync "github.com/lanewright/lanewright/sync"
)

// A script is a program of threads that each make one call after another.
type script struct {
	names   []string // of the calls
	n       int      // permits, tokens, or workers
	note    string   // further generated values
	threads [][]int
	daemons bool
	start   func(m *interleave.M, s *script) (do func(thread, call int))
}

func generateScript(t *rapid.T, what script, least, most int) *script {
	s := &what
	calls := rapid.SliceOfN(rapid.IntRange(0, len(s.names)-1), 1, 4)
	s.threads = rapid.SliceOfN(calls, least, most).Draw(t, "threads")
	return s
}

func (s *script) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "n = %d%s", s.n, s.note)
	for i, calls := range s.threads {
		fmt.Fprintf(&b, "\n  thread %d:", i)
		for _, c := range calls {
			b.WriteString(" " + s.names[c] + ";")
		}
	}
	return b.String()
}

func (s *script) body() func(m *interleave.M) {
	return func(m *interleave.M) {
		do := s.start(m, s)
		for i, calls := range s.threads {
			spawn := m.Go
			if s.daemons {
				spawn = m.GoDaemon
			}
			spawn("thread", func() {
				for _, c := range calls {
					do(i, c)
				}
			})
		}
	}
}

// count returns how often the threads make a call.
func (s *script) count(call int) (n int) {
	for _, calls := range s.threads {
		for _, c := range calls {
			if c == call {
				n++
			}
		}
	}
	return n
}

// contexts holds a context for each thread. Each call of end ends the next one.
type contexts struct {
	ctx    []context.Context
	cancel []context.CancelFunc
	next   int
}

func newContexts(n int) *contexts {
	l := new(contexts)
	for range n {
		ctx, cancel := context.WithCancel(context.Background())
		l.ctx, l.cancel = append(l.ctx, ctx), append(l.cancel, cancel)
	}
	return l
}

func (l *contexts) end() {
	l.cancel[l.next%len(l.cancel)]()
	l.next++
}

// TestGeneratedSemaphores checks a Semaphore with threads that acquire permits, some of
// them with a context, and release them. There are never more holders than permits,
// every Acquire returns, and all permits are free at the end.
func TestGeneratedSemaphores(t *testing.T) {
	const acquire, acquireContext, try, end = 0, 1, 2, 3
	check(t, func(t *rapid.T) generated {
		return generateScript(t, script{
			names: []string{"Acquire, Release", "Acquire with the context, Release", "TryAcquire, Release", "end a context"},
			n:     rapid.IntRange(1, 2).Draw(t, "permits"),
			start: func(m *interleave.M, s *script) func(int, int) {
				sem, err := lfsync.NewSemaphore(s.n)
				if err != nil {
					m.Fatalf("NewSemaphore: %v", err)
				}
				var held interleave.Int32 // other threads may run between its two steps
				hold := func() {
					if n := int(held.Add(1)); n > s.n {
						m.Fatalf("%d threads hold one of %d permits", n, s.n)
					}
					held.Add(-1)
					sem.Release()
				}
				l := newContexts(len(s.threads))
				m.Final(func() {
					for i := range s.n + 1 {
						if sem.TryAcquire() != (i < s.n) {
							m.Fatalf("%d permits are free in the end, want %d", i, s.n)
						}
					}
				})
				return func(thread, call int) {
					switch call {
					case acquire:
						if err := sem.Acquire(context.Background()); err != nil {
							m.Fatalf("Acquire = %v", err)
						}
						hold()
					case acquireContext:
						err := sem.Acquire(l.ctx[thread])
						if err == nil {
							hold()
						} else if !errors.Is(err, context.Canceled) || l.ctx[thread].Err() == nil {
							m.Fatalf("Acquire = %v", err)
						}
					case try:
						if sem.TryAcquire() {
							hold()
						}
					case end:
						l.end()
					}
				}
			},
		}, 2, 4)
	})
}

// TestGeneratedWakeTokens checks WakeTokens with threads that post and wait. Each
// posted token is taken once or is left at the end, and no thread waits while a token
// is left.
func TestGeneratedWakeTokens(t *testing.T) {
	const wait, waitContext, try, post, end = 0, 1, 2, 3, 4
	check(t, func(t *rapid.T) generated {
		return generateScript(t, script{
			daemons: true, // some threads may wait without end
			names:   []string{"Wait", "WaitDone", "TryWait", "Post", "end a context"},
			n:       rapid.IntRange(1, 3).Draw(t, "tokens"),
			start: func(m *interleave.M, s *script) func(int, int) {
				var tokens lfsync.WakeTokens
				tokens.Init(len(s.threads) + s.n)
				l := newContexts(len(s.threads))
				posted, taken, waiting := 0, 0, 0
				noteResult := func(ok bool) {
					if ok {
						taken++
					}
				}
				m.Final(func() {
					left := 0
					for tokens.TryWait() {
						left++
					}
					if posted != taken+left || left > 0 && waiting > 0 {
						m.Fatalf("%d tokens were posted, %d taken, %d are left, and %d threads wait", posted, taken, left, waiting)
					}
				})
				return func(thread, call int) {
					switch call {
					case wait:
						waiting++
						tokens.Wait()
						waiting--
						noteResult(true)
					case waitContext:
						waiting++
						ok := tokens.WaitDone(l.ctx[thread].Done())
						waiting--
						if noteResult(ok); !ok && l.ctx[thread].Err() == nil {
							m.Fatalf("WaitDone returned false, and its context has not ended")
						}
					case try:
						noteResult(tokens.TryWait())
					case post:
						if tokens.Post() {
							posted++
						}
					case end:
						l.end()
					}
				}
			},
		}, 2, 4)
	})
}

// TestGeneratedParkers checks a Parker with threads that each set a flag and unpark one
// thread. That thread parks in generated ways until all flags are set. It always ends.
func TestGeneratedParkers(t *testing.T) {
	const set, unpark, end = 0, 1, 2
	check(t, func(t *rapid.T) generated {
		methods := rapid.SliceOfN(rapid.IntRange(0, 2), 1, 3).Draw(t, "parks")
		return generateScript(t, script{
			names: []string{"set, Unpark", "Unpark", "end the context"},
			note:  fmt.Sprintf(", parks by Park (0), ParkDone (1), ParkFor (2) in turn: %v", methods),
			start: func(m *interleave.M, s *script) func(int, int) {
				p := lfsync.NewParker()
				l := newContexts(1)
				var flags atomix.Int32
				want := int32(s.count(set))
				m.Go("parker", func() {
					for i := 0; flags.Load() < want; i++ {
						switch methods[i%len(methods)] {
						case 0:
							p.Park()
						case 1:
							if !p.ParkDone(l.ctx[0].Done()) {
								if l.ctx[0].Err() == nil {
									m.Fatalf("ParkDone returned false, and its context has not ended")
								}
								p.Park() // the unpark of a flag follows
							}
						case 2:
							p.ParkFor(time.Hour)
						}
					}
				})
				return func(_, call int) {
					switch call {
					case set:
						flags.Add(1)
						p.Unpark()
					case unpark:
						p.Unpark()
					case end:
						l.end()
					}
				}
			},
		}, 1, 3)
	})
}

// A workerPool is a small pool around a Sync word. A count of queued tasks stands for
// the queues.
type workerPool struct {
	m       *interleave.M
	word    lfsync.Sync
	idle    lfsync.WakeTokens
	queued  atomix.Int32
	limit   int
	pushed  int
	ran     int
	workers int
	fails   int // spawns that fail first
}

// take takes a task.
func (h *workerPool) take() bool {
	for {
		n := h.queued.Load()
		if n == 0 {
			return false
		}
		if h.queued.CompareAndSwap(n, n-1) {
			h.ran++
			return true
		}
	}
}

// perform performs the action a.
func (h *workerPool) perform(a lfsync.Action) {
	for {
		switch a {
		case lfsync.ActionNone:
			return
		case lfsync.ActionWake:
			h.idle.Post()
			return
		}
		if h.fails == 0 {
			h.workers++
			interleave.GoDaemon("worker", h.work)
			return
		}
		h.fails--
		if h.word.SpawnFailed().Spawned() > 0 {
			return
		}
		a = h.word.Notify(false, h.limit) // no worker is left: try again
	}
}

// work is the loop of a worker.
func (h *workerPool) work() {
	waking, idle := false, false
	for {
		switch h.word.Wait(waking, idle) {
		case lfsync.OutcomePark:
			waking, idle = false, true
			h.idle.Wait()
			continue
		case lfsync.OutcomeShutdown:
			h.word.Leave(false, idle, h.limit)
			h.workers--
			return
		case lfsync.OutcomeSearch:
			waking, idle = false, false
		case lfsync.OutcomeSearchWaking:
			waking, idle = true, false
		}
		for h.take() {
			if waking {
				h.perform(h.word.Notify(true, h.limit))
				waking = false
			}
		}
	}
}

// TestGeneratedWords checks a Sync word with threads that push tasks and notify, enter
// and leave the worker count, and shut down. The workers follow the protocol of the
// word. Spawns may fail. No task is left while workers are parked, and a shutdown ends
// all workers.
func TestGeneratedWords(t *testing.T) {
	const push, pushTwo, enter, shutdown = 0, 1, 2, 3
	check(t, func(t *rapid.T) generated {
		names := []string{"push", "push two", "Enter, look, Leave", "Shutdown"}
		if rapid.IntRange(0, 3).Draw(t, "ends") != 3 {
			names = names[:shutdown]
		}
		fails := max(0, rapid.IntRange(0, 5).Draw(t, "failing spawns")-3)
		return generateScript(t, script{
			names: names,
			note:  fmt.Sprintf(", the first %d spawns fail", fails),
			n:     rapid.IntRange(1, 3).Draw(t, "workers"),
			start: func(m *interleave.M, s *script) func(int, int) {
				h := &workerPool{m: m, limit: s.n, fails: fails}
				h.idle.Init(8)
				m.Final(func() {
					w := h.word.Load()
					ends := s.count(shutdown) > 0
					switch {
					case !ends && h.ran != h.pushed:
						m.Fatalf("%d tasks were pushed, %d ran: %v", h.pushed, h.ran, w)
					case h.ran > h.pushed:
						m.Fatalf("%d tasks were pushed, %d ran", h.pushed, h.ran)
					case w.Spawned() != h.workers || ends && h.workers != 0 || !ends && w.Idle() != h.workers:
						m.Fatalf("%d workers are left in the end: %v", h.workers, w)
					}
				})
				return func(_, call int) {
					switch call {
					case push, pushTwo:
						h.pushed += call + 1
						h.queued.Add(int32(call + 1))
						h.perform(h.word.Notify(false, h.limit))
					case enter:
						if _, ok := h.word.Enter(s.n + 2); !ok {
							return
						}
						h.take()
						_, a := h.word.Leave(false, false, h.limit)
						h.perform(a)
						if h.queued.Load() > 0 {
							h.perform(h.word.Notify(false, h.limit))
						}
					case shutdown:
						idle, _, _ := h.word.Shutdown()
						for range idle {
							h.idle.Post()
						}
					}
				}
			},
		}, 1, 3)
	})
}
