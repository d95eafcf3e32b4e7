package lanelaw

import (
	"context"
	"errors"
	"fmt"
	"runtime"
)

// Task is a task that the laws call.
type Task struct {
	Abortable bool                                   // its handler is notified of an abort
	Exits     bool                                   // its handler calls runtime.Goexit
	Run       func(c Call, payload any) (any, error) // the handler
}

// Call is what the handler of a [Task] receives in addition to its argument.
type Call struct {
	Context context.Context                             // ends with the call
	Aborted func() bool                                 // reports whether the call was aborted; for abortable tasks only
	Call    func(task string, payload any) (any, error) // makes a call of the same lanes and waits for it
}

// Gate receives the progress of handlers, so that a law can count handlers and hold
// them. Lanes whose handlers run in another process forward its calls to the process
// that made the gate.
type Gate interface {
	// Reach reports that the handler of a call has reached a point. It returns when the
	// handler may continue. It returns false when no law waits for the handler any
	// more.
	Reach(call uint64, at HandlerPoint) (ok bool)
}

// HandlerPoint is a point in a handler.
type HandlerPoint uint8

// The points in a handler, in their order.
const (
	HandlerEntered   HandlerPoint = iota // the handler was entered
	HandlerPolling                       // has polled Aborted 1,024 times since the last point; it was false
	HandlerAborted                       // has seen the abort of its call
	HandlerReturning                     // is about to return
)

// Tasks returns the tasks that the laws call, by name.
func Tasks(gate Gate) map[string]Task {
	type run = func(Call, any) (any, error)
	reporting := func(body func(c Call, id uint64)) run {
		return func(c Call, payload any) (any, error) {
			id, ok := payload.(uint64)
			if !ok {
				return nil, fmt.Errorf("lanelaw: the payload is a %T, want uint64", payload)
			}
			if gate.Reach(id, HandlerEntered) && body != nil {
				body(c, id)
			}
			gate.Reach(id, HandlerReturning)
			return answerOf(id), nil
		}
	}
	return map[string]Task{
		"call": {Run: reporting(nil)},
		"poll-once": {Abortable: true, Run: reporting(func(c Call, id uint64) {
			if c.Aborted() {
				gate.Reach(id, HandlerAborted)
			}
		})},
		"poll": {Abortable: true, Run: reporting(func(c Call, id uint64) {
			for polls := 1; !c.Aborted(); polls++ {
				runtime.Gosched()
				if polls%1024 == 0 && !gate.Reach(id, HandlerPolling) {
					return
				}
			}
			gate.Reach(id, HandlerAborted)
		})},
		"await": {Abortable: true, Run: reporting(func(c Call, id uint64) {
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

// answerOf returns the result of the call with that number.
func answerOf(id uint64) uint64 { return 3*id + 1 }

// nest calls itself as often as its argument says, each time in the handler of the
// previous call, and returns the depth.
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
