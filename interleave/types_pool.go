package interleave

import (
	"reflect"
	"sync"
)

// Pool is a [sync.Pool] whose results an exploration can repeat. The results of a
// sync.Pool depend on the garbage collector and on the processor of the caller, so
// that a program with a sync.Pool is [Unsteady].
//
// In an exploration each Get and each Put is one step. Get takes the item that was
// put last, by any thread. If the Pool has no item, Get calls New, or returns nil if
// New is nil. The call of New comes after the step. New may take steps of its own
// and may use the Pool. Each execution begins with an empty Pool: an item of another
// execution, or one that was put outside the exploration, is never returned.
//
// A sync.Pool may also drop an item, or return another item than the last. The
// explorer does not run these executions, because most of them differ in nothing
// but addresses. A model that needs them calls [Choose] before Get or Put.
//
// The Put of an item happens before the end of the Get that returns the item. No
// other order is implied.
//
// The zero value is an empty Pool without New. Outside an exploration a Pool is a
// sync.Pool. It is safe for concurrent use. It must not be copied after its first use.
type Pool struct {
	// New makes an item for a Get that finds none. It must not be changed
	// concurrently with a Get.
	New func() any

	outside sync.Pool // of the callers that are not part of an exploration
}

// A poolItem is an item that was put and not yet taken.
type poolItem struct {
	v     any
	clock clock // of the Put
	edge  edge  // from the Put to the Get
}

// Get takes an item from the Pool and returns it. If there is none, it returns the
// result of New, or nil if New is nil. It never blocks.
//
//go:norace
func (p *Pool) Get() any {
	x := enterFor(addressOf(p))
	if x == nil {
		if v := p.outside.Get(); v != nil {
			return v
		}
		return p.newItem()
	}
	t, id := p.step(x, opGet)
	o := &x.objects.list[id]
	k := len(o.items) - 1
	if t != nil {
		x.read(t, id)
		if x.tracing {
			result := "nil"
			if k >= 0 {
				result = x.item(o.items[k].v)
			} else if p.New != nil {
				result = "New()"
			}
			x.noteOp("Pool", "Get() = "+result)
		}
	}
	if k < 0 {
		return p.newItem()
	}
	i := &o.items[k]
	v := i.v
	i.edge.acquire()
	if t != nil {
		t.clock.join(&i.clock, len(x.threads))
		x.change(t, id)
		x.logResult(1)
	}
	i.v = nil
	o.items = o.items[:k]
	return v
}

// newItem returns the result of New, or nil. The race detector has to see that it reads
// p.New. It would not see that if the function became part of Get.
//
//go:noinline
func (p *Pool) newItem() any {
	if p.New == nil {
		return nil
	}
	return p.New()
}

// Put adds v to the Pool. It never blocks. Put(nil) does nothing and is no step.
//
//go:norace
func (p *Pool) Put(v any) {
	if v == nil {
		return
	}
	x := enterFor(addressOf(p))
	if x == nil {
		p.outside.Put(v)
		return
	}
	t, id := p.step(x, opPut)
	o := &x.objects.list[id]
	o.items = extend(o.items)
	i := &o.items[len(o.items)-1]
	i.v = v
	i.edge.release()
	if t == nil {
		i.clock.clear(maxThreads)
		return
	}
	i.clock = t.clock
	t.clock[t.id]++
	x.change(t, id)
	if x.tracing {
		x.noteOp("Pool", "Put("+x.item(v)+")")
	}
}

// step announces an operation. It returns the number of the Pool and the calling
// thread, which is nil when the operation is no step of the program.
//
//go:norace
func (p *Pool) step(x *explorer, kind opKind) (t *thread, id uint32) {
	id = x.objectID(addressOf(p))
	t = x.current
	if t == nil || x.phase != phaseRun {
		x.limitUnwind()
		return nil, id
	}
	t.step(kind, id)
	return t, id
}

// clearItems removes the items of an earlier execution.
//
//go:norace
func (o *object) clearItems() {
	for i := range o.items {
		o.items[i].v = nil
	}
	o.items = o.items[:0]
}

// item formats an item for the trace: a pointer as elsewhere, and the type of any other
// item, since its content can be long and can differ between executions.
func (x *explorer) item(v any) string {
	if reflect.TypeOf(v).Kind() == reflect.Pointer {
		return x.value(v)
	}
	return sprintf("%T", v)
}
