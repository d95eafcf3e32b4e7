package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lanewright/lanewright/examples/internal/cmdtest"
)

func TestMain(m *testing.M) { cmdtest.Main(m, main) }

func TestFactorize(t *testing.T) {
	for n, want := range map[uint64][]uint64{
		0: nil, 1: nil, 2: {2}, 3: {3}, 4: {2, 2}, 9: {3, 3}, 15: {3, 5}, 97: {97},
		1 << 63:          slices.Repeat([]uint64{2}, 63),
		1<<64 - 1:        {3, 5, 17, 257, 641, 65537, 6700417},
		65521 * 65521:    {65521, 65521},
		9007199254740993: {3, 107, 28059810762433},
	} {
		got, err := factorize(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("factorize(%d) = %v, want %v", n, got, want)
		}
	}
}

// TestFactorizeAll: all small numbers have the factors that a sieve finds.
func TestFactorizeAll(t *testing.T) {
	const n = 5000
	least := make([]uint64, n) // the least factor of each number
	for d := uint64(2); d < n; d++ {
		for m := d; m < n; m += d {
			if least[m] == 0 {
				least[m] = d
			}
		}
	}
	for i := uint64(1); i < n; i++ {
		var want []uint64
		for m := i; m > 1; m /= least[m] {
			want = append(want, least[m])
		}
		if got, err := factorize(t.Context(), i); err != nil || !slices.Equal(got, want) {
			t.Errorf("factorize(%d) = %v, %v, want %v", i, got, err, want)
		}
	}
}

// hard is the largest prime below 2^64. factorize tries 2^31 divisors, for seconds.
const hard = "18446744073709551557"

// TestInterrupted: the end of the context ends an input that has no end.
func TestInterrupted(t *testing.T) {
	in, write := io.Pipe()
	defer in.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for range 2 * inFlight {
			if _, err := io.WriteString(write, "12\n"); err != nil {
				return
			}
		}
		cancel()
	}()
	if err := run(ctx, in, 2, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestProgram(t *testing.T) {
	var many, manyFactors strings.Builder
	for i := range 3 * inFlight { // more than are in flight at once
		n := strconv.Itoa(i * 2)
		many.WriteString(n + " ")
		factors, err := factorize(t.Context(), uint64(i*2))
		if err != nil {
			t.Fatal(err)
		}
		manyFactors.WriteString(n + ":")
		for _, f := range factors {
			manyFactors.WriteString(" " + strconv.FormatUint(f, 10))
		}
		manyFactors.WriteByte('\n')
	}
	for _, tc := range []struct {
		name           string
		args           string
		code           int
		stdout, stderr string // all of the one, a part of the other
	}{
		{"numbers", "42 1 97", 0, "42: 2 3 7\n1:\n97: 97\n", ""},
		{"in order", "-lanes 3 " + many.String(), 0, manyFactors.String(), ""},
		{"timeout", "-lanes 2 -timeout 500ms 12 " + hard, 1, "12: 2 2 3\n", hard + ": timeout\n"},
		{"timeout in the queue", "-lanes 1 -timeout 50ms" + strings.Repeat(" "+hard, 10), 1, "", ": timeout in the queue\n"},
		{"not a number", "1 x 18446744073709551616 3", 1, "1:\n3: 3\n", "2 of the numbers have no answer\n"},
		{"no input", "", 0, "", ""},
		{"no lanes", "-lanes 0", 1, "", "-lanes must be at least 1"},
		{"too many lanes", "-lanes 5000 1", 1, "", "Lanes"},
		{"bad flag", "-timeout soon", 2, "", "invalid value"},
		{"help", "-h", 0, "", "usage: factor"},
	} {
		stdout, stderr, code := cmdtest.Run(t, strings.Fields(tc.args)...)
		if code != tc.code || stdout != tc.stdout || !strings.Contains(stderr, tc.stderr) {
			t.Errorf("%s: exit code %d, want %d, and got\n%swant\n%sand %q in\n%s", tc.name, code, tc.code, stdout, tc.stdout, tc.stderr, stderr)
		}
	}
}
