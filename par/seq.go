package par

import (
	"iter"
	"runtime"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/cpu"
	"github.com/lanewright/lanewright/sched"
)

// MapSeq returns the values that fn returns for those of seq, in the order of seq. The
// calls of fn run on the workers, also at the same time, while the caller gets
// values from seq and uses results.
//
// It reads ahead, by 2 batches for each worker. A batch is one value, or more when these
// take less than some 50 µs together, and at most 1024. When the loop over the results
// ends early, no more calls begin, and those that run are waited for. A panic of fn
// is raised again in that loop, when it comes to the value, as a [sched.PanicError]; as
// it is, when the scheduler was shut down. One of seq is raised at once, and the
// results of what was read ahead do not come.
//
// The results come when the next value from seq does: MapSeq is not for sequences that
// wait for something. Inside a task, do not use it through [iter.Pull]: that waits on
// another goroutine, and the task keeps its worker meanwhile, which may be the last one.
func MapSeq[T, U any](s *sched.Scheduler, seq iter.Seq[T], fn func(T) U) iter.Seq[U] {
	if seq == nil || fn == nil {
		panic("par: MapSeq: nil sequence or function")
	}
	s = on(s)
	return func(yield func(U) bool) {
		w := window[T, U]{s: s, fn: fn, yield: yield, size: 1}
		w.limit = 2 * w.s.MaxWorkers()
		defer w.abandon()
		for v := range seq {
			if !w.add(v) {
				return
			}
		}
		w.flush()
	}
}

// ForEachSeq calls body for each value of seq. The calls run on the workers, also at
// the same time, while the caller gets values from seq. It reads ahead as [MapSeq]
// does, and panics are raised as there.
func ForEachSeq[T any](s *sched.Scheduler, seq iter.Seq[T], body func(T)) {
	if seq == nil || body == nil {
		panic("par: ForEachSeq: nil sequence or body")
	}
	for range MapSeq(s, seq, func(v T) none { body(v); return none{} }) {
	}
}

// window is what is between the values of a sequence and their results.
type window[T, U any] struct {
	s     *sched.Scheduler
	fn    func(T) U
	yield func(U) bool

	size  int // of the next batch
	limit int // batches
	in    []T // the next batch
	open  []*batch[T, U]
	ended atomix.Bool // no more calls are to begin
}

// batch is some values that a task maps.
type batch[T, U any] struct {
	group *sched.Group
	in    []T
	out   []U
	began bool
	ticks uint64
}

const (
	maxBatch  = 1024
	longBatch = 50 // microseconds
)

// add takes the next value. It reports false when the caller wants no more results.
func (w *window[T, U]) add(v T) bool {
	if w.in = append(w.in, v); len(w.in) < w.size {
		return true
	}
	w.begin()
	return len(w.open) < w.limit || w.give()
}

// flush gives all results that are left.
func (w *window[T, U]) flush() {
	if len(w.in) > 0 {
		w.begin()
	}
	for len(w.open) > 0 && w.give() {
	}
}

// begin starts a task for the next batch.
func (w *window[T, U]) begin() {
	b := &batch[T, U]{group: w.s.NewGroup(sched.GroupConfig{}), in: w.in}
	w.in = make([]T, 0, w.size)
	w.open = append(w.open, b)
	// A scheduler that is closed takes no task: give runs the batch then.
	b.group.Go(func() error {
		w.run(b)
		return nil
	})
}

// run maps the values of b.
func (w *window[T, U]) run(b *batch[T, U]) {
	b.began = true
	start := cpu.Ticks()
	defer func() { b.ticks = cpu.Ticks() - start }()
	b.out = make([]U, 0, len(b.in))
	for _, v := range b.in {
		if w.ended.Load() {
			break
		}
		b.out = append(b.out, w.fn(v))
	}
}

// give gives the results of the oldest batch to the caller. It reports false when the
// caller wants no more.
func (w *window[T, U]) give() bool {
	b := w.open[0]
	w.open[0] = nil // nothing stays reachable
	w.open = w.open[1:]
	err := b.wait()
	if !b.began {
		return w.giveAlone(b)
	}
	w.learn(b)
	for _, r := range b.out {
		if !w.yield(r) {
			return false
		}
	}
	switch {
	case err == sched.ErrGoexit: //nolint:errorlint // the value itself is meant: fn may panic with one that wraps it
		runtime.Goexit()
	case err != nil:
		panic(err)
	}
	return true
}

// learn sets the size of the next batches by the time that b took.
func (w *window[T, U]) learn(b *batch[T, U]) {
	if b.ticks < longBatch*microsecond/2 {
		w.size = min(2*len(b.in), maxBatch)
	} else if b.ticks > 2*longBatch*microsecond {
		w.size = max(len(b.in)/2, 1)
	}
}

// giveAlone is give for a batch that no worker has taken. Its time is that of the
// calls and of the loop over the results: where that is slow, small batches do no harm.
func (w *window[T, U]) giveAlone(b *batch[T, U]) bool {
	start := cpu.Ticks()
	for _, v := range b.in {
		if !w.yield(w.fn(v)) {
			return false
		}
	}
	b.ticks = cpu.Ticks() - start
	w.learn(b)
	return true
}

// wait returns when the task of b has ended, with its panic, if any.
func (b *batch[T, U]) wait() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = r.(*sched.PanicError)
		}
	}()
	return b.group.Wait() // with Config.OnPanic, it returns the panic
}

// abandon ends what the caller does not want any more.
func (w *window[T, U]) abandon() {
	w.ended.Store(true)
	for _, b := range w.open {
		_ = b.wait() // the caller does not come to these values
	}
}
