package par

import "github.com/lanewright/lanewright/sched"

// Invoke calls all functions, at the same time as far as there are workers, and
// returns when they have returned.
func Invoke(s *sched.Scheduler, fns ...func()) {
	for _, fn := range fns {
		if fn == nil {
			panic("par: Invoke: nil function")
		}
	}
	s = on(s)
	if len(fns) < 2 {
		for _, fn := range fns {
			fn()
		}
		return
	}
	share(s, span[invocation, none]{
		work: invocation{fns: fns}, hi: len(fns), chunk: 1, parts: len(fns), // each for itself
	})
}

type invocation struct {
	noResult
	fns []func()
}

func (w invocation) body() any { return w.fns[0] }

func (w invocation) run(_ none, lo, hi int) (none, after) {
	for _, fn := range w.fns[lo:hi] {
		fn()
	}
	return none{}, goOn
}
