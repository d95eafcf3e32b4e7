//go:build (darwin || dragonfly || freebsd || linux || netbsd || openbsd) && !interleave

package pool_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/lanewright/lanewright/internal/proctest"
	"github.com/lanewright/lanewright/pool"
)

// openProcesses is open for a pool of worker processes. Its lanes are goroutines where no process can be started.
func openProcesses(h *pool.Handlers, c pool.Config) *pool.Pool {
	if os.Getenv(proctest.Emulated) != "" {
		c.Process = nil
	}
	p, err := pool.New(h, c)
	if errors.Is(err, errors.ErrUnsupported) {
		c.Process = nil
		p, err = pool.New(h, c)
	}
	if err != nil {
		panic(err)
	}
	return p
}

// The worker processes run this program, which calls WorkerMain in TestMain with the tasks of newTasks. A program of its
// own calls WorkerMain first in main.
func ExampleProcess() {
	h, tasks := newTasks()
	p := openProcesses(h, pool.Config{Lanes: 2, Process: new(pool.Process)})
	defer p.Close()
	sum, err := tasks.add.Call(context.Background(), [2]int{1, 2})
	fmt.Println(sum, err)
	// Output: 3 <nil>
}

// The memory of a lane grows with what its calls need, up to Max for each direction. PerValue is at most an eighth of Max.
func ExamplePayload() {
	h, tasks := newTasks()
	p := openProcesses(h, pool.Config{Lanes: 1, Process: &pool.Process{
		Payload: pool.Payload{Initial: 64 << 10, Max: 16 << 20, PerValue: 2 << 20},
	}})
	defer p.Close()
	picture, err := tasks.echo.Call(context.Background(), bytes.Repeat([]byte{7}, 1<<20))
	fmt.Println(len(picture), err)
	// Output: 1048576 <nil>
}

// Every system with worker processes has File. It is allocated in full, so Max is small here.
func ExampleRegionKind() {
	kind := pool.Sealed
	if runtime.GOOS != "linux" {
		kind = pool.File
	}
	h, tasks := newTasks()
	p := openProcesses(h, pool.Config{Lanes: 1, Process: &pool.Process{Region: kind, Payload: pool.Payload{Max: 1 << 20}}})
	defer p.Close()
	sum, err := tasks.add.Call(context.Background(), [2]int{3, 4})
	fmt.Println(sum, err)
	// Output: 7 <nil>
}

// A process that no pool has started is a host, in which WorkerMain and its options do nothing.
func ExampleWorkerOption() {
	var h pool.Handlers
	pool.Register(&h, "find", func(context.Context, string) (int, error) { return 0, nil })
	options := []pool.WorkerOption{
		pool.OnStart("load the index", func(context.Context) error { return nil }), // if Process.Bootstrap is "load the index"
		pool.AllowNested(1), // handlers may make pools
	}
	pool.WorkerMain(&h, options...)
	fmt.Println("the host")
	// Output: the host
}

// A health check names the lanes whose process takes no calls. Pool.Workers returns the list.
func ExampleWorkerInfo() {
	check := func(workers []pool.WorkerInfo) {
		for _, w := range workers {
			if w.State != "serving" || w.Pid == 0 {
				fmt.Printf("lane %d is %s, after %d deaths\n", w.Lane, w.State, w.Deaths)
			}
		}
	}
	check([]pool.WorkerInfo{
		{Lane: 0, Pid: 301, Generation: 1, State: "serving"},
		{Lane: 1, Generation: 4, State: "waiting", Deaths: 3},
	})
	// Output: lane 1 is waiting, after 3 deaths
}

// A call ends so when a signal, or the host, has killed the process that may have run it.
func ExampleWorkerError() {
	var err error = pool.WorkerError{Cause: errors.New("signal: killed")} // what the call returns
	var lost pool.WorkerError
	fmt.Println(err)
	fmt.Println(errors.As(err, &lost), errors.Is(err, pool.ErrWorkerLost), errors.Is(err, pool.ErrNotStarted))
	// Output:
	// Worker error: signal: killed
	// true true false
}

// A call ends so when the process that may have run it has exited.
func ExampleExitError() {
	for _, code := range []int{3, 0} {
		var err error = pool.ExitError{Code: code} // what the call returns
		fmt.Println(err)
		fmt.Println(errors.Is(err, pool.ErrWorkerLost), errors.Is(err, pool.ErrWorkerExited))
	}
	// Output:
	// Worker stopped with exit code 3
	// true false
	// Worker stopped with exit code 0
	// true true
}
