package remote

import (
	"context"

	"github.com/lanewright/lanewright/internal/helper"
	"github.com/lanewright/lanewright/pool"
)

// Tasks are the tasks of one pool. A worker process runs the same set, so the tasks of all
// commands are in it.
type Tasks struct {
	Handlers pool.Handlers

	Add *pool.Func[int, int] // returns its argument + 1
	Bench
}

// NewTasks returns tasks for a pool that is made of their Handlers.
func NewTasks() *Tasks {
	t := new(Tasks)
	t.Add = pool.Register(&t.Handlers, "add", func(_ context.Context, n int) (int, error) { return n + 1, nil })
	t.register(&t.Handlers)
	return t
}

// Main does not return in a worker process of this program, nor in a process of a role. It does
// nothing in any other process. The program calls it first.
func Main() {
	helper.Main(roles)
	pool.WorkerMain(&NewTasks().Handlers)
}
