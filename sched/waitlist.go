package sched

import (
	"github.com/lanewright/lanewright/internal/atomix"
	lfsync "github.com/lanewright/lanewright/sync"
)

// waitlist holds the parkers of goroutines that wait for one condition.
//
// A waiter adds itself and then checks the condition; who makes the condition
// true does so and then looks at the list. One of the two sees the other. A
// waiter that need not park after all leaves its parker on the list: a token
// that comes later is spurious, and every park stands in a loop that re-checks.
//
// Invariant:
//
//	I1  a listed waiter is unparked by the swap that takes it off the list
//
// Progress: lock-free. Source: Treiber's stack, emptied by a swap.
type waitlist struct {
	head atomix.Pointer[waiter]
}

type waiter struct {
	next   *waiter
	parker *lfsync.Parker
}

func (l *waitlist) empty() bool { return l.head.Load() == nil }

func (l *waitlist) add(p *lfsync.Parker) {
	w := &waiter{parker: p}
	for {
		w.next = l.head.Load()
		if l.head.CompareAndSwap(w.next, w) {
			return
		}
	}
}

// drop takes p off the list. Others are not on it for a moment: the caller wakes
// all when the condition holds afterwards.
func (l *waitlist) drop(p *lfsync.Parker) {
	for w := l.head.Swap(nil); w != nil; w = w.next {
		if w.parker != p {
			l.add(w.parker)
		}
	}
}

// wakeAll takes everybody off the list and unparks them.
func (l *waitlist) wakeAll() {
	for w := l.head.Swap(nil); w != nil; w = w.next { // I1
		w.parker.Unpark()
	}
}
