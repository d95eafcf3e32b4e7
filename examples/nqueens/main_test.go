package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lanewright/lanewright/examples/internal/cmdtest"
	"github.com/lanewright/lanewright/sched"
)

func TestMain(m *testing.M) { cmdtest.Main(m, main) }

func scheduler(t *testing.T, workers int) *sched.Scheduler {
	t.Helper()
	s, err := sched.New(sched.Config{MaxWorkers: workers})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// known holds the numbers of solutions for 1, 2, 3, ... queens (OEIS A000170).
var known = []int64{1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680}

func TestSolutions(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		s := scheduler(t, workers)
		for i, want := range known {
			if got, err := solutions(t.Context(), s, i+1); got != want || err != nil {
				t.Errorf("%d queens, %d workers: %d solutions, %v, want %d", i+1, workers, got, err, want)
			}
		}
	}
}

// TestShared checks that the result is right when another worker has taken a fork. It
// repeats the search until that has happened. It does so for one second at most.
func TestShared(t *testing.T) {
	s := scheduler(t, 2)
	for deadline := time.Now().Add(time.Second); s.Stats().Promoted == 0 && time.Now().Before(deadline); {
		n := len(known)
		if got, err := solutions(t.Context(), s, n); got != known[n-1] || err != nil {
			t.Fatalf("%d queens: %d solutions, %v, want %d", n, got, err, known[n-1])
		}
	}
}

// TestSearch checks that the result is that of a search that tries every square and has no
// sets.
func TestSearch(t *testing.T) {
	var place func(n int, rows []int) int64
	place = func(n int, rows []int) (count int64) {
		if len(rows) == n {
			return 1
		}
	columns:
		for c := range n {
			for r, q := range rows {
				if distance := len(rows) - r; q == c || q == c-distance || q == c+distance {
					continue columns
				}
			}
			count += place(n, append(rows, c))
		}
		return count
	}
	s := scheduler(t, 2)
	for n := 1; n <= 8; n++ {
		got, err := solutions(t.Context(), s, n)
		if want := place(n, nil); got != want || err != nil {
			t.Errorf("%d queens: %d solutions, %v, want %d", n, got, err, want)
		}
	}
}

// TestInterrupted checks that the end of the context ends a search that would take years.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := solutions(ctx, scheduler(t, 2), 27); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
	}
}

func TestProgram(t *testing.T) {
	for _, tc := range []struct {
		args string
		code int
		want string // a part of the output
	}{
		{"-n 8 -workers 2", 0, "8 queens: 92 solutions\n"},
		{"-n 8 -workers 3", 0, "3 workers"},
		{"-n 0", 1, "-n is 0"},
		{"-n 28", 1, "-n is 28"},
		{"-workers -1", 1, "MaxWorkers"},
		{"-n 4 8", 2, "usage: nqueens"},
		{"-h", 0, "how many queens"},
	} {
		stdout, stderr, code := cmdtest.Run(t, strings.Fields(tc.args)...)
		if code != tc.code || !strings.Contains(stdout+stderr, tc.want) {
			t.Errorf("nqueens %s: exit code %d, want %d and %q in\n%s%s", tc.args, code, tc.code, tc.want, stdout, stderr)
		}
	}
}
