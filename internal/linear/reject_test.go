package linear_test

import (
	"strings"
	"testing"

	"github.com/lanewright/lanewright/mpsc"
)

// results states which results each operation has, so that a test can change them.
var results = map[string]string{
	"push": "ok", "again": "ok", "list": "ok", "over": "", "lifo": "status", "fifo": "status", "pop": "got",
	"release": "ok", "seal": "ok got", "empty": "ok", "available": "ok", "newest": "got", "refill": "ok got", "take": "ok got",
	"steal": "ok got", "rest": "got",
}

// wrong returns copies of e, each with one changed result.
func wrong(e event, returns string) []event {
	var list []event
	change := func(f func(e *event)) {
		c := e
		f(&c)
		list = append(list, c)
	}
	if strings.Contains(returns, "ok") {
		change(func(e *event) { e.ok = !e.ok })
	}
	if strings.Contains(returns, "n") {
		change(func(e *event) { e.n++ })
		change(func(e *event) { e.n-- })
	}
	if strings.Contains(returns, "status") {
		for s := range mpsc.Contended + 1 {
			if s != e.status && s != mpsc.Acquired {
				change(func(e *event) { e.status = s })
			}
		}
	}
	if strings.Contains(returns, "got") {
		change(func(e *event) { e.got += nodesOf(8888) })
		if e.got != "" {
			change(func(e *event) { e.got = nodesOf(8888) + e.got[2:] })
			change(func(e *event) { e.got = e.got[2:] })
		}
		if e.got.size() > 1 && e.got[:2] != e.got[2:4] {
			change(func(e *event) { e.got = e.got[2:4] + e.got[:2] + e.got[4:] })
		}
	}
	return list
}

// TestWrongResultsAreRejected checks that the specification rejects wrong results. It
// runs the threads one after another, so that every result is determined, and changes
// each result. A specification that allows everything would accept the changes.
func TestWrongResultsAreRejected(t *testing.T) {
	for _, tc := range []struct {
		name  string
		fresh func() subject
		text  string
		more  map[string]string // results that others do not have
	}{
		{"queue", newQueueSubject, "push list empty available | fifo empty available pop pop release | lifo pop pop again release list list | push fifo pop empty", nil},
		{"seal", newQueueSubject, "push list list | lifo pop release | seal seal push list | lifo pop pop pop release", nil},
		{"ring", newRingSubject, "push list pop push push | steal0 pop empty0 | steal0 pop pop | steal0 newest steal1", map[string]string{"list": "n", "steal": "n got status"}},
		{"ring newest", newRingSubject, "push push push newest newest | steal0 list pop newest | steal1 steal0 empty2", map[string]string{"list": "n", "steal": "n got status"}},
		{"run queue", newRunSubject, "push push list pop | steal0 pop over1 refill pop take | over0 steal0 newest | steal0 pop", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := run{tc.fresh(), new(history)}
			for th, ops := range parse("| " + tc.text).threads {
				r.do(th, ops, func() {})
			}
			r.finish()
			if !r.linearizable() {
				t.Fatalf("not linearizable:\n%v", r.history)
			}
			for th := range r.events {
				for i, e := range r.events[th] {
					returns, ok := tc.more[e.op.name]
					if !ok {
						returns = results[e.op.name]
					}
					for _, w := range wrong(e, returns) {
						r.events[th][i] = w
						if r.linearizable() {
							t.Errorf("%v\naccepted in place of\n%v", &w, &e)
						}
						r.events[th][i] = e
					}
				}
			}
		})
	}
}
