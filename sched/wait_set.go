package sched

import (
	"slices"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
)

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
