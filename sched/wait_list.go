package sched

import (
	"github.com/lanewright/lanewright/internal/atomix"
	lfsync "github.com/lanewright/lanewright/sync"
)

// waitlist holds the entries of goroutines that wait for one condition.
//
// A waiter adds its entry and then checks the condition; who makes the condition
// true does so and then looks at the list. One of the two sees the other. A
// waiter that need not park after all leaves its entry on the list: a token
// that comes later is spurious, and every park stands in a loop that re-checks.
//
// Invariants:
//
//	I1  an entry has one holder: its waiter, the list, or who has swapped the list out
//	I2  the waiter has its entry when listed is false, and is unparked after that
//
// Happens-before edges:
//
//	E1  store of listed by wakeAll  ->  load by add   nobody reads next any more
//
// Progress: lock-free. Source: Treiber's stack, emptied by a swap.
// Rejected: a new entry for each add. While one waiter drops, another one is not
// on the list, finds nothing of its own to drop, and is on it twice afterwards.
type waitList struct {
	head atomix.Pointer[waiter]
}

// waiter is the entry of one wait in one list.
type waiter struct {
	next   *waiter
	parker *lfsync.Parker
	listed atomix.Bool
}

func (l *waitList) empty() bool { return l.head.Load() == nil }

// add makes an entry of w unless it is one.
func (l *waitList) add(w *waiter) {
	if w.listed.Load() { // E1
		return
	}
	w.listed.Store(true)
	l.push(w)
}

func (l *waitList) push(w *waiter) {
	for {
		w.next = l.head.Load()
		if l.head.CompareAndSwap(w.next, w) {
			return
		}
	}
}

// drop takes w off the list, for good. Others are not on it for a moment: the
// caller wakes all when the condition holds afterwards.
func (l *waitList) drop(w *waiter) {
	for o := l.head.Swap(nil); o != nil; { // I1
		next := o.next
		if o != w {
			l.push(o)
		}
		o = next
	}
}

// wakeAll takes everybody off the list and unparks them.
func (l *waitList) wakeAll() {
	for w := l.head.Swap(nil); w != nil; { // I1
		next := w.next
		w.listed.Store(false) // E1, I2
		w.parker.Unpark()
		w = next
	}
}
