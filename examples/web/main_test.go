package main

import (
	"context"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lanewright/lanewright/examples/internal/cmdtest"
)

func TestMain(m *testing.M) { cmdtest.Main(m, main) }

// small is a server on which one request runs and one waits.
var small = config{lanes: 1, backlog: 1, timeout: time.Minute, grace: time.Hour}

type task = func(context.Context, *big.Int) (*big.Int, error)

// start returns a server, whose handlers have returned when the test ends.
func start(t *testing.T, c config, fn task) *server {
	t.Helper()
	s, err := newServer(c, fn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = s.pool.Terminate(context.Background()) })
	return s
}

// get sends a request without a network and returns the answer.
func get(s *server, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

// goGet is get on a goroutine of its own.
func goGet(s *server, path string) <-chan *httptest.ResponseRecorder {
	answer := make(chan *httptest.ResponseRecorder, 1)
	go func() { answer <- get(s, path) }()
	return answer
}

// wantAnswer checks the status of an answer, and that its body contains text.
func wantAnswer(t *testing.T, w *httptest.ResponseRecorder, status int, text string) {
	t.Helper()
	if w.Code != status || !strings.Contains(w.Body.String(), text) {
		t.Errorf("got status %d and %q, want %d and %q", w.Code, w.Body, status, text)
	}
}

// wantMetric checks that the metrics contain a line.
func wantMetric(t *testing.T, s *server, line string) {
	t.Helper()
	w := get(s, "/metrics")
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), line+"\n") {
		t.Errorf("got status %d, and metrics without %s:\n%s", w.Code, line, w.Body)
	}
}

// blocking returns a task that says when it is entered and returns its argument when it
// may go on, or when its context ends.
func blocking() (fn task, entered chan string, goOn chan struct{}) {
	entered, goOn = make(chan string, 10), make(chan struct{})
	return func(ctx context.Context, n *big.Int) (*big.Int, error) {
		entered <- n.String()
		select {
		case <-goOn:
			return n, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}, entered, goOn
}

func TestNextPrime(t *testing.T) {
	for n := int64(0); n < 2000; n++ {
		want := big.NewInt(max(n, 2))
		for !isPrime(want.Int64()) {
			want.Add(want, big.NewInt(1))
		}
		arg := big.NewInt(n)
		got, err := nextPrime(t.Context(), arg)
		if err != nil || got.Cmp(want) != 0 || arg.Int64() != n {
			t.Errorf("nextPrime(%d) = %v, %v, want %v, and an argument of %v", n, got, err, want, arg)
		}
	}
}

func isPrime(n int64) bool {
	for d := int64(2); d*d <= n; d++ {
		if n%d == 0 {
			return false
		}
	}
	return n >= 2
}

func TestNextPrimeInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if p, err := nextPrime(ctx, big.NewInt(24)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v, want %v", p, err, context.Canceled)
	}
}

func TestAnswers(t *testing.T) {
	s := start(t, small, nextPrime)
	for _, tc := range []struct {
		path   string
		status int
		text   string
	}{
		{"/prime/0", http.StatusOK, "2\n"},
		{"/prime/1000000", http.StatusOK, "1000003\n"},
		{"/prime/18446744073709551616", http.StatusOK, "18446744073709551629\n"},
		{"/prime/-1", http.StatusBadRequest, "not a number"},
		{"/prime/x", http.StatusBadRequest, "not a number"},
		{"/prime/" + strings.Repeat("1", maxDigits+1), http.StatusBadRequest, "digits"},
		{"/prime/", http.StatusNotFound, ""},
	} {
		wantAnswer(t, get(s, tc.path), tc.status, tc.text)
	}
	wantMetric(t, s, `calls_ended_total{cause="returned"} 3`)
}

// TestFull: a request beyond the backlog has its answer at once, and no handler runs for
// it.
func TestFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fn, entered, goOn := blocking()
		s := start(t, small, fn)
		first := goGet(s, "/prime/1")
		synctest.Wait()
		second := goGet(s, "/prime/2")
		synctest.Wait()
		wantMetric(t, s, `calls{state="running"} 1`)
		wantMetric(t, s, `calls{state="waiting"} 1`)

		third := get(s, "/prime/3")
		wantAnswer(t, third, http.StatusServiceUnavailable, "busy")
		if after := third.Header().Get("Retry-After"); after != "1" {
			t.Errorf("Retry-After is %q", after)
		}
		wantMetric(t, s, `calls_ended_total{cause="refused"} 1`)

		close(goOn)
		wantAnswer(t, <-first, http.StatusOK, "1\n")
		wantAnswer(t, <-second, http.StatusOK, "2\n")
		wantAnswer(t, get(s, "/prime/4"), http.StatusOK, "4\n")
		close(entered)
		for _, want := range []string{"1", "2", "4"} {
			if got := <-entered; got != want {
				t.Errorf("the handler got %q, want %q", got, want)
			}
		}
	})
}

// TestNoBacklog: -backlog 0 means that no request waits.
func TestNoBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fn, _, goOn := blocking()
		c := small
		c.backlog = 0
		s := start(t, c, fn)
		first := goGet(s, "/prime/1")
		synctest.Wait()
		wantAnswer(t, get(s, "/prime/2"), http.StatusServiceUnavailable, "busy")
		close(goOn)
		wantAnswer(t, <-first, http.StatusOK, "1\n")
	})
}

// TestTimeout: a request whose handler is slow has its answer when its time is over. So has
// one that waits then, and its handler does not run.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		entered, goOn := 0, make(chan struct{})
		s := start(t, small, func(_ context.Context, n *big.Int) (*big.Int, error) {
			entered++
			<-goOn // the handler does not look at its context
			return n, nil
		})
		begin := time.Now()
		first := goGet(s, "/prime/1")
		synctest.Wait()
		second := goGet(s, "/prime/2")
		wantAnswer(t, <-first, http.StatusGatewayTimeout, "too long")
		w := <-second
		wantAnswer(t, w, http.StatusServiceUnavailable, "busy")
		if w.Header().Get("Retry-After") == "" {
			t.Error("the answer has no Retry-After")
		}
		if d := time.Since(begin); d != small.timeout {
			t.Errorf("the answers came after %v, want %v", d, small.timeout)
		}
		wantMetric(t, s, `calls_ended_total{cause="timed out"} 2`)
		wantMetric(t, s, `calls{state="overdue"} 1`)

		close(goOn)
		wantAnswer(t, get(s, "/prime/3"), http.StatusOK, "3\n")
		wantMetric(t, s, `calls{state="overdue"} 0`)
		if entered != 2 {
			t.Errorf("%d handlers ran, want 2", entered)
		}
	})
}

// TestPrompt: a handler that returns at the end of its context leaves its lane to the next
// request.
func TestPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fn, _, goOn := blocking()
		s := start(t, small, fn)
		wantAnswer(t, get(s, "/prime/1"), http.StatusGatewayTimeout, "too long")
		synctest.Wait()
		wantMetric(t, s, `calls{state="overdue"} 0`)
		close(goOn)
		wantAnswer(t, get(s, "/prime/2"), http.StatusOK, "2\n")
	})
}

// TestPanic: a handler that panics ends its own request only.
func TestPanic(t *testing.T) {
	s := start(t, small, func(_ context.Context, n *big.Int) (*big.Int, error) {
		if n.Sign() == 0 {
			panic(errors.Join(context.DeadlineExceeded, errors.New("secret")))
		}
		return n, nil
	})
	w := get(s, "/prime/0")
	wantAnswer(t, w, http.StatusInternalServerError, "internal error")
	if strings.Contains(w.Body.String(), "secret") {
		t.Errorf("the answer is %q", w.Body)
	}
	wantAnswer(t, get(s, "/prime/1"), http.StatusOK, "1\n")
	wantMetric(t, s, `calls_ended_total{cause="panicked"} 1`)
}

// TestFailed: an error of a handler is not shown to the client.
func TestFailed(t *testing.T) {
	s := start(t, small, func(context.Context, *big.Int) (*big.Int, error) { return nil, errors.New("secret") })
	w := get(s, "/prime/0")
	wantAnswer(t, w, http.StatusInternalServerError, "internal error")
	if strings.Contains(w.Body.String(), "secret") {
		t.Errorf("the answer is %q", w.Body)
	}
}

// network is a listener in memory, with a client for it. All of it stays in the bubble of
// the test.
type network struct {
	http.Client
	conns  chan net.Conn
	closed chan struct{}
}

func newNetwork(t *testing.T) *network {
	t.Helper()
	n := &network{conns: make(chan net.Conn), closed: make(chan struct{})}
	n.Transport = &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		select {
		case n.conns <- server:
			return client, nil
		case <-n.closed:
			return nil, net.ErrClosed
		}
	}}
	t.Cleanup(n.CloseIdleConnections)
	return n
}

func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

func (n *network) Close() error {
	close(n.closed) // http.Server calls it once
	return nil
}

func (n *network) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "memory"} }

// answer is the outcome of a request on a network.
type answer struct {
	status int
	body   string
	err    error
}

func (n *network) get(ctx context.Context, path string) (a answer) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://memory"+path, nil)
	if err != nil {
		return answer{err: err}
	}
	w, err := n.Do(r)
	if err != nil {
		return answer{err: err}
	}
	defer w.Body.Close()
	body, err := io.ReadAll(w.Body)
	return answer{w.StatusCode, string(body), err}
}

func (n *network) goGet(ctx context.Context, path string) <-chan answer {
	c := make(chan answer, 1)
	go func() { c <- n.get(ctx, path) }()
	return c
}

// goServe serves on a goroutine of its own. stop begins the shutdown, and served is its
// outcome.
func goServe(t *testing.T, s *server, n *network) (stop context.CancelFunc, served <-chan error) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	c := make(chan error, 1)
	go func() { c <- s.serve(ctx, n) }()
	return stop, c
}

// TestClientLeaves: when a client leaves, the handler of its request learns of it, and the
// lane is free for the next request. A request that waits leaves the backlog.
func TestClientLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fn, entered, goOn := blocking()
		s, n := start(t, small, fn), newNetwork(t)
		stop, served := goServe(t, s, n)
		runningCtx, leaveRunning := context.WithCancel(t.Context())
		running := n.goGet(runningCtx, "/prime/1")
		synctest.Wait()
		waitingCtx, leaveWaiting := context.WithCancel(t.Context())
		waiting := n.goGet(waitingCtx, "/prime/2")
		synctest.Wait()
		wantMetric(t, s, `calls{state="waiting"} 1`)

		leaveWaiting()
		if a := <-waiting; !errors.Is(a.err, context.Canceled) {
			t.Errorf("the request that waited: got %+v, want %v", a, context.Canceled)
		}
		synctest.Wait()
		wantMetric(t, s, `calls{state="waiting"} 0`)
		wantMetric(t, s, `calls{state="running"} 1`)

		leaveRunning()
		if a := <-running; !errors.Is(a.err, context.Canceled) {
			t.Errorf("the request that ran: got %+v, want %v", a, context.Canceled)
		}
		synctest.Wait()
		wantMetric(t, s, `calls{state="running"} 0`)
		wantMetric(t, s, `calls{state="overdue"} 0`)
		wantMetric(t, s, `calls_ended_total{cause="context ended"} 2`)

		close(goOn)
		if a := n.get(t.Context(), "/prime/3"); a != (answer{http.StatusOK, "3\n", nil}) {
			t.Errorf("got %+v", a)
		}
		close(entered)
		if first, second := <-entered, <-entered; first != "1" || second != "3" {
			t.Errorf("the handlers of %s and %s ran, want those of 1 and 3", first, second)
		}
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// TestTimeoutOnNetwork: the times of http.Server leave a request all of its time, and the
// time for its answer.
func TestTimeoutOnNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fn, _, _ := blocking()
		s, n := start(t, small, fn), newNetwork(t)
		stop, served := goServe(t, s, n)
		if a := n.get(t.Context(), "/prime/1"); a.status != http.StatusGatewayTimeout {
			t.Errorf("got %+v, want %d", a, http.StatusGatewayTimeout)
		}
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// TestShutdown: a shutdown finishes the requests that run and those that wait, and the
// server takes no new ones.
func TestShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fn, _, goOn := blocking()
		s, n := start(t, small, fn), newNetwork(t)
		stop, served := goServe(t, s, n)
		running := n.goGet(t.Context(), "/prime/1")
		synctest.Wait()
		waiting := n.goGet(t.Context(), "/prime/2")
		synctest.Wait()

		stop()
		synctest.Wait()
		select {
		case err := <-served:
			t.Fatalf("the shutdown did not wait, and returned %v", err)
		default:
		}
		if a := n.get(t.Context(), "/prime/3"); !errors.Is(a.err, net.ErrClosed) {
			t.Errorf("during the shutdown: got %+v, want %v", a, net.ErrClosed)
		}

		close(goOn)
		if a := <-running; a != (answer{http.StatusOK, "1\n", nil}) {
			t.Errorf("the request that ran: got %+v", a)
		}
		if a := <-waiting; a != (answer{http.StatusOK, "2\n", nil}) {
			t.Errorf("the request that waited: got %+v", a)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
		if status := s.pool.Metrics().Status; status != "closed" {
			t.Errorf("afterwards the pool is %s", status)
		}
	})
}

// TestShutdownAtOnce: when the grace is over, the requests that are left end without an
// answer.
func TestShutdownAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fn, entered, _ := blocking()
		c := small
		c.grace = time.Second
		s, n := start(t, c, fn), newNetwork(t)
		stop, served := goServe(t, s, n)
		request := n.goGet(t.Context(), "/prime/1")
		<-entered
		begin := time.Now()
		stop()
		if err := <-served; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
		}
		if d := time.Since(begin); d != c.grace {
			t.Errorf("the shutdown took %v, want %v", d, c.grace)
		}
		if a := <-request; a.err == nil {
			t.Errorf("got %+v, want an error", a)
		}
	})
}

func TestProgram(t *testing.T) {
	for _, tc := range []struct {
		args string
		code int
		want string // a part of the output
	}{
		{"-lanes 0", 1, "-lanes is 0"},
		{"-lanes 5000", 1, "Lanes"},
		{"-backlog -1", 1, "-backlog is -1"},
		{"-timeout 0", 1, "-timeout and -grace must be positive"},
		{"-addr localhost:http:80", 1, "too many colons"},
		{"-timeout soon", 2, "invalid value"},
		{"8080", 2, "usage: web"},
		{"-h", 0, "usage: web"},
	} {
		stdout, stderr, code := cmdtest.Run(t, strings.Fields(tc.args)...)
		if code != tc.code || !strings.Contains(stdout+stderr, tc.want) {
			t.Errorf("web %s: exit code %d, want %d and %q in\n%s%s", tc.args, code, tc.code, tc.want, stdout, stderr)
		}
	}
}
