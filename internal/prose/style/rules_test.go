package style_test

import (
	"strings"
	"testing"

	"github.com/lanewright/lanewright/internal/prose/style"
)

// prose:off

// good are sentences without a finding.
const good = `The owner, who is the only writer, stores tail.
A caller who finds the lane idle runs its own call.
Users who want order set Concurrency to 1.
The comment states who may write each word and who owns a slot.
It depends on who holds the token.
A call whose handler has started may have run.
The model types, of whose operations one in 30 is delayed, are exported.
What is a place?
The worker is told to stop.
The watch dog of the vendor is not used.
Return what the handler returned.
A worker that parks holds no place.
The counter is increased before the push.
What follows is a proof sketch of the protocol.
Overflow returns [mpsc.Queue], whose consumers pop in order.
Refuses those who wait for a lane.
A caller of Run who waits for a group parks.
The goroutine of the caller, who is parked, is made runnable.
The page states who pushes, who waits, and who ends.
Document what is shared, where it lies, and who may write it.
A thief (the worker who steals) never writes tail.
The requester, to whom the task belongs, pops it.
A queue whose consumer has stalled keeps its nodes.
Nodes, by whose order the law is checked, carry a number.
Who may call Pop?
The word "who" has a head here.
The name "nobody" is no task type.
The message says 'somebody' where it should name a role.
The task type is "nobody".
Nobody's fault is no sentence of ours, and "anyone's guess" is quoted.
The owner stores what it has counted.
The manual says what the user gave
What did the thief find in the ring of the victim?
The value is what the last store wrote.
It compares the word with what it read.
The first worker to look finds the task.
Each node that was pushed is popped once.
Both edges that are cited are declared.
One of the two stores is seen by the other side.
Count the words in the table, and leave the rest out.
The count is out of range.
The counter is out of bounds.
The model runs out of memory and counts nothing.
Counted in bytes, the region is full.
The count in the header is the number of slots.
The two states can be told apart by one bit.
No reader can tell them apart.
A worker is told by the word to leave.
The request has gone through two queues.
The value has gone up since the load.
The field w.eye is read by one goroutine.
Stowaway and eyesight are ordinary words.
The hidden seating plan is no runner.
Seen from outside, the queue is empty.
The stopwatch is started by the benchmark.
A watchdog ends an execution that hangs.
It watches the context of the call.
The link [queue](https://example.org/nobody) has a name in its target.`

// bad are sentences with a finding of the class before the colon.
const bad = `who: Who pushed first may have relied on this worker.
who: Whoever holds a place runs tasks.
who: This is the last look, and who looks sees the task.
indefinite: Nobody parks while it holds a place.
indefinite: The spawn fails, and somebody has to be notified.
indefinite: The fault is of no one.
indefinite: The token is free, so anybody takes it.
what: What is queued does not wait for a stalled worker.
what: What the pusher stored is visible after the CAS.
what: The monitor looks again, because what is queued was taken.
what: The waiter parks until what it waits for has ended.
private: The stint ends when the worker parks.
private: A beggar looks at the queues.
private: The holder is counted out by the monitor.
private: The holder counts itself out and parks.
private: The worker counts in again after the callback.
private: The watch ends when nothing is queued.
private: The monitor runs in vain.
private: The pusher tells another worker.
private: The worker was told of the push.
private: The handler has gone.
private: The caller was turned away.
private: The release sees to it that a waiter runs.
private: Outsiders push to the injection queue.
private: Its own eye sees the computation.
who: It is written by who made it.
who: The token goes to whom the word names.
who: The scheduler wakes who waits.
who: A push, and who sees it, has a number.
who: The queue is for whomever asks.
who: A slot of the ring, who is full, is skipped.
who: Tasks which are queued and who waits for them are counted.
each: Each that was stalled becomes a spare one.
each: The first to do so finds the task.
each: One of the two sees the other.
each: Both that are cited have a declaration.
private: Each seat runs one call.
private: The owner has popped the task meanwhile.
private: The token is to be had.
private: A wake-up is on its way.
who: holder: who has the token, or the closer.`

// prose:on

// TestSentences checks which sentences have a finding, and of which class.
func TestSentences(t *testing.T) {
	for s := range strings.Lines(good) {
		if fs := style.Check("a.md", []byte(s), style.Options{}).Findings; len(fs) > 0 {
			t.Errorf("%q: got %s %q, want no finding", s, fs[0].Class, fs[0].Text)
		}
	}
	for line := range strings.Lines(bad) {
		class, s, _ := strings.Cut(line, ": ")
		fs := style.Check("a.md", []byte(s), style.Options{}).Findings
		if len(fs) != 1 || string(fs[0].Class) != class {
			t.Errorf("%q: got %v, want one finding of class %s", s, fs, class)
		}
	}
}

// TestTerms checks the replacement, the text and the exceptions of private words.
func TestTerms(t *testing.T) {
	terms, err := style.ParseTerms("# a comment\n\nwidgets?\tpart\nfoo bar\tbaz\t\\s+qux\n(frob) the\ttake\n")
	if err != nil || len(terms) != 3 {
		t.Fatalf("got %d terms and %v, want 3", len(terms), err)
	}
	for _, tc := range []struct{ text, found, instead string }{
		{"The Widgets run.", "Widgets", "part"},
		{"The widgetry runs.", "", ""},
		{"The a.widget runs.", "", ""},
		{"A foo bar runs.", "foo bar", "baz"},
		{"A foo bar qux runs.", "", ""},
		{"Workers frob the word.", "frob", "take"},
		{"Workers frob a word.", "", ""},
	} {
		fs := style.Check("a.md", []byte(tc.text), style.Options{Terms: terms}).Findings
		var got style.Finding
		if len(fs) > 0 {
			got = fs[0]
		}
		if len(fs) > 1 || got.Text != tc.found || got.Instead != tc.instead {
			t.Errorf("%q: got %v, want %q replaced by %q", tc.text, fs, tc.found, tc.instead)
		}
	}
	for _, data := range []string{"alone\n", "\tnothing\n", "a\t\n", "(\topen\n", "a\tb\t(\n", "a\tb\tc\td\n"} {
		if _, err := style.ParseTerms(data); err == nil || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%q: got %v, want an error that names line 1", data, err)
		}
	}
}
