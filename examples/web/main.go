// Command web is a web server that computes. Each request is a call of a pool, which
// bounds the calls that run, the calls that wait and the time of each.
//
//	go run ./examples/web -addr localhost:8080
//	curl -i localhost:8080/prime/1000000
//	curl -i localhost:8080/prime/$(seq -s '' 350)
//	curl localhost:8080/metrics
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/lanewright/lanewright/pool"
)

func main() {
	var c config
	flag.IntVar(&c.lanes, "lanes", runtime.GOMAXPROCS(0), "how many requests compute at once")
	flag.IntVar(&c.backlog, "backlog", 64, "how many requests may wait; the server refuses more with status 503")
	flag.DurationVar(&c.timeout, "timeout", 2*time.Second, "how long a request may take, the time in the queue included")
	flag.DurationVar(&c.grace, "grace", 10*time.Second, "how long a shutdown waits for the requests that are there")
	addr := flag.String("addr", "localhost:8080", "the address to listen on")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: web [flags]")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	if err := run(ctx, *addr, c); err != nil {
		fmt.Fprintln(os.Stderr, "web:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends.
func run(ctx context.Context, addr string, c config) error {
	s, err := newServer(c, nextPrime)
	if err != nil {
		return err
	}
	defer func() { _ = s.pool.Close() }() // without effect after Shutdown
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	slog.Info("listening", "addr", l.Addr().String())
	return s.serve(ctx, l)
}

// config is what the flags set.
type config struct {
	lanes, backlog int
	timeout, grace time.Duration
}

func (c config) check() error {
	switch {
	case c.lanes < 1:
		return fmt.Errorf("-lanes is %d: it must be 1 or more", c.lanes)
	case c.backlog < 0:
		return fmt.Errorf("-backlog is %d: it must not be negative", c.backlog)
	case c.timeout <= 0 || c.grace <= 0:
		return errors.New("-timeout and -grace must be positive")
	}
	return nil
}

// server answers requests with the results of calls.
type server struct {
	http.Handler
	config config
	pool   *pool.Pool
	prime  *pool.Func[*big.Int, *big.Int]
}

// newServer returns a server whose requests for a prime are calls of task.
func newServer(c config, task func(context.Context, *big.Int) (*big.Int, error)) (*server, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	backlog := c.backlog
	if backlog == 0 {
		backlog = pool.NoBacklog // 0 would be the default
	}
	var h pool.Handlers
	prime := pool.Register(&h, "prime", task, pool.TaskOptions{Timeout: c.timeout})
	p, err := pool.New(&h, pool.Config{Lanes: c.lanes, Backlog: backlog})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	s := &server{Handler: mux, config: c, pool: p, prime: prime}
	mux.HandleFunc("GET /prime/{n}", s.getPrime)
	mux.HandleFunc("GET /metrics", s.getMetrics)
	return s, nil
}

// serve answers the requests that come to l, until ctx ends. Then it finishes the
// requests that are there.
func (s *server) serve(ctx context.Context, l net.Listener) error {
	// The contexts of requests do not come from ctx, because a signal ends the server
	// and not its requests.
	hs := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      s.config.timeout + 10*time.Second, // it begins before the call
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
	}
	served := make(chan error, 1)
	go func() { served <- hs.Serve(l) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	slog.Info("shutting down", "cause", context.Cause(ctx))
	grace, cancel := context.WithTimeout(context.Background(), s.config.grace)
	defer cancel()
	// The HTTP server is first, because the pool would refuse the calls of its requests.
	if err := hs.Shutdown(grace); err != nil {
		// The end of the connections ends the contexts of their requests.
		return errors.Join(err, hs.Close(), s.pool.Close())
	}
	return s.pool.Shutdown(grace)
}

// maxDigits bounds the memory of a request, and the time for which a lane may go on
// after a timeout: nextPrime does not stop within a candidate.
const maxDigits = 1000

func (s *server) getPrime(w http.ResponseWriter, r *http.Request) {
	text := r.PathValue("n")
	if len(text) > maxDigits {
		http.Error(w, fmt.Sprintf("the number has more than %d digits", maxDigits), http.StatusBadRequest)
		return
	}
	n, ok := new(big.Int).SetString(text, 10)
	if !ok || n.Sign() < 0 {
		http.Error(w, "not a number", http.StatusBadRequest)
		return
	}
	// Call would wait when the backlog is full. The context of the request ends the call
	// when the client leaves.
	prime, err := s.prime.TryCall(r.Context(), n)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	_, _ = fmt.Fprintln(w, prime) // fails when the client has left
}

// fail answers a request whose call ended with err.
func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) {
	var failed *pool.RemoteError
	switch {
	case errors.As(err, &failed) && failed.Type == "panic":
		// The request waits for its call, so Config.OnEnd does not get the panic.
		slog.Error("a handler has panicked", "path", r.URL.Path, "error", err, "stack", failed.Stack)
		http.Error(w, "internal error", http.StatusInternalServerError)
	case r.Context().Err() != nil:
		// The client has left, so there is no answer. The metrics count the call.
	case errors.Is(err, pool.ErrNotStarted):
		// The backlog was full, which is ErrBacklogFull, or the time was over in the
		// queue. The handler was not entered, so the client may repeat the request,
		// whatever the handler does.
		w.Header().Set("Retry-After", "1")
		http.Error(w, "the server is busy", http.StatusServiceUnavailable)
	case errors.Is(err, pool.ErrClosed):
		// The grace was over before the handler returned.
		http.Error(w, "the server shuts down", http.StatusServiceUnavailable)
	case errors.Is(err, context.DeadlineExceeded):
		// This is the error of the pool, or that of a handler that saw the end of its
		// context a moment earlier.
		http.Error(w, "the request took too long", http.StatusGatewayTimeout)
	default:
		slog.Error("a call has failed", "path", r.URL.Path, "error", err)
		http.Error(w, "internal error", http.StatusInternalServerError)
	}
}

// getMetrics prints counters of the pool in the text format of Prometheus. Package
// pool/poolvar publishes all of them as JSON.
func (s *server) getMetrics(w http.ResponseWriter, _ *http.Request) {
	m := s.pool.Metrics()
	overdue := 0 // handlers that have not returned after the end of their requests
	for _, l := range m.Lanes {
		overdue += l.Overdue
	}
	var b bytes.Buffer
	b.WriteString("# TYPE calls gauge\n")
	fmt.Fprintf(&b, "calls{state=\"waiting\"} %d\n", m.Waiting)
	fmt.Fprintf(&b, "calls{state=\"running\"} %d\n", m.InFlight)
	fmt.Fprintf(&b, "calls{state=\"overdue\"} %d\n", overdue)
	b.WriteString("# TYPE calls_ended_total counter\n")
	for _, e := range []struct {
		cause pool.Cause
		count uint64
	}{
		{pool.CauseReturned, m.Ends.Returned},
		{pool.CauseFailed, m.Ends.Failed},
		{pool.CausePanicked, m.Ends.Panicked},
		{pool.CauseContextEnded, m.Ends.ContextEnded},
		{pool.CauseTimedOut, m.Ends.TimedOut},
		{pool.CauseRefused, m.Ends.Refused},
		{pool.CausePoolClosed, m.Ends.PoolClosed},
	} {
		fmt.Fprintf(&b, "calls_ended_total{cause=%q} %d\n", e.cause, e.count)
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	_, _ = w.Write(b.Bytes()) // fails when the client has left
}

// nextPrime is the handler of a call. It returns the first number from n on that passes
// the Baillie-PSW test. No composite number is known that does. When ctx ends it returns
// early, because its lane is occupied until then.
func nextPrime(ctx context.Context, n *big.Int) (*big.Int, error) {
	two := big.NewInt(2)
	if n.Cmp(two) <= 0 {
		return two, nil
	}
	p := new(big.Int).SetBit(n, 0, 1)
	for !p.ProbablyPrime(0) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		p.Add(p, two)
	}
	return p, nil
}
