package lanelaw

import (
	"context"
	"errors"
	"fmt"
	"runtime"
)

// Task is a task that the laws call.
type Task struct {
	Abortable bool                                   // its handler learns of an abort
	Exits     bool                                   // its handler calls runtime.Goexit
	Run       func(c Call, payload any) (any, error) // the handler
}

// Call is what the handler of a [Task] gets besides its argument.
type Call struct {
	Context context.Context                             // ends with the call
	Aborted func() bool                                 // was the call aborted? Only for an abortable task
	Call    func(task string, payload any) (any, error) // makes a call of the same lanes, and waits
}

// Gate is what handlers tell where they are, so that a law can count them, and
// hold them there. Lanes whose handlers run elsewhere bring the calls of the gate
// to the process that made it.
type Gate interface {
	// Reach says where the handler of a call is, and returns when it may go on. It
	// returns false when nobody waits for it any more.
	Reach(call uint64, at HandlerPoint) (ok bool)
}

// HandlerPoint is a place in a handler.
type HandlerPoint uint8

// The places in a handler, in their order.
const (
	HandlerEntered   HandlerPoint = iota
	HandlerPolling                // has looked, often, whether it was aborted: it was not
	HandlerAborted                // knows that it was aborted
	HandlerReturning              // is about to return
)

// Tasks returns the tasks that the laws call, by their names.
func Tasks(gate Gate) map[string]Task {
	type run = func(Call, any) (any, error)
	visit := func(inside func(c Call, id uint64)) run {
		return func(c Call, payload any) (any, error) {
			id, ok := payload.(uint64)
			if !ok {
				return nil, fmt.Errorf("stress: the payload is a %T", payload)
			}
			if gate.Reach(id, HandlerEntered) && inside != nil {
				inside(c, id)
			}
			gate.Reach(id, HandlerReturning)
			return answerOf(id), nil
		}
	}
	return map[string]Task{
		"call": {Run: visit(nil)},
		"glance": {Abortable: true, Run: visit(func(c Call, id uint64) {
			if c.Aborted() {
				gate.Reach(id, HandlerAborted)
			}
		})},
		"poll": {Abortable: true, Run: visit(func(c Call, id uint64) {
			for looks := 1; !c.Aborted(); looks++ {
				runtime.Gosched()
				if looks%1024 == 0 && !gate.Reach(id, HandlerPolling) {
					return
				}
			}
			gate.Reach(id, HandlerAborted)
		})},
		"await": {Abortable: true, Run: visit(func(c Call, id uint64) {
			<-c.Context.Done()
			gate.Reach(id, HandlerAborted)
		})},
		"echo":        {Run: func(_ Call, payload any) (any, error) { return payload, nil }},
		"error":       {Run: func(_ Call, payload any) (any, error) { return nil, errors.New(fmt.Sprint(payload)) }},
		"panic":       {Run: func(_ Call, payload any) (any, error) { panic(payload) }},
		"panic-error": {Run: func(_ Call, payload any) (any, error) { panic(errors.New(fmt.Sprint(payload))) }},
		"exit": {Exits: true, Run: func(Call, any) (any, error) {
			runtime.Goexit()
			return nil, nil
		}},
		"nest": {Run: nest},
	}
}

// answerOf is the result of the call with that number.
func answerOf(id uint64) uint64 { return 3*id + 1 }

// nest calls itself as often as its argument says, each time from inside the
// call before, and returns how deep it came.
func nest(c Call, payload any) (any, error) {
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
