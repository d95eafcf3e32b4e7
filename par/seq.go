package par

import (
	"iter"
	"runtime"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/cpu"
	"github.com/lanewright/lanewright/sched"
)

// MapSeq returns the results of fn for the values of seq, in the order of seq. The calls of
// fn run on the workers, also at the same time, while the caller gets values from seq and
// uses results.
//
// It reads ahead by 2 batches for each worker. A batch is one value, or up to 1024 values
// that take less than some 50 µs together. When the loop over the results ends early, no
// more calls begin, and MapSeq waits for those that run.
//
// A panic of fn is raised again in that loop, when it reaches the value. The panic is a
// [sched.PanicError], or the plain value when the scheduler was shut down. A panic of seq
// is raised at once, and the results of the values read ahead are lost.
//
// A result is delivered only when seq yields the next values: MapSeq is not for sequences
// that wait for an event. Inside a task, do not use it through [iter.Pull]. That waits on
// another goroutine while the task keeps its worker, which may be the last one.
func MapSeq[T, U any](s *sched.Scheduler, seq iter.Seq[T], fn func(T) U) iter.Seq[U] {
	if seq == nil || fn == nil {
		panic("par: MapSeq: nil sequence or function")
	}
	s = orDefault(s)
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

// ForEachSeq calls body for each value of seq. The calls run on the workers, also at the
// same time, while the caller gets values from seq. It reads ahead and raises panics as
// [MapSeq] does.
func ForEachSeq[T any](s *sched.Scheduler, seq iter.Seq[T], body func(T)) {
	if seq == nil || body == nil {
		panic("par: ForEachSeq: nil sequence or body")
	}
	for range MapSeq(s, seq, func(v T) none { body(v); return none{} }) {
	}
}

// window is the state between the values of a sequence and their results.
type window[T, U any] struct {
	s     *sched.Scheduler
	fn    func(T) U
	yield func(U) bool

	size    int // of the next batch, in values
	limit   int // of open, in batches
	in      []T // the next batch
	open    []*batch[T, U]
	stopped atomix.Bool // no more calls begin
}

// batch is some values that one task maps.
type batch[T, U any] struct {
	group   *sched.Group
	in      []T
	out     []U
	started bool
	ticks   uint64
}

const (
	maxBatch    = 1024
	batchMicros = 50 // in microseconds: the target for the time of a batch
)

// add takes the next value. It returns false when the caller wants no more results.
func (w *window[T, U]) add(v T) bool {
	if w.in = append(w.in, v); len(w.in) < w.size {
		return true
	}
	w.start()
	return len(w.open) < w.limit || w.yieldOldest()
}

// flush yields all remaining results.
func (w *window[T, U]) flush() {
	if len(w.in) > 0 {
		w.start()
	}
	for len(w.open) > 0 && w.yieldOldest() {
	}
}

// start starts a task for the next batch.
func (w *window[T, U]) start() {
	b := &batch[T, U]{group: w.s.NewGroup(sched.GroupConfig{}), in: w.in}
	w.in = make([]T, 0, w.size)
	w.open = append(w.open, b)
	// A closed scheduler takes no task: yieldOldest then runs the batch.
	b.group.Go(func() error {
		w.run(b)
		return nil
	})
}

// run maps the values of b.
func (w *window[T, U]) run(b *batch[T, U]) {
	b.started = true
	start := cpu.Ticks()
	defer func() { b.ticks = cpu.Ticks() - start }()
	b.out = make([]U, 0, len(b.in))
	for _, v := range b.in {
		if w.stopped.Load() {
			break
		}
		b.out = append(b.out, w.fn(v))
	}
}

// yieldOldest yields the results of the oldest batch to the caller. It returns false when
// the caller wants no more.
func (w *window[T, U]) yieldOldest() bool {
	b := w.open[0]
	w.open[0] = nil // the results must not stay reachable
	w.open = w.open[1:]
	err := b.wait()
	if !b.started {
		return w.yieldInline(b)
	}
	w.resize(b)
	for _, r := range b.out {
		if !w.yield(r) {
			return false
		}
	}
	switch {
	case err == sched.ErrGoexit: //nolint:errorlint // only this value is a Goexit: fn may panic with an error that wraps it
		runtime.Goexit()
	case err != nil:
		panic(err)
	}
	return true
}

// resize sets the size of the next batches by the time of b.
func (w *window[T, U]) resize(b *batch[T, U]) {
	if b.ticks < batchMicros*microsecond/2 {
		w.size = min(2*len(b.in), maxBatch)
	} else if b.ticks > 2*batchMicros*microsecond {
		w.size = max(len(b.in)/2, 1)
	}
}

// yieldInline is yieldOldest for a batch that no worker has taken. Its time includes the
// loop over the results. When that loop is slow, small batches do no harm.
func (w *window[T, U]) yieldInline(b *batch[T, U]) bool {
	start := cpu.Ticks()
	for _, v := range b.in {
		if !w.yield(w.fn(v)) {
			return false
		}
	}
	b.ticks = cpu.Ticks() - start
	w.resize(b)
	return true
}

// wait returns when the task of b has ended. err is its panic, if any.
func (b *batch[T, U]) wait() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = r.(*sched.PanicError)
		}
	}()
	return b.group.Wait() // with Config.OnPanic, Wait returns the panic
}

// abandon ends the batches that the caller does not want.
func (w *window[T, U]) abandon() {
	w.stopped.Store(true)
	for _, b := range w.open {
		_ = b.wait() // a panic is dropped: the caller never gets to these values
	}
}
