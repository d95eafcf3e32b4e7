package linear_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/anishathalye/porcupine"

	"github.com/lanewright/lanewright/mpsc"
)

// event is an operation that a thread did, with its result.
type event struct {
	th        int
	op        op
	call, ret int64
	gave, got nodes
	ok        bool
	n         int
	status    mpsc.Status
	spec      func(e *event, h *history) []step
}

func (e *event) String() string {
	s := fmt.Sprintf("[%3d,%3d] thread %d  %-9v ok=%v", e.call, e.ret, e.th, e.op, e.ok)
	if e.gave != "" {
		s += fmt.Sprint(" gave ", e.gave)
	}
	if e.got != "" {
		s += fmt.Sprint(" got ", e.got)
	}
	if e.n != 0 {
		s += fmt.Sprint(" n=", e.n)
	}
	if e.status != 0 {
		s += fmt.Sprint(" ", e.status)
	}
	return s
}

// step is one moment of an operation at which it changes or reads the world. It lists
// the alternatives. An alternative changes w and reports whether it is possible and
// gives the observed result.
type step []func(w *world) bool

// steps returns steps with one alternative each.
func steps(alternatives ...func(w *world) bool) []step {
	s := make([]step, len(alternatives))
	for i, alternative := range alternatives {
		s[i] = step{alternative}
	}
	return s
}

// history is what the threads of one execution did. A thread appends to its own events
// only. The clock gives each call and each return a separate time.
type history struct {
	clock  atomic.Int64
	events [maxThreads][]event
}

// overlaps reports whether another thread did an operation with the property is during
// e.
func (h *history) overlaps(e *event, is func(o *event) bool) bool {
	for th := range h.events {
		if th == e.th {
			continue
		}
		for i := range h.events[th] {
			if o := &h.events[th][i]; o.call < e.ret && e.call < o.ret && is(o) {
				return true
			}
		}
	}
	return false
}

// String returns the operations in the order of their calls.
func (h *history) String() string {
	var all []*event
	for th := range h.events {
		for i := range h.events[th] {
			all = append(all, &h.events[th][i])
		}
	}
	slices.SortFunc(all, func(a, b *event) int { return cmp.Compare(a.call, b.call) })
	var b strings.Builder
	for _, e := range all {
		fmt.Fprintln(&b, e)
	}
	return b.String()
}

// move is one step of an event. Porcupine orders moves. All moves of an event have its
// times, and each is possible only after the one before.
type move struct {
	th           int
	at, of       int
	alternatives step
}

// model is the specification for porcupine. The moves contain the rules.
var model = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{world{}} },
	Step: func(state, input, _ any) []any {
		m, w := input.(*move), state.(world)
		if w.states[m.th].at != m.at {
			return nil
		}
		var next []any
		for _, alternative := range m.alternatives {
			after := w
			threadState := &after.states[m.th]
			if !alternative(&after) {
				continue
			}
			if threadState.at++; threadState.at == m.of {
				threadState.at, threadState.limit, threadState.mode, threadState.out = 0, 0, 0, ""
			}
			next = append(next, after)
		}
		return next
	},
	Equal: func(a, b any) bool { return a.(world) == b.(world) },
}).ToModel()

// linearizable reports whether some order of the moves explains the history.
func (h *history) linearizable() bool {
	var list []porcupine.Operation
	for th := range h.events {
		for i := range h.events[th] {
			e := &h.events[th][i]
			all := e.spec(e, h)
			for at, alternatives := range all {
				list = append(list, porcupine.Operation{
					ClientId: th,
					Input:    &move{th: th, at: at, of: len(all), alternatives: alternatives},
					Call:     e.call,
					Return:   e.ret,
				})
			}
		}
	}
	return porcupine.CheckOperations(model, list)
}
