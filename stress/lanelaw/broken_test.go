package lanelaw_test

import (
	"fmt"
	"testing"

	"github.com/lanewright/lanewright/stress/internal/harness"
	"github.com/lanewright/lanewright/stress/internal/lawtest"
	"github.com/lanewright/lanewright/stress/lanelaw"
)

// brokenLanes lists faults of lanes, with the law that finds each one and a part of its
// message.
var brokenLanes = []struct {
	law, fault, want string
	inner            laneFault
	concurrency      int  // 0: 1
	shared           bool // the lanes receive from one channel
}{
	{law: "own", fault: "results are swapped", want: "not its own result", inner: swapsResults},
	{law: "own", fault: "a call is lost when many wait", want: "calls have not ended", inner: losesCalls},
	{law: "once", fault: "a handler is entered twice", want: "entered twice", inner: entersTwice},
	{law: "once", fault: "a call is lost when many wait", want: "calls have not ended", inner: losesCalls},
	{law: "once", fault: "a call settles twice", want: "and then with", inner: settlesTwice},
	{law: "counts", fault: "waiting calls count as in flight", want: "is not Accepted minus Ended", inner: countsWaitingTwice},
	{law: "counts", fault: "some ends are not counted", want: "the lanes count", inner: countsNoEnds},
	{law: "order", fault: "the second call starts first", want: "started before its call", inner: reorders},
	{law: "limit", fault: "one worker too many", want: "handlers run at once", inner: runsOneMore},
	{law: "limit", fault: "one worker too few", want: "a free lane does not start calls", inner: runsOneLess, concurrency: 4},
	{law: "idle", fault: "a call waits at the lane that was picked", want: "a lane is idle", inner: bindsCalls, shared: true},
	{law: "idle", fault: "one lane takes no calls", want: "a lane is idle", inner: idlesLastLane, concurrency: 2, shared: true},
	{law: "leases", fault: "a leased lane runs calls of others", want: "of others run beside", inner: leasedTakesCalls, shared: true},
	{law: "leases", fault: "a goroutine that waits is forgotten", want: "waits for leases have not ended", inner: losesWaits},
	{law: "leases", fault: "a wait that is given up has another cause", want: "a wait for a lease has ended with", inner: losesCause},
	{law: "reserves", fault: "a lease waits until no call does", want: "a lease of a busy lane has not come", inner: reservesNothing},
	{law: "reserves", fault: "the same in a lane of three", want: "a lease of a busy lane has not come", inner: reservesNothing, concurrency: 3},
	{law: "discards", fault: "running calls go on", want: "the calls of a discarded lane have not ended", inner: discardsOnlyWaiting},
	{law: "discards", fault: "a wait for the old id goes on", want: "a wait for a lane that was discarded has ended with", inner: keepsWaits},
	{law: "discards", fault: "the lane keeps its id", want: "was discarded", inner: keepsID},
	{law: "discards", fault: "a lease that is over takes calls", want: "handlers of a lease run", inner: takesLateCalls},
	{law: "failures", fault: "the text of a panic is lost", want: "and its call ended with", inner: losesMessage},
	{law: "failures", fault: "an error without a text counts as none", want: "and its call ended with <nil>", inner: ignoresEmptyError},
	{law: "failures", fault: "a Goexit ends the lane", want: "calls have not ended", inner: diesOfExit},
	{law: "unknown", fault: "the error does not name the task", want: "a call of the unknown task", inner: knowsNoNames},
	{law: "payloads", fault: "long strings are cut", want: "or with another value", inner: cutsPayloads},
	{law: "payloads", fault: "any size is taken", want: "is too large", inner: takesAnySize},
	{law: "nested", fault: "the worker waits and none is left to run calls", want: "nested calls have not ended", inner: nestsOnWorker},
	{law: "ping", fault: "a busy lane does not answer", want: "calls and pings have not ended", inner: pingsOnlyWhenIdle},
	{law: "ping", fault: "a ping is a call", want: "entered", inner: pingsByCall},
	{law: "pause", fault: "there is no pause", want: "made during a pause started", inner: ignoresPause},
	{law: "pause", fault: "a pause ends handlers", want: "ended with", inner: stopsHandlersInPause},
	{law: "abort", fault: "an abort waits for the handler", want: "aborted calls have not ended", inner: abortWaitsForHandler},
	{law: "abort", fault: "an aborted call starts", want: "as not started, and its handler was entered", inner: abortedStarts},
	{law: "abort", fault: "a handler is not notified", want: "a handler was not notified", inner: abortIsNotNotified},
	{law: "abort", fault: "a late abort changes the outcome", want: "and then with", inner: abortChangesOutcome},
	{law: "abort", fault: "a late result changes the outcome", want: "ended with", inner: settlesWhenLate},
	{law: "aborts", fault: "all handlers see an abort", want: "saw an abort of a call that was not aborted", inner: abortNotifiesAll},
	{law: "abortslots", fault: "the abort slot of an aborted call is lost", want: "abort slots were not released", inner: losesAbortSlots},
	{law: "abortslots", fault: "one abort slot too many", want: "an abortable call without a free abort slot", inner: takesOneMoreSlot},
	{law: "deadline", fault: "the deadline counts from the start of the handler", want: "have not ended", inner: deadlineFromStart},
	{law: "backlog", fault: "each refused call loses space", want: "a busy lane accepted", inner: losesSlots},
	{law: "backlog", fault: "a refused call runs", want: "as not started, and its handler was entered", inner: refusedRuns},
	{law: "backlog", fault: "the caller waits for space", want: "a full lane makes its caller wait", inner: neverRefuses},
	{law: "policies", fault: "callers do not wait", want: "did not wait, which accepts", inner: blocksNobody},
	{law: "policies", fault: "callers do not run calls", want: "their callers ran 0", inner: callerQueues},
	{law: "policies", fault: "the newest are dropped", want: "was dropped", inner: dropsNewest},
	{law: "shutdown", fault: "waiting calls are dropped", want: "ended with", inner: shutdownDrops},
	{law: "shutdown", fault: "Shutdown refuses nothing", want: "a call of ended lanes", inner: shutdownTakes},
	{law: "close", fault: "waiting calls do not end", want: "calls have not ended with their lanes", inner: closeForgets},
	{law: "close", fault: "the error has another text", want: "a call that Close ended has the error", inner: closeSaysOther},
}

// isStuck are the violations that only a deadline reveals.
var isStuck = map[string]bool{
	"calls have not ended":                         true,
	"a free lane does not start calls":             true,
	"a lane is idle":                               true,
	"nested calls have not ended":                  true,
	"waits for leases have not ended":              true,
	"the calls of a discarded lane have not ended": true,
	"calls and pings have not ended":               true,
	"aborted calls have not ended":                 true,
	"a handler was not notified":                   true,
	"abort slots were not released":                true,
	"have not ended":                               true,
	"a full lane makes its caller wait":            true,
	"calls have not ended with their lanes":        true,
}

// TestBrokenLanes checks that each law finds lanes with a fault that violates it.
func TestBrokenLanes(t *testing.T) {
	caught := map[string]bool{}
	for _, b := range brokenLanes {
		for _, l := range lanelaw.Laws() {
			if l.Name == b.law {
				caught[l.Name] = true
				t.Run(fmt.Sprintf("%s/%s", l.Name, b.fault), func(t *testing.T) {
					t.Parallel()
					k := newChannelKind("broken lanes", max(1, b.concurrency), b.shared, b.inner)
					lawtest.WantBroken(t, l.Name, b.want, isStuck[b.want], func(r harness.T, o harness.Options) { l.Check(r, k, lanelaw.Options(o)) })
				})
			}
		}
	}
	for _, l := range lanelaw.Laws() {
		if !caught[l.Name] {
			t.Errorf("no broken lanes violate the law %q", l.Name)
		}
	}
}
