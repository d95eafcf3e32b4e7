package par

import "github.com/lanewright/lanewright/sched"

// Invoke calls all functions and returns when they have returned. As far as there are
// workers, the calls run at the same time. Without functions Invoke does nothing.
func Invoke(s *sched.Scheduler, fns ...func()) {
	for _, fn := range fns {
		if fn == nil {
			panic("par: Invoke: nil function")
		}
	}
	s = orDefault(s)
	if len(fns) < 2 {
		for _, fn := range fns {
			fn()
		}
		return
	}
	share(s, span[invocation, none]{
		work: invocation{fns: fns}, hi: len(fns), chunk: 1, parts: len(fns), // one part for each function
	})
}

type invocation struct {
	noResult
	fns []func()
}

func (w invocation) body() any { return w.fns[0] }

func (w invocation) run(_ none, lo, hi int) (none, remaining) {
	for _, fn := range w.fns[lo:hi] {
		fn()
	}
	return none{}, remainAll
}
