package sched

import (
	"runtime/debug"
	"strings"
	"time"
)

// Default returns the scheduler that all packages of a program share. It has the zero
// [Config], and GOMAXPROCS at the moment of its first use as MaxWorkers: a later change of
// GOMAXPROCS does not change it. A nil scheduler means Default in package par and in
// [ForkJoin] and its other forms. Methods of a nil Scheduler panic.
//
// A library uses Default so that its callers need no scheduler, and so that several
// libraries in one program do not each start GOMAXPROCS workers. A program makes its own
// [Scheduler] if it needs another Config or has to shut it down: Shutdown and Close of Default
// return [ErrDefault] and do nothing, because its other users still rely on it. Its tasks
// are those of all packages, so GOMAXPROCS tasks that block outside [Scheduler.Blocking]
// delay the tasks of others, by [DefaultStallAfter] for each of them.
//
// A use of Default that could start or await a worker panics inside a bubble of
// testing/synctest, because its workers are not in the bubble, or would never leave it. A
// test passes a scheduler of its own in the bubble, and ends that with Shutdown. The check
// costs some 40 ns, in test programs only. Default recognizes a test program by the name that
// go test gives it, and takes a program without build information for one. It does not
// recognize a bubble whose clock has advanced by decades.
func Default() *Scheduler {
	shared.init()
	return &shared
}

var shared Scheduler

// loadTime is the time at which the program was loaded, which is outside every bubble.
var loadTime = time.Now()

// refuseBubble panics if the calling goroutine is in a bubble. The clock of a bubble begins
// in the year 2000, so loadTime is in its future. Outside bubbles time.Since uses the
// monotonic clock, which never reads less than it did at loadTime.
func refuseBubble() {
	if time.Since(loadTime) < 0 {
		panic("sched: Default, or a nil scheduler, is used inside a testing/synctest bubble: pass a scheduler that is made in the bubble, and shut it down there")
	}
}

// mayHaveBubbles reports whether the program may have bubbles: whether it is a test. It also
// reports true if the program does not contain its name.
func mayHaveBubbles() bool {
	info, ok := debug.ReadBuildInfo()
	return !ok || strings.HasSuffix(info.Path, ".test")
}
