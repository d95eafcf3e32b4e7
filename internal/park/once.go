package park

import "github.com/lanewright/lanewright/internal/atomix"

// Once calls one function once, as [sync.Once] does. In an exploration its loads, stores
// and locks are steps. The zero Once is ready for use. It is safe for concurrent use and
// must not be copied after its first use.
type Once struct {
	done atomix.Bool
	mu   Mutex
}

// Algorithm of Once: a flag for callers that come late, and a lock for those that come
// early.
//
// Roles:
//
//	caller  Do
//	winner  the first caller that locks mu: calls the function
//
// State:
//
//	done  the call of the function has ended: stored by the winner, which holds mu
//	mu    held during the call
//
// Invariants:
//
//	I1  done is set after the call, and before the winner unlocks mu
//
// Happens-before edges:
//
//	E1  store of done      ->  load that finds done set   the caller sees the writes of the call
//	E2  Unlock by a caller  ->  Lock by a later one        the caller sees the writes of the call
//
// Progress: Do is wait-free when done is set, and blocking before that.
//
// Rejected: an alias of sync.Once in normal builds. Models would then check other code
// than the code that runs. The compiler makes the same code of both.

// Do calls f if this is the first call of Do, and returns when f has returned. Later and
// concurrent calls return after that call, and do not call their f. The call also counts
// when f panics or calls [runtime.Goexit]. A Do inside f is a deadlock.
func (o *Once) Do(f func()) {
	if !o.done.Load() { // E1
		o.doSlow(f)
	}
}

// doSlow is a function of its own so that Do can be inlined.
func (o *Once) doSlow(f func()) {
	o.mu.Lock()         // E2
	defer o.mu.Unlock() // E2
	if !o.done.Load() {
		defer o.done.Store(true) // I1, E1: also when f panics
		f()
	}
}
