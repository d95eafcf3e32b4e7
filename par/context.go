package par

import (
	"context"

	"github.com/lanewright/lanewright/sched"
)

// ForContext is [For] with a context and a body that may fail. It ends early when ctx
// ends or the body returns an error. It returns nil when body was called for all
// indices and returned nil for each. Otherwise it returns the error of the lowest index
// that failed, as a plain loop does, or the cause of ctx. The body may also have been
// called for indices above that one.
//
// It checks ctx before each call of body. If ctx has ended before the call, ForContext
// calls no body and returns the cause of ctx, also when n is 0 or less. It panics if ctx
// is nil.
func ForContext(ctx context.Context, s *sched.Scheduler, n int, body func(i int) error) error {
	if body == nil {
		panic("par: ForContext: nil body")
	}
	return foldContext(ctx, s, n, failing{fn: body, each: func(lo, hi int) error {
		for i := lo; i < hi; i++ {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := body(i); err != nil {
				return err
			}
		}
		return nil
	}})
}

// ForRangeContext is [ForRange] with a context and a body that may fail, as in
// [ForContext]. The error of a range counts as that of its lowest index. It checks ctx
// before each range, and a range may be the whole rest of the loop. If some indices
// take much longer than others, the body should check ctx itself. If ctx has ended
// before the call, ForRangeContext calls no body and returns the cause of ctx, also
// when n is 0 or less.
func ForRangeContext(ctx context.Context, s *sched.Scheduler, n int, body func(lo, hi int) error) error {
	if body == nil {
		panic("par: ForRangeContext: nil body")
	}
	return foldContext(ctx, s, n, failing{fn: body, each: body})
}

// ForEachContext is [ForEach] with a context and a body that may fail, as in
// [ForContext]. If ctx has ended before the call, ForEachContext calls no body and returns
// the cause of ctx, also when slice is empty.
func ForEachContext[T any](ctx context.Context, s *sched.Scheduler, slice []T, body func(i int, v *T) error) error {
	if body == nil {
		panic("par: ForEachContext: nil body")
	}
	return foldContext(ctx, s, len(slice), failing{fn: body, each: func(lo, hi int) error {
		for i := range slice[lo:hi] {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := body(lo+i, &slice[lo+i]); err != nil {
				return err
			}
		}
		return nil
	}})
}

// MapContext is [Map] with a context and a function that may fail, as in [ForContext].
// When it returns an error, the results are nil. If ctx has ended before the call,
// MapContext does not call fn and returns the cause of ctx, also when in is empty.
func MapContext[T, U any](ctx context.Context, s *sched.Scheduler, in []T, fn func(T) (U, error)) ([]U, error) {
	if fn == nil {
		panic("par: MapContext: nil function")
	}
	out := make([]U, len(in))
	err := foldContext(ctx, s, len(in), failing{fn: fn, each: func(lo, hi int) (err error) {
		for i, v := range in[lo:hi] {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if out[lo+i], err = fn(v); err != nil {
				return err
			}
		}
		return nil
	}})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// foldContext runs the loop w, which checks ctx. It returns the cause of a context that
// has ended already.
func foldContext(ctx context.Context, s *sched.Scheduler, n int, w failing) error {
	if ctx == nil {
		panic("par: nil context")
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	w.ctx = ctx
	return fold(s, n, w)
}

// failing is a loop whose calls may fail. The result of a range is its error.
type failing struct {
	ctx  context.Context
	fn   any // the function of the user
	each func(lo, hi int) error
}

func (w failing) body() any   { return w.fn }
func (w failing) zero() error { return nil }

func (w failing) join(x, y error) error {
	if x != nil {
		return x
	}
	return y
}

func (w failing) run(_ error, lo, hi int) (error, remaining) { //nolint:staticcheck // the error is the result of the range
	if w.ctx.Err() != nil {
		return context.Cause(w.ctx), remainBelow
	}
	if err := w.each(lo, hi); err != nil {
		return err, remainBelow
	}
	return nil, remainAll
}
