package pool

import "context"

// Submit makes a call without types of the pool's single task, or of the one with
// the empty name, and returns its future.
func (p *Pool) Submit(ctx context.Context, data any) *Future[any] {
	e := p.tasks[""]
	if e == nil && len(p.tasks) == 1 {
		for _, e = range p.tasks {
			break
		}
	}
	if e == nil {
		return failed(ErrNoHandler)
	}
	if err := e.check(data); err != nil {
		return failed(err)
	}
	return e.any.Go(ctx, data)
}

// RunTask calls the task with that name, without types, and returns its result. A
// name that no task has is an [*UnknownTaskError]. The name "request" is answered at
// once, with a [Pong], whatever the lanes do.
func (p *Pool) RunTask(ctx context.Context, name string, payload any) (any, error) {
	if name == pingName {
		if p.refuses() {
			return nil, notStarted(ErrPoolShutdown)
		}
		return Pong{CallbackID: p.pings.Add(1), Type: pingName}, nil
	}
	e := p.tasks[name]
	if e == nil {
		return nil, notStarted(&UnknownTaskError{name})
	}
	if err := e.check(payload); err != nil {
		return nil, notStarted(err)
	}
	return e.any.Call(ctx, payload)
}

// Pong is the answer to the task "request".
type Pong struct {
	CallbackID uint64 `json:"callbackId"` // a number that no other answer of the pool has
	Type       string `json:"type"`       // "request"
}

// failed returns a future that has ended with err.
func failed(err error) *Future[any] {
	f := new(Future[any])
	f.body = &pong // it has no argument
	f.end(CauseRefused, err)
	return f
}
