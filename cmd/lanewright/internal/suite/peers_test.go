package suite

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/cli"
	"github.com/lanewright/lanewright/internal/bench"
)

// TestPeersArguments checks the arguments of the program of bench/.
func TestPeersArguments(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"peers", []string{"-peers"}, "-ours=false -runs 6 -workers 1,2"},
		{"all", []string{"-peers", "-only", "sched/wake", "-runs", "3", "-workers", "2", "-json", "-html", "x"}, "-ours=false -runs 3 -workers 2 -only sched/wake -json -html x -with rows"},
		{"page only", []string{"-html", "x"}, "-html x -in rows"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o, err := Parse(tc.args, benchmarks(smallSizes()))
			if err != nil {
				t.Fatal(err)
			}
			if got := o.request().Args("rows"); !slices.Equal(got, strings.Fields(tc.want)) {
				t.Errorf("arguments = %q, want %s", got, tc.want)
			}
		})
	}
}

// TestPage checks that the page shows the rows. It builds the program of bench/.
func TestPage(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a program with many dependencies")
	}
	page := filepath.Join(t.TempDir(), "x.html")
	if _, stderr, err := callSuite(t.Context(), []*bench.Benchmark{fake("x/one", nil)}, "-runs", "1", "-workers", "1", "-html", page); err != nil {
		t.Fatal(err, stderr)
	}
	text, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(text), "x/one") || !strings.Contains(string(text), "<svg") {
		t.Errorf("the page is %.200q, %v", text, err)
	}
}

// TestPageRefused checks that an unwritable page is an error before the first build and
// the first measurement, and that a writable page leaves no file before them.
func TestPageRefused(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir) // no checkout
	never := fake("x/never", func(*bench.Meter) error { t.Error("a benchmark was measured"); return nil })
	for _, tc := range []struct{ name, page, want string }{
		{"no directory", filepath.Join(dir, "none", "x.html"), "-html: open"},
		{"directory", dir, "-html: open"},
		{"good", filepath.Join(dir, "x.html"), "run this inside one"},
	} {
		_, _, err := callSuite(t.Context(), []*bench.Benchmark{never}, "-runs", "1", "-workers", "1", "-html", tc.page)
		var usage cli.UsageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want a usage error with %q", tc.name, err, tc.want)
		}
	}
	if left, err := os.ReadDir(dir); len(left) != 0 || err != nil {
		t.Errorf("files in the directory: %v, %v", left, err)
	}
}

// TestPeersNeedCheckout checks the error of -peers and -html outside a checkout.
func TestPeersNeedCheckout(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, flag := range [][]string{{"-peers"}, {"-html", "x"}} {
		code, stdout, stderr := call(t, append([]string{"bench"}, flag...)...)
		if code != cli.ExitUsage || stdout != "" || !strings.Contains(stderr, "run this inside one") {
			t.Errorf("%q: code %d, stdout %q, stderr %q", flag, code, stdout, stderr)
		}
	}
}
