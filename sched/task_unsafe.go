package sched

import (
	"unsafe"

	"github.com/lanewright/lanewright/mpsc"
)

// addressOf returns a number that no other worker has while w is reachable.
func addressOf(w *Worker) uintptr { return uintptr(unsafe.Pointer(w)) }

// taskOf returns the task whose first field is n.
func taskOf(n *mpsc.Node) *Task { return (*Task)(unsafe.Pointer(n)) }

// nodesOf returns the nodes of tasks in place: a node is the first field of its
// task, so a pointer to one is a pointer to the other.
func nodesOf(tasks []*Task) []*mpsc.Node {
	return unsafe.Slice((**mpsc.Node)(unsafe.Pointer(unsafe.SliceData(tasks))), len(tasks))
}

// taskFn returns fn as a function of the task that is the first field of its job. All
// pointers are passed in the same way, and the address of a struct is the address of
// its first field. fn may therefore be called with a pointer to either.
//
// Rejected: a generic function that converts the task and calls fn. Its value carries
// a dictionary, which costs an allocation for each job, and a call.
func taskFn[T any](fn func(*Worker, *Job[T])) func(*Worker, *Task) {
	return *(*func(*Worker, *Task))(unsafe.Pointer(&fn))
}

// forkOf returns the fork whose first field is t. t must be the task of a promoted
// fork.
func forkOf[A, R any](t *Task) *fork[A, R] { return (*fork[A, R])(unsafe.Pointer(t)) }

// isFunc reports whether Group.start has made t. Each such task has a copy of funcTaskFn, and
// a copy of a function is the same pointer. No other task has it, because funcTaskFn is
// private.
func isFunc(t *Task) bool {
	return *(*unsafe.Pointer)(unsafe.Pointer(&t.Fn)) == *(*unsafe.Pointer)(unsafe.Pointer(&funcTaskFn))
}

// funcOf returns the funcTask whose first field is t. t must be a task that
// Group.start has made.
func funcOf(t *Task) *funcTask { return (*funcTask)(unsafe.Pointer(t)) }
