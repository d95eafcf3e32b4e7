package pool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/lanewright/lanewright/pool"
)

func Example() {
	var h pool.Handlers
	add := pool.Register(&h, "add", func(_ context.Context, a [2]int) (int, error) { return a[0] + a[1], nil })
	p, err := pool.New(&h, pool.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	sum, err := add.Call(context.Background(), [2]int{1, 2})
	fmt.Println(sum, err)
	// Output: 3 <nil>
}

// open makes a pool of the examples.
func open(h *pool.Handlers, c pool.Config) *pool.Pool {
	p, err := pool.New(h, c)
	if err != nil {
		panic(err)
	}
	return p
}

// Tasks may also be called by name and without types.
func ExamplePool() {
	var h pool.Handlers
	h.Handle("greet", func(_ context.Context, name any) (any, error) { return fmt.Sprint("hello ", name), nil })
	p := open(&h, pool.Config{Lanes: 2})
	ctx := context.Background()
	fmt.Println(p.RunTask(ctx, "greet", "world"))
	fmt.Println(p.Submit(ctx, "again").Wait(ctx)) // the pool has a single task
	fmt.Println(p.Shutdown(ctx))
	_, err := p.RunTask(ctx, "greet", "nobody")
	fmt.Println(err)
	// Output:
	// hello world <nil>
	// hello again <nil>
	// <nil>
	// Pool is shut down
}

// The tasks of the contracts: C-042.
func ExampleHandlers() {
	type pair struct{ a, b int }
	var h pool.Handlers
	h.HandleAll(map[string]pool.Handler{
		"add":      func(_ context.Context, v any) (any, error) { return v.(pair).a + v.(pair).b, nil },
		"multiply": func(_ context.Context, v any) (any, error) { return v.(pair).a * v.(pair).b, nil },
	})
	p := open(&h, pool.Config{})
	defer p.Close()
	fmt.Println(p.RunTask(context.Background(), "add", pair{10, 15}))
	fmt.Println(p.RunTask(context.Background(), "multiply", pair{6, 7}))
	// Output:
	// 25 <nil>
	// 42 <nil>
}

// A handler may return a future, which its lane waits for.
func ExampleHandler() {
	var h pool.Handlers
	square := pool.Register(&h, "square", func(_ context.Context, n any) (any, error) { return n.(int) * n.(int), nil })
	var later pool.Handler = func(ctx context.Context, n any) (any, error) { return square.Go(ctx, n), nil }
	h.Handle("later", later)
	p := open(&h, pool.Config{Lanes: 1})
	defer p.Close()
	fmt.Println(p.RunTask(context.Background(), "later", 12))
	// Output: 144 <nil>
}

// The quick start registers a function, makes a pool and calls the function. K-037.
func ExampleRegister() {
	var h pool.Handlers
	add := pool.Register(&h, "add", func(_ context.Context, a [2]int) (int, error) { return a[0] + a[1], nil })
	p, err := pool.New(&h, pool.Config{Lanes: 2})
	if err != nil {
		panic(err)
	}
	defer p.Close()
	fmt.Println(add.Call(context.Background(), [2]int{1, 2}))
	// Output: 3 <nil>
}

func ExampleFunc() {
	var h pool.Handlers
	double := pool.Register(&h, "double", func(_ context.Context, n int) (int, error) { return 2 * n, nil })
	p := open(&h, pool.Config{})
	defer p.Close()
	ctx := context.Background()
	fmt.Println(double.Call(ctx, 21))
	later := double.After(ctx, double.Go(ctx, 5)) // the result of one is the argument of the next
	fmt.Println(later.Wait(ctx))
	// Output:
	// 42 <nil>
	// 20 <nil>
}

func ExampleFuture() {
	var h pool.Handlers
	square := pool.Register(&h, "square", func(_ context.Context, n int) (int, error) { return n * n, nil })
	p := open(&h, pool.Config{Lanes: 2})
	defer p.Close()
	ctx := context.Background()
	var futures []*pool.Future[int]
	for n := range 5 {
		futures = append(futures, square.Go(ctx, n)) // all under way at once
	}
	for _, f := range futures {
		n, err := f.Wait(ctx)
		fmt.Println(n, err)
	}
	// Output:
	// 0 <nil>
	// 1 <nil>
	// 4 <nil>
	// 9 <nil>
	// 16 <nil>
}

func ExampleConfig() {
	_, err := pool.New(nil, pool.Config{Lanes: -5})
	fmt.Println(err)
	// Output: pool: Config.Lanes: -5 is not in 1..4096
}

// A program with a loop of its own runs the calls in it.
func ExampleInline() {
	var h pool.Handlers
	draw := pool.Register(&h, "draw", func(_ context.Context, frame int) (int, error) {
		fmt.Println("frame", frame)
		return frame, nil
	})
	p := open(&h, pool.Config{Lanes: pool.NoLanes, Inline: &pool.Inline{}})
	defer p.Close()
	draw.Go(context.Background(), 1)
	draw.Go(context.Background(), 2)
	fmt.Println("in the loop:")
	fmt.Println(p.RunInline(10), "calls")
	// Output:
	// in the loop:
	// frame 1
	// frame 2
	// 2 calls
}

func ExamplePosition() {
	p := open(nil, pool.Config{Lanes: 2, Inline: &pool.Inline{Position: pool.First}})
	defer p.Close()
	for _, l := range p.Lanes() {
		fmt.Println(l.Lane, l.Inline)
	}
	// Output:
	// -1 true
	// 0 false
	// 1 false
}

// twoChoices picks the less busy one of two lanes at random.
type twoChoices struct{}

func (twoChoices) Pick(v pool.View) int {
	a, b := rand.IntN(v.Len()), rand.IntN(v.Len())
	if v.InFlight(b)+v.Backlog(b) < v.InFlight(a)+v.Backlog(a) {
		return b
	}
	return a
}

func ExampleBalancer() {
	var h pool.Handlers
	double := pool.Register(&h, "double", func(_ context.Context, n int) (int, error) { return 2 * n, nil })
	p := open(&h, pool.Config{Lanes: 4, Balancer: twoChoices{}})
	defer p.Close()
	fmt.Println(double.Call(context.Background(), 4))
	// Output: 8 <nil>
}

// lastFree is a balancer that picks the last lane without any call.
type lastFree struct{}

func (lastFree) Pick(v pool.View) int {
	for i := v.Len() - 1; i > 0; i-- {
		if v.Free(i) {
			return i
		}
	}
	return 0
}

func ExampleView() {
	var h pool.Handlers
	double := pool.Register(&h, "double", func(_ context.Context, n int) (int, error) { return 2 * n, nil })
	p := open(&h, pool.Config{Lanes: 3, Balancer: lastFree{}})
	defer p.Close()
	fmt.Println(double.Call(context.Background(), 4))
	fmt.Println(p.Lanes()[2].Accepted)
	// Output:
	// 8 <nil>
	// 1
}

func ExampleOverflow() {
	var h pool.Handlers
	double := pool.Register(&h, "double", func(_ context.Context, n int) (int, error) { return 2 * n, nil })
	p := open(&h, pool.Config{Lanes: 1, Backlog: 1, Overflow: pool.Fail})
	defer p.Close()
	p.Pause()
	ctx := context.Background()
	double.Go(ctx, 1) // waits, since the pool is paused
	_, err := double.Call(ctx, 2)
	fmt.Println(err)
	fmt.Println(errors.Is(err, pool.ErrBacklogFull), errors.Is(err, pool.ErrNotStarted))
	// Output:
	// pool: backlog full; the call has not started
	// true true
}

func ExampleTaskOptions() {
	var h pool.Handlers
	exits := pool.Register(&h, "where", func(ctx context.Context, _ int) (bool, error) {
		_, limited := ctx.Deadline()
		return limited, nil
	}, pool.TaskOptions{Timeout: 1e9, Remote: true})
	p := open(&h, pool.Config{})
	defer p.Close()
	fmt.Println(exits.Call(context.Background(), 0))
	// Output: true <nil>
}

func ExampleLease() {
	var h pool.Handlers
	double := pool.Register(&h, "double", func(_ context.Context, n int) (int, error) { return 2 * n, nil })
	p := open(&h, pool.Config{Lanes: 2})
	defer p.Close()
	ctx := context.Background()
	lease, err := p.Acquire(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(pool.CallOn(ctx, lease, double, 4))
	fmt.Println(lease.RunTask(ctx, "double", 5))
	lease.Release()
	_, err = pool.CallOn(ctx, lease, double, 6)
	fmt.Println(err)
	// Output:
	// 8 <nil>
	// 10 <nil>
	// pool: the lease is over; the call has not started
}

func ExampleLaneID() {
	var h pool.Handlers
	double := pool.Register(&h, "double", func(_ context.Context, n int) (int, error) { return 2 * n, nil })
	p := open(&h, pool.Config{Lanes: 2})
	defer p.Close()
	ctx := context.Background()
	id := p.Lanes()[1].ID
	fmt.Println(pool.CallAt(ctx, id, double, 4))
	if err := p.Discard(id, errors.New("its state is lost")); err != nil {
		fmt.Println(err)
	}
	_, err := pool.CallAt(ctx, id, double, 5)
	fmt.Println(err)
	fmt.Println(p.Lanes()[1].ID)
	// Output:
	// 8 <nil>
	// pool: lane discarded; the call has not started
	// {1 2}
}

func ExampleRunning() {
	var h pool.Handlers
	var p *pool.Pool
	look := pool.Register(&h, "look", func(_ context.Context, lane int) ([]pool.Running, error) {
		return p.Lanes()[lane].Running, nil
	})
	p = open(&h, pool.Config{Lanes: 1})
	defer p.Close()
	running, err := look.Call(context.Background(), 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range running {
		fmt.Printf("%s on lane %d\n", r.Task, r.Lane)
	}
	// Output: look on lane 0
}

func ExampleShutdownError() {
	var h pool.Handlers
	forever := make(chan struct{})
	defer close(forever)
	begun := make(chan struct{})
	wait := pool.Register(&h, "wait", func(context.Context, int) (int, error) {
		close(begun)
		<-forever
		return 0, nil
	})
	p := open(&h, pool.Config{Lanes: 1})
	wait.Go(context.Background(), 1)
	<-begun
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	var left *pool.ShutdownError
	if errors.As(p.Shutdown(ctx), &left) {
		fmt.Printf("%s on lane %d; %d calls wait\n", left.Running[0].Task, left.Running[0].Lane, left.Waiting)
	}
	// Output: wait on lane 0; 0 calls wait
}

func ExampleMetrics() {
	var h pool.Handlers
	double := pool.Register(&h, "double", func(_ context.Context, n int) (int, error) { return 2 * n, nil })
	p := open(&h, pool.Config{Lanes: 2})
	defer p.Close()
	ctx := context.Background()
	for n := range 10 {
		if _, err := double.Call(ctx, n); err != nil {
			fmt.Println(err)
		}
	}
	if err := p.Wait(ctx); err != nil {
		fmt.Println(err)
	}
	m := p.Metrics()
	fmt.Println(m.Accepted, m.Ended, m.Backlog, m.InFlight, m.Status)
	// Output: 10 10 0 0 open
}

func ExampleLaneInfo() {
	p := open(nil, pool.Config{Lanes: 1})
	defer p.Close()
	data, err := json.Marshal(p.Lanes()[0])
	fmt.Println(string(data), err)
	// Output: {"lane":0,"id":{"lane":0,"generation":1},"backlog":0,"inFlight":0,"accepted":0,"ended":0,"direct":0,"drainsScheduled":0,"staleResponses":0,"abandoned":0,"overdue":0} <nil>
}

func ExampleAbortSignal() {
	var h pool.Handlers
	begun := make(chan bool)
	work := pool.Register(&h, "work", func(ctx context.Context, _ int) (int, error) {
		aborted := pool.AbortSignalOf(ctx)
		close(begun)
		for n := 0; ; n++ {
			if aborted.Aborted() { // one load: ask often
				return n, nil
			}
			runtime.Gosched() // in place of some work
		}
	}, pool.TaskOptions{Abortable: true, Remote: true})
	p := open(&h, pool.Config{Lanes: 1})
	ctx := context.Background()
	f := work.Go(ctx, 0)
	<-begun
	f.Abort(errors.New("no longer needed"))
	_, err := f.Wait(ctx)
	fmt.Println(err)
	fmt.Println(p.Terminate(ctx)) // the handler has seen it, too
	// Output:
	// no longer needed
	// 0 <nil>
}

func ExampleRemoteError() {
	var h pool.Handlers
	errDisk := errors.New("disk full")
	save := pool.Register(&h, "save", func(context.Context, int) (int, error) { return 0, fmt.Errorf("save: %w", errDisk) })
	broken := pool.Register(&h, "broken", func(_ context.Context, i int) (int, error) { return []int{}[i], nil })
	p := open(&h, pool.Config{})
	defer p.Close()
	ctx := context.Background()
	_, err := save.Call(ctx, 1)
	fmt.Println(err, errors.Is(err, errDisk))
	_, err = broken.Call(ctx, 1)
	var remote *pool.RemoteError
	if errors.As(err, &remote) {
		fmt.Println(remote.Type, remote.Message, remote.Stack != "")
	}
	// Output:
	// save: disk full true
	// panic runtime error: index out of range [1] with length 0 true
}

func ExampleUnknownTaskError() {
	p := open(nil, pool.Config{})
	defer p.Close()
	_, err := p.RunTask(context.Background(), "nobody", nil)
	fmt.Println(err)
	// Output: Unknown task type "nobody"
}

func ExampleBootstrapError() {
	_, err := pool.New(nil, pool.Config{Lanes: 3, Bootstrap: func(_ context.Context, lane int) error {
		if lane == 1 {
			return errors.New("no licence")
		}
		return nil
	}})
	var failed *pool.BootstrapError
	fmt.Println(errors.As(err, &failed), failed.Lane, err)
	// Output: true 1 pool: bootstrap of lane 1: no licence
}

// Every pool answers the task "request" by itself.
func ExamplePong() {
	p := open(nil, pool.Config{})
	defer p.Close()
	v, err := p.RunTask(context.Background(), "request", nil)
	if pong, ok := v.(pool.Pong); ok {
		fmt.Println(pong.CallbackID, pong.Type, err)
	}
	// Output: 1 request <nil>
}

func ExampleRequest() {
	data, err := json.Marshal(pool.Request{ID: 7, Data: "hello"})
	fmt.Println(string(data), err)
	// Output: {"id":7,"data":"hello"} <nil>
}

func ExampleTaskData() {
	data, err := json.Marshal(pool.Request{ID: 7, Data: pool.TaskData{Type: "add", Payload: []int{1, 2}}})
	fmt.Println(string(data), err)
	// Output: {"id":7,"data":{"type":"add","payload":[1,2]}} <nil>
}

func ExampleResponse() {
	r, err := pool.ParseAnswer([]byte(`{"callbackId":7,"result":"hello"}`))
	fmt.Println(r.CallbackID, r.Result, err)
	// Output: 7 hello <nil>
}

func ExampleErrorResponse() {
	data, err := json.Marshal(pool.Answer(7, nil, errors.New("no such file")))
	fmt.Println(string(data), err)
	_, err = pool.ParseAnswer([]byte(`{"callbackId":7,"error":"no such file"}`))
	fmt.Println(err)
	// Output:
	// {"callbackId":7,"error":{"message":"no such file","type":"*errors.errorString"}} <nil>
	// no such file
}

// A pool runs more calls at once while its backend answers quickly. It runs fewer while the
// backend is slow.
func ExamplePool_SetConcurrency() {
	var h pool.Handlers
	fetch := pool.Register(&h, "fetch", func(_ context.Context, page int) (string, error) {
		return fmt.Sprint("page ", page), nil
	})
	p, err := pool.New(&h, pool.Config{Lanes: 1, Concurrency: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()

	if err := p.SetConcurrency(8); err != nil {
		fmt.Println(err)
		return
	}
	page, err := fetch.Call(context.Background(), 1)
	fmt.Println(page, err, p.Metrics().Concurrency)
	// Output: page 1 <nil> 8
}
