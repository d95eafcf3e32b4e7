package lanelaw_test

import (
	"fmt"
	"testing"

	"github.com/lanewright/lanewright/stress/internal/harness"
	"github.com/lanewright/lanewright/stress/internal/lawtest"
	"github.com/lanewright/lanewright/stress/lanelaw"
)

// brokenLanes lists what lanes do wrong, and which law finds it, saying what.
var brokenLanes = []struct {
	law, fault, want string
	inner            laneFault
	concurrency      int // 0: 1
}{
	{law: "own", fault: "results are swapped", want: "not its own result", inner: swapsResults},
	{law: "own", fault: "a call is lost when many wait", want: "calls have not ended", inner: losesCalls},
	{law: "once", fault: "a handler is entered twice", want: "entered twice", inner: entersTwice},
	{law: "once", fault: "a call is lost when many wait", want: "calls have not ended", inner: losesCalls},
	{law: "once", fault: "a call settles twice", want: "and then with", inner: settlesTwice},
	{law: "counts", fault: "what waits is counted as in flight", want: "not what was accepted less what has ended", inner: countsWaitingTwice},
	{law: "counts", fault: "some ends are not counted", want: "the lanes count", inner: countsNoEnds},
	{law: "order", fault: "the second comes first", want: "started before call", inner: reorders},
	{law: "limit", fault: "a worker too many", want: "handlers run at once", inner: runsOneMore},
	{law: "limit", fault: "a worker too few", want: "a free lane does not start calls", inner: runsOneLess, concurrency: 4},
	{law: "failures", fault: "what a panic said is lost", want: "and its call ended with", inner: losesMessage},
	{law: "failures", fault: "an error without a text is none", want: "and its call ended with <nil>", inner: ignoresEmptyError},
	{law: "failures", fault: "a Goexit ends the lane", want: "calls have not ended", inner: diesOfExit},
	{law: "unknown", fault: "the name is not told", want: "a call of the unknown task", inner: knowsNoNames},
	{law: "payloads", fault: "long strings are cut", want: "or as another one", inner: cutsPayloads},
	{law: "payloads", fault: "any size is taken", want: "is too large", inner: takesAnySize},
	{law: "nested", fault: "the worker waits, nobody is left to run", want: "nested calls have not ended", inner: nestsOnWorker},
	{law: "ping", fault: "a lane that works does not answer", want: "calls and pings have not ended", inner: pingsOnlyWhenIdle},
	{law: "ping", fault: "a ping is a call", want: "entered", inner: pingsByCall},
	{law: "pause", fault: "there is no pause", want: "made during a pause started", inner: ignoresPause},
	{law: "pause", fault: "a pause ends handlers", want: "ended with", inner: stopsHandlersInPause},
	{law: "abort", fault: "an abort waits for the handler", want: "aborted calls have not ended", inner: abortWaitsForHandler},
	{law: "abort", fault: "an aborted call starts", want: "as not started, and its handler was entered", inner: abortedStarts},
	{law: "abort", fault: "a handler is not told", want: "a handler was not told", inner: abortIsNotTold},
	{law: "abort", fault: "a late abort changes the outcome", want: "and then with", inner: abortChangesOutcome},
	{law: "abort", fault: "a late result changes the outcome", want: "ended with", inner: settlesWhenLate},
	{law: "aborts", fault: "all handlers are told", want: "nobody had aborted it", inner: abortTellsAll},
	{law: "abortslots", fault: "the slot of an aborted call is lost", want: "slots for aborts have not come back", inner: losesAbortSlots},
	{law: "abortslots", fault: "a slot too many", want: "one abortable call more than there are slots", inner: takesOneMoreSlot},
	{law: "deadline", fault: "the time in the queue is free", want: "have not ended", inner: deadlineFromStart},
	{law: "slots", fault: "a slot is lost now and then", want: "and should take", inner: losesSlots},
	{law: "slots", fault: "a refused call runs", want: "as not started, and its handler was entered", inner: refusedRuns},
	{law: "slots", fault: "the caller waits", want: "a full lane makes its caller wait", inner: neverRefuses},
	{law: "policies", fault: "callers do not wait", want: "did not wait for room", inner: blocksNobody},
	{law: "policies", fault: "callers do not run calls", want: "their callers ran 0", inner: callerQueues},
	{law: "policies", fault: "the newest are dropped", want: "was dropped", inner: dropsNewest},
	{law: "shutdown", fault: "what waits is dropped", want: "ended with", inner: shutdownDrops},
	{law: "shutdown", fault: "nothing is refused", want: "a call of lanes that have ended", inner: shutdownTakes},
	{law: "close", fault: "what waits is forgotten", want: "calls have not ended with their lanes", inner: closeForgets},
	{law: "close", fault: "another text", want: "a call that Close ended has the error", inner: closeSaysOther},
}

// isStuck are the violations that only a deadline reveals.
var isStuck = map[string]bool{
	"calls have not ended":                  true,
	"a free lane does not start calls":      true,
	"nested calls have not ended":           true,
	"calls and pings have not ended":        true,
	"aborted calls have not ended":          true,
	"a handler was not told":                true,
	"slots for aborts have not come back":   true,
	"have not ended":                        true,
	"a full lane makes its caller wait":     true,
	"calls have not ended with their lanes": true,
}

// TestBrokenLanes shows that each law of lanes can be broken: by lanes that do one
// thing wrong.
func TestBrokenLanes(t *testing.T) {
	caught := map[string]bool{}
	for _, b := range brokenLanes {
		for _, l := range lanelaw.Laws() {
			if l.Name == b.law {
				caught[l.Name] = true
				t.Run(fmt.Sprintf("%s/%s", l.Name, b.fault), func(t *testing.T) {
					t.Parallel()
					k := channelKind(max(1, b.concurrency), b.inner)
					lawtest.WantBroken(t, l.Name, b.want, isStuck[b.want], func(r harness.T, o harness.Options) { l.Check(r, k, lanelaw.Options(o)) })
				})
			}
		}
	}
	for _, l := range lanelaw.Laws() {
		if !caught[l.Name] {
			t.Errorf("no lanes break the law %q", l.Name)
		}
	}
}
