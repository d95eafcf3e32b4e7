package sched

import (
	"slices"
	stdsync "sync"

	"github.com/lanewright/lanewright/internal/atomix"
)

// waitset is a waitlist from which one waiter can be taken without the others
// being off it for a moment. It is for what is rare, and has a lock.
//
// entries is counted up before an entry is made, so that who finds 0 may leave:
// whoever comes later looks after that at what it waits for. It is also where the
// explorer, which does not see locks, turns to another thread.
//
// Rejected: a waitlist. With a Spawner that never fails nobody empties it, and
// two that drop at once put each other back.
type waitSet struct {
	entries atomix.Int64
	mu      stdsync.Mutex
	waiting []unparker
}

// unparker is what can be woken: a Parker, or the wait of a limiter.
type unparker interface{ Unpark() }

// add makes an entry for u unless there is one.
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

// drop takes u off if it has not been woken.
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

// wakeAll takes everybody off and wakes them.
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
