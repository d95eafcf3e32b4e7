package sched

import (
	"slices"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
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

// unusedWaiters keeps entries of waits that have ended for the next waits, because an entry with
// its Parker takes three allocations. Any goroutine may use it. A slot holds an entry or nil: a
// goroutine takes the entry by a swap, and puts one by a CAS from nil. So an entry has one
// holder (I1). Both are wait-free.
type unusedWaiters [4]atomix.Pointer[waiter]

// take returns an entry for one wait. An earlier wait may have left a notification in its Parker.
func (u *unusedWaiters) take() *waiter {
	for i := range u {
		if u[i].Load() != nil {
			if w := u[i].Swap(nil); w != nil {
				return w
			}
		}
	}
	return &waiter{parker: lfsync.NewParker()}
}

// put keeps w, unless w is still on a list or all slots are in use.
func (u *unusedWaiters) put(w *waiter) {
	if w.listed.Load() {
		return
	}
	for i := range u {
		if u[i].Load() == nil && u[i].CompareAndSwap(nil, w) {
			return
		}
	}
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
		w.next = nil          // an entry that is kept for another wait must not keep the others reachable
		w.listed.Store(false) // E1, I2
		w.parker.Unpark()
		w = next
	}
}

// waitSet is a list of waiters from which one can be taken while the others stay on
// it. It is for rare events, and has a lock.
//
// entries is raised before an entry is made. wakeAll may therefore return when it finds
// 0: a waiter that adds itself later checks its condition after that.
//
// Rejected: a waitList. With a Spawner that never fails no goroutine would empty it, and
// two concurrent drops would put each other's entries back.
type waitSet struct {
	entries atomix.Int64
	mu      park.Mutex
	waiting []unparker
}

// unparker is a waiter that can be woken: a Parker, or the wait for a permit.
type unparker interface{ Unpark() }

// add makes an entry for u unless there is one already.
func (l *waitSet) add(u unparker) {
	l.entries.Add(1)
	if !l.insert(u) {
		l.entries.Add(-1)
	}
}

func (l *waitSet) insert(u unparker) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if slices.Contains(l.waiting, u) {
		return false
	}
	l.waiting = append(l.waiting, u)
	return true
}

// drop takes u off the set if it has not been woken.
func (l *waitSet) drop(u unparker) {
	if l.remove(u) {
		l.entries.Add(-1)
	}
}

func (l *waitSet) remove(u unparker) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.waiting, u)
	if i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
	return i >= 0
}

// wakeAll takes all waiters off the set and wakes them.
func (l *waitSet) wakeAll() {
	if l.entries.Load() == 0 {
		return
	}
	l.mu.Lock()
	woken := l.waiting
	l.waiting = nil
	l.mu.Unlock()
	l.entries.Add(-int64(len(woken)))
	for _, u := range woken {
		u.Unpark()
	}
}
