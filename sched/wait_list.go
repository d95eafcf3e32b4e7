package sched

import (
	"github.com/lanewright/lanewright/internal/atomix"
	lfsync "github.com/lanewright/lanewright/sync"
)

// waitList holds the entries of goroutines that wait for one condition.
//
// Roles:
//
//	waiter    adds its entry, checks the condition, and parks if it does not hold
//	notifier  makes the condition true, and then looks at the list
//
// Either the waiter sees the condition, or the notifier sees the entry. A waiter that
// need not park leaves its entry on the list. A later unpark is then spurious, which is
// harmless because every park is in a loop that checks the condition again.
//
// Invariants:
//
//	I1  an entry has one holder: its waiter, the list, or the goroutine that has swapped the list out
//	I2  the waiter has its entry when listed is false, and is unparked after that
//
// Happens-before edges:
//
//	E1  store of listed by wakeAll  ->  load by add   wakeAll has read next
//
// Progress: lock-free. Source: Treiber's stack, emptied by a swap.
// Rejected: a new entry for each add. While one waiter is in drop, the entry of another
// waiter is not on the list. That waiter finds nothing to drop, and afterwards has two
// entries on the list.
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

// add puts w on the list unless it is there.
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

// drop takes w off the list for good. All other entries are off the list for a moment. If the
// condition holds afterwards, the caller therefore wakes all of them.
func (l *waitList) drop(w *waiter) {
	for o := l.head.Swap(nil); o != nil; { // I1
		next := o.next
		if o != w {
			l.push(o)
		}
		o = next
	}
}

// wakeAll takes all entries off the list and unparks their waiters.
func (l *waitList) wakeAll() {
	for w := l.head.Swap(nil); w != nil; { // I1
		next := w.next
		w.listed.Store(false) // E1, I2
		w.parker.Unpark()
		w = next
	}
}
