// Command factor prints the prime factors of numbers, in the order in which they are
// given. Each number is a call of a pool, which has a timeout.
//
//	go run ./examples/factor 42 9007199254740993
//	seq 1 1000 | go run ./examples/factor -timeout 100ms
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/lanewright/lanewright/pool"
)

func main() {
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: factor [flags] [number ...]\nWithout numbers, factor reads them from the standard input.")
		flag.PrintDefaults()
	}
	lanes := flag.Int("lanes", runtime.GOMAXPROCS(0), "how many numbers are factored at once")
	timeout := flag.Duration("timeout", 5*time.Second, "how long one number may take, the time in the queue included; 0 means no limit")
	flag.Parse()
	in := io.Reader(os.Stdin)
	if flag.NArg() > 0 {
		in = strings.NewReader(strings.Join(flag.Args(), " "))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	if err := run(ctx, in, *lanes, *timeout); err != nil {
		fmt.Fprintln(os.Stderr, "factor:", err)
		os.Exit(1)
	}
}

// inFlight is the largest number of calls without a printed answer. It bounds the
// memory for any length of the input, because the reader waits for the printer.
const inFlight = 64

// run prints the factors of the numbers in the input. When ctx ends it reads no
// further, and finishes the calls that the pool has accepted.
func run(ctx context.Context, in io.Reader, lanes int, timeout time.Duration) error {
	if lanes < 1 || timeout < 0 {
		return errors.New("-lanes must be at least 1, and -timeout must not be negative")
	}
	var h pool.Handlers
	factors := pool.Register(&h, "factors", factorize, pool.TaskOptions{Abortable: true})
	p, err := pool.New(&h, pool.Config{
		Lanes:   lanes,
		Timeout: timeout,
		// A call holds an abort slot until its handler has returned. After a timeout
		// the answer comes first, and the handler may hold its slot a little longer.
		// Each lane has one such handler at most.
		AbortCapacity: inFlight + lanes,
	})
	if err != nil {
		return err
	}
	defer func() { _ = p.Close() }() // without effect after Shutdown

	c := caller{factors: factors, answers: make(chan answer, inFlight-2)} // 1 is being sent, and 1 printed
	go c.callAll(ctx, in)
	failed := 0
	for a := range c.answers {
		line, err := a.wait()
		if err != nil {
			failed++
			fmt.Fprintln(os.Stderr, "factor:", err)
			continue
		}
		fmt.Println(line)
	}
	if err := p.Shutdown(context.Background()); err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("interrupted: %w", context.Cause(ctx))
	case c.err != nil:
		return c.err
	case failed > 0:
		return fmt.Errorf("%d of the numbers have no answer", failed)
	}
	return nil
}

// caller makes the calls.
type caller struct {
	factors *pool.Func[uint64, []uint64]
	answers chan answer // in the order of the input; closed at its end
	err     error       // of the input; valid when answers is closed
}

// callAll makes a call for each number of the input, until ctx ends.
func (c *caller) callAll(ctx context.Context, in io.Reader) {
	defer close(c.answers)
	words := make(chan string)
	go func() { // a goroutine of its own, because ctx does not end a read
		defer close(words)
		s := bufio.NewScanner(in)
		s.Split(bufio.ScanWords)
		for s.Scan() {
			select {
			case words <- s.Text():
			case <-ctx.Done():
				return
			}
		}
		c.err = s.Err()
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case word, ok := <-words:
			if !ok {
				return
			}
			a := answer{word: word}
			n, err := strconv.ParseUint(word, 10, 64)
			if err == nil {
				// Not ctx: an interrupt ends the input, and not the calls.
				a.future = c.factors.Go(context.Background(), n)
			}
			c.answers <- a
		}
	}
}

// answer is the answer to one word of the input. It may not be there yet.
type answer struct {
	word   string
	future *pool.Future[[]uint64] // nil: the word is no number
}

// wait waits for the answer and returns it as a line.
func (a answer) wait() (string, error) {
	if a.future == nil {
		return "", fmt.Errorf("%q is not a number from 0 to 2^64-1", a.word)
	}
	factors, err := a.future.Wait(context.Background())
	switch {
	case err == nil:
		line := a.word + ":"
		for _, f := range factors {
			line += " " + strconv.FormatUint(f, 10)
		}
		return line, nil
	case errors.Is(err, context.DeadlineExceeded) && errors.Is(err, pool.ErrNotStarted):
		return "", fmt.Errorf("%s: timeout in the queue", a.word)
	case errors.Is(err, context.DeadlineExceeded):
		return "", fmt.Errorf("%s: timeout", a.word)
	}
	return "", fmt.Errorf("%s: %w", a.word, err)
}

// factorize is the handler. It returns the prime factors of n in ascending order; 0
// and 1 have none. It tries all divisors, so a number with two large factors takes
// seconds. After a timeout it returns early, because its lane is occupied until then.
func factorize(ctx context.Context, n uint64) (factors []uint64, err error) {
	if n < 2 {
		return nil, nil
	}
	aborted := pool.AbortSignalOf(ctx)
	for d := uint64(2); d <= n/d; d += 1 + d&1 { // 2, 3, 5, 7, 9, ...
		for n%d == 0 {
			factors = append(factors, d)
			n /= d
		}
		if d&0xffff == 1 && aborted.Aborted() {
			return nil, context.Cause(ctx)
		}
	}
	if n > 1 {
		factors = append(factors, n)
	}
	return factors, nil
}
