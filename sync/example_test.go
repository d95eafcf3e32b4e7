package sync_test

import (
	"context"
	"errors"
	"fmt"
	stdsync "sync"
	"sync/atomic"
	"time"
	"unsafe"

	lfsync "github.com/lanewright/lanewright/sync"
)

// A Word is a value, so its transitions work without a scheduler.
func ExampleWord() {
	w := lfsync.MakeWord(lfsync.StatePending, false, 1, 2) // two workers, one of them parked

	w, act := w.Notify(false, 2)
	fmt.Println(act, "->", w)
	w, act = w.Notify(false, 2) // a wake-up is in flight
	fmt.Println(act, "->", w)
	w, out := w.Wait(false, true) // the parked worker has woken
	fmt.Println(out, "->", w)
	w, act = w.Notify(true, 2) // it found a task: is there a next worker?
	fmt.Println(act, "->", w)
	// Output:
	// wake -> signaled notified idle=1 spawned=2
	// none -> signaled notified idle=1 spawned=2
	// search waking -> waking idle=0 spawned=2
	// none -> pending notified idle=0 spawned=2
}

// The lingering worker is woken before the parked one, and is the waking worker at once. It
// finds one task and no other, so it rests, and no other worker is woken.
func ExampleWord_Linger() {
	w := lfsync.MakeWord(lfsync.StatePending, false, 1, 2) // two workers, one of them parked

	w, out := w.Linger(false)
	fmt.Println(out, "->", w)
	w, act := w.Notify(false, 2)
	fmt.Println(act, "->", w)
	w, ok := w.Rest() // it found a task, and the queues are empty now
	fmt.Println(ok, "->", w)
	// Output:
	// park -> pending lingering idle=2 spawned=2
	// resume -> waking idle=1 spawned=2
	// true -> pending idle=1 spawned=2
}

// A scheduler in forty lines. Its tasks are functions and its queue is a channel. The
// workers are spawned on demand, park when there is no task, and end after the shutdown.
func ExampleSync() {
	const limit = 2
	var (
		s       lfsync.Sync
		tokens  lfsync.WakeTokens
		queue   = make(chan func(), 100)
		workers stdsync.WaitGroup
		worker  func()
	)
	tokens.Init(limit)
	act := func(a lfsync.Action) {
		switch a {
		case lfsync.ActionWake:
			tokens.Post()
		case lfsync.ActionSpawn:
			workers.Go(worker)
		}
	}
	worker = func() {
		waking, idle := false, false
		for {
			out := s.Wait(waking, idle)
			waking = out == lfsync.OutcomeSearchWaking
			switch out {
			case lfsync.OutcomePark:
				idle = true
				tokens.Wait()
				continue
			case lfsync.OutcomeShutdown:
				s.Leave(waking, idle, limit)
				return
			}
			idle = false
			for len(queue) > 0 {
				select {
				case task := <-queue:
					if waking {
						act(s.Notify(true, limit))
						waking = false
					}
					task()
				default:
				}
			}
		}
	}

	var sum atomic.Int64
	var tasks stdsync.WaitGroup
	for i := range 100 {
		tasks.Add(1)
		queue <- func() {
			defer tasks.Done()
			sum.Add(int64(i))
		}
		act(s.Notify(false, limit))
	}
	tasks.Wait()
	idle, _, _ := s.Shutdown()
	for range idle {
		tokens.Post()
	}
	workers.Wait()
	fmt.Println(sum.Load(), s.Load())
	// Output: 4950 shutdown notified idle=0 spawned=0
}

func ExampleWakeTokens() {
	var tokens lfsync.WakeTokens
	tokens.Init(2)
	fmt.Println(tokens.TryWait()) // no token yet
	fmt.Println(tokens.Post(), tokens.Post())
	fmt.Println(tokens.Post()) // two tokens are enough for two waiters
	tokens.Wait()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	fmt.Println(tokens.WaitDone(ctx.Done())) // takes the second token
	fmt.Println(tokens.WaitDone(ctx.Done()))
	// Output:
	// false
	// true true
	// false
	// true
	// false
}

func ExampleParker() {
	p := lfsync.NewParker()
	var ready atomic.Bool
	go func() {
		ready.Store(true)
		p.Unpark()
	}()
	for !ready.Load() {
		p.Park()
	}
	fmt.Println("ready")
	fmt.Println(p.ParkFor(-time.Second) && p.ParkFor(0)) // at most one notification is stored
	// Output:
	// ready
	// false
}

// At most two downloads run at a time. A download waits no longer than its context lasts.
func ExampleSemaphore() {
	sem, err := lfsync.NewSemaphore(2)
	if err != nil {
		panic(err)
	}
	download := func(ctx context.Context, name string) error {
		if err := sem.Acquire(ctx); err != nil {
			return fmt.Errorf("download %s: %w", name, err)
		}
		defer sem.Release()
		return nil
	}
	fmt.Println(download(context.Background(), "a"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	fmt.Println(download(ctx, "b"))
	// Output:
	// <nil>
	// download b: context canceled
}

func ExampleNewSemaphore() {
	_, err := lfsync.NewSemaphore(0)
	fmt.Println(errors.Is(err, lfsync.ErrPermits), err)
	// Output: true sync: NewSemaphore(0): sync: a semaphore needs at least one permit
}

// Try a few times before parking, because the holder of the lock may release it soon.
func ExampleBackoff() {
	var lock atomic.Bool
	lock.Store(true)
	free := lfsync.NewParker()
	go func() {
		lock.Store(false)
		free.Unpark()
	}()

	var b lfsync.Backoff
	for !lock.CompareAndSwap(false, true) {
		if !b.Next() {
			free.Park()
			b.Reset()
		}
	}
	fmt.Println("locked")
	// Output: locked
}

// Two counters that different goroutines write are kept on different cache lines.
func ExamplePad() {
	type counters struct {
		_       lfsync.Pad
		pushed  atomic.Uint64
		_       lfsync.Pad
		dropped atomic.Uint64
		_       lfsync.Pad
	}
	gap := unsafe.Offsetof(counters{}.dropped) - unsafe.Offsetof(counters{}.pushed)
	fmt.Println(gap >= lfsync.CacheLine)
	// Output: true
}

// For a type with a NoCopy as its first field, go vet reports that an assignment copies a
// lock value.
func ExampleNoCopy() {
	type ring struct {
		_    lfsync.NoCopy
		head uint32
	}
	r := &ring{head: 7}
	fmt.Println(r.head, unsafe.Sizeof(*r))
	// Output: 7 4
}
