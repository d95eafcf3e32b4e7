// Command nqueens counts the ways to place n queens on a board of n by n squares so
// that none attacks another.
//
//	go run ./examples/nqueens -n 14
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/lanewright/lanewright/sched"
)

func main() {
	n := flag.Int("n", 13, "how many queens, and rows, and columns: 1 to 27")
	workers := flag.Int("workers", 0, "how many workers search; 0 means one for each processor")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: nqueens [flags]")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *n, *workers); err != nil {
		fmt.Fprintln(os.Stderr, "nqueens:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, n, workers int) error {
	if n < 1 || n > 27 {
		return fmt.Errorf("-n is %d: it must be 1 to 27", n)
	}
	s, err := sched.New(sched.Config{MaxWorkers: workers})
	if err != nil {
		return err
	}
	defer func() { _, _ = s.Close() }() // ends the workers
	start := time.Now()
	count, err := solutions(ctx, s, n)
	if err != nil {
		return err
	}
	fmt.Printf("%d queens: %d solutions\n", n, count)
	fmt.Printf("%.1f ms, %d workers\n", time.Since(start).Seconds()*1000, s.MaxWorkers())
	return nil
}

// board is a state of the search, which fills one row after another. The sets are bit
// sets of columns of the next row.
type board struct {
	try         uint32 // columns of this row that are not tried yet
	open        uint32 // columns without a queen
	left, right uint32 // columns that are attacked along a diagonal
}

func empty(n int) board {
	all := uint32(1)<<n - 1
	return board{try: all, open: all}
}

// first puts a queen on the first column to try, and continues with the next row.
func (b board) first() board {
	queen := b.try & -b.try
	b.open &^= queen
	b.left = (b.left | queen) << 1
	b.right = (b.right | queen) >> 1
	b.try = b.open &^ (b.left | b.right)
	return b
}

// rest leaves out the first column to try.
func (b board) rest() board {
	b.try &= b.try - 1
	return b
}

// solutions counts the solutions with n queens, or returns the cause when ctx ends.
func solutions(ctx context.Context, s *sched.Scheduler, n int) (int64, error) {
	return sched.ForkJoinContext(ctx, s, search, empty(n))
}

// search counts the solutions that b leads to. It searches those with a queen on the
// first column to try, and forks the search of the rest. The tree of forks is very
// uneven, and needs no tuning: a worker without work takes the oldest fork of another.
//
// A board holds no pointers, so this is the fastest form: all calls but Promote are
// inlined.
func search(f *sched.Forks[board, int64], b board) int64 {
	if b.try == 0 {
		return b.solved()
	}
	if f.Cancelled() {
		return 0 // not used: ForkJoinContext returns an error
	}
	f.Push(b.rest())
	if f.Wanted() {
		f.Promote()
	}
	count := search(f, b.first())
	if f.TakeBack() {
		return count + search(f, b.rest())
	}
	return count + f.Await()
}

// solved returns 1 when every column has its queen, and 0 otherwise.
func (b board) solved() int64 {
	if b.open == 0 {
		return 1
	}
	return 0
}
