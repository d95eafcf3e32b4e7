package stress

import (
	"context"
	"errors"
	"fmt"
	"runtime"
)

// LaneTask is a task that the laws call.
type LaneTask struct {
	Abortable bool                                       // its handler learns of an abort
	Exits     bool                                       // its handler calls runtime.Goexit
	Run       func(c LaneCall, payload any) (any, error) // the handler
}

// LaneCall is what the handler of a [LaneTask] gets besides its argument.
type LaneCall struct {
	Context context.Context                             // ends with the call
	Aborted func() bool                                 // was the call aborted? Only for an abortable task
	Call    func(task string, payload any) (any, error) // makes a call of the same lanes, and waits
}

// LaneGate is what handlers tell where they are, so that a law can count them, and
// hold them there. Lanes whose handlers run elsewhere bring the calls of the gate
// to the process that made it.
type LaneGate interface {
	// Pass says where the handler of a call is, and returns when it may go on. It
	// returns false when nobody waits for it any more.
	Pass(call uint64, at LanePoint) (ok bool)
}

// LanePoint is a place in a handler.
type LanePoint uint8

// The places in a handler, in their order.
const (
	LaneBegins  LanePoint = iota
	LaneLooks             // has looked, often, whether it was aborted: it was not
	LaneTold              // knows that it was aborted
	LaneReturns           // is about to return
)

// LaneTasks returns the tasks that the laws call, by their names.
func LaneTasks(gate LaneGate) map[string]LaneTask {
	type run = func(LaneCall, any) (any, error)
	visit := func(inside func(c LaneCall, id uint64)) run {
		return func(c LaneCall, payload any) (any, error) {
			id, ok := payload.(uint64)
			if !ok {
				return nil, fmt.Errorf("stress: the payload is a %T", payload)
			}
			if gate.Pass(id, LaneBegins) && inside != nil {
				inside(c, id)
			}
			gate.Pass(id, LaneReturns)
			return laneAnswer(id), nil
		}
	}
	return map[string]LaneTask{
		"call": {Run: visit(nil)},
		"glance": {Abortable: true, Run: visit(func(c LaneCall, id uint64) {
			if c.Aborted() {
				gate.Pass(id, LaneTold)
			}
		})},
		"poll": {Abortable: true, Run: visit(func(c LaneCall, id uint64) {
			for looks := 1; !c.Aborted(); looks++ {
				runtime.Gosched()
				if looks%1024 == 0 && !gate.Pass(id, LaneLooks) {
					return
				}
			}
			gate.Pass(id, LaneTold)
		})},
		"await": {Abortable: true, Run: visit(func(c LaneCall, id uint64) {
			<-c.Context.Done()
			gate.Pass(id, LaneTold)
		})},
		"echo":        {Run: func(_ LaneCall, payload any) (any, error) { return payload, nil }},
		"error":       {Run: func(_ LaneCall, payload any) (any, error) { return nil, errors.New(fmt.Sprint(payload)) }},
		"panic":       {Run: func(_ LaneCall, payload any) (any, error) { panic(payload) }},
		"panic-error": {Run: func(_ LaneCall, payload any) (any, error) { panic(errors.New(fmt.Sprint(payload))) }},
		"exit": {Exits: true, Run: func(LaneCall, any) (any, error) {
			runtime.Goexit()
			return nil, nil
		}},
		"nest": {Run: laneNest},
	}
}

// laneAnswer is the result of the call with that number.
func laneAnswer(id uint64) uint64 { return 3*id + 1 }

// laneNest calls itself as often as its argument says, each time from inside the
// call before, and returns how deep it came.
func laneNest(c LaneCall, payload any) (any, error) {
	n, ok := payload.(uint64)
	if !ok || n == 0 {
		return n, nil
	}
	depth, err := c.Call("nest", n-1)
	if err != nil {
		return nil, err
	}
	d, _ := depth.(uint64)
	return d + 1, nil
}
