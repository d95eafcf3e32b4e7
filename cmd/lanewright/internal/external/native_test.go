package external

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/cli"
	"github.com/lanewright/lanewright/internal/bench"
)

var needNative = flag.Bool("native", false, "build and run the programs of bench/native, all of them")

// toolchain is a directory of scripts in place of compilers.
type toolchain struct {
	t      *testing.T
	dir    string
	crates string
}

// fakeToolchain makes the crates and the only commands in the path: a g++, a rustc and a
// cargo. The programs that they build print the requested rows.
func fakeToolchain(t *testing.T) *toolchain {
	t.Helper()
	switch runtime.GOOS {
	case "windows", "plan9", "js", "wasip1":
		t.Skip("no shell scripts here")
	}
	f := &toolchain{t: t, dir: t.TempDir(), crates: t.TempDir()}
	t.Setenv("PATH", f.dir)
	f.compiler("")
	f.program("")
	for _, name := range []string{"rayon-1.6.1", "tokio-1.24.2"} {
		if err := os.Mkdir(filepath.Join(f.crates, name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func (f *toolchain) script(name, text string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte("#!/bin/sh\n"+text), 0o777); err != nil {
		f.t.Fatal(err)
	}
}

// compiler makes the compilers. Each of them executes the script first, with $tool and $*
// set, and then copies the program to the path in its arguments.
func (f *toolchain) compiler(first string) {
	for _, tool := range []string{"g++", "rustc", "cargo"} {
		f.script(tool, "tool="+tool+"\n"+first+`
case "$*" in *-E*) exit 0 ;; esac
for arg; do
	case $last in
	-o) out=$arg ;;
	--target-dir) out=$arg/release/native-${PWD##*/} && /bin/mkdir -p "$arg/release" ;;
	esac
	last=$arg
done
exec /bin/cp '`+f.dir+`/program' "$out"
`)
	}
}

// program makes the program that the compilers copy. The program executes the script first
// and then prints the rows. $impl, $workers and $runs are set, $* holds the names, and
// row NAME prints a row.
func (f *toolchain) program(first string) {
	f.script("program", `impl=${0##*/} impl=${impl#native-} workers=$2 runs=$4
shift 4
if [ "$1" = -quick ]; then shift; else echo "the flag -quick is missing" >&2; exit 2; fi
row() {
	echo '{"bench":"'$1'","impl":"'$impl'","workers":'$workers',"value":1.5,"unit":"ns/op","better":"less","min":1,"max":2,"runs":'$runs',"ratios":{"sequential":0.75},"note":"small"}'
}
`+first+`
for name; do row "$name"; done
`)
}

// nativeResult is the result of Native.Run.
type nativeResult struct {
	rows   []Row
	stderr string
	err    error
}

// names returns the rows as "impl workers bench".
func (r nativeResult) names() []string {
	var all []string
	for _, row := range r.rows {
		all = append(all, fmt.Sprint(row.Impl, " ", row.Workers, " ", row.Bench))
	}
	return all
}

func (f *toolchain) run(ctx context.Context, names ...string) nativeResult {
	return runNative(ctx, Native{Names: names, Workers: []int{1, 2}, Runs: 3, crates: f.crates})
}

func runNative(ctx context.Context, n Native) (r nativeResult) {
	var stderr strings.Builder
	n.quick = true
	n.Console = cli.NewConsole(&strings.Builder{}, &stderr)
	n.Row = func(line string, row Row) error {
		if !strings.Contains(line, `"bench":"`+row.Bench+`"`) {
			return fmt.Errorf("the line %q came with the row of %s", line, row.Bench)
		}
		r.rows = append(r.rows, row)
		return nil
	}
	r.err = n.Run(ctx)
	r.stderr = stderr.String()
	return r
}

// TestNative checks that each program runs the benchmarks that it has, with each number of
// workers.
func TestNative(t *testing.T) {
	r := fakeToolchain(t).run(t.Context(), "sched/wake", "fork-join/fib", "sched/yield")
	want := []string{
		"sequential-c++ 1 fork-join/fib",
		"openmp 1 fork-join/fib", "openmp 2 fork-join/fib",
		"tbb 1 fork-join/fib", "tbb 1 sched/wake", "tbb 2 fork-join/fib", "tbb 2 sched/wake",
		"sequential-rust 1 fork-join/fib",
		"rayon 1 fork-join/fib", "rayon 1 sched/wake", "rayon 2 fork-join/fib", "rayon 2 sched/wake",
		"tokio 1 fork-join/fib", "tokio 1 sched/wake", "tokio 2 fork-join/fib", "tokio 2 sched/wake",
	}
	if got := r.names(); r.err != nil || r.stderr != "" || !slices.Equal(got, want) {
		t.Fatalf("rows = %q\nwant   %q\nerror %v, stderr %q", got, want, r.err, r.stderr)
	}
	var table strings.Builder
	if err := WriteRows(&table, r.rows[1:2]); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"fork-join/fib", "openmp", "1.5 ns", "1 ns .. 2 ns", "0.75", "small"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("no %q in\n%s", want, table.String())
		}
	}
}

// TestNativeMissing checks that a missing requirement leaves out only the programs that
// need it, and that the message names the package to install.
func TestNativeMissing(t *testing.T) {
	const install = "on Debian: apt-get install -y --no-install-recommends "
	for _, tc := range []struct {
		name string
		drop func(f *toolchain)
		rows []string // the programs that run
		want []string
	}{
		{
			"header", func(f *toolchain) { f.compiler(`case "$*" in *-E*tbb/task_group.h*) exit 1 ;; esac`) },
			[]string{"sequential-c++", "openmp", "sequential-rust", "rayon", "tokio"},
			[]string{"tbb is left out: missing: <tbb/task_group.h>; " + install + "libtbb-dev\n"},
		},
		{
			"crate", func(f *toolchain) { os.Remove(filepath.Join(f.crates, "tokio-1.24.2")) },
			[]string{"sequential-c++", "openmp", "tbb", "sequential-rust", "rayon"},
			[]string{"tokio is left out: missing: the crate tokio; " + install + "librust-tokio-dev\n"},
		},
		{
			"crate of another name", func(f *toolchain) {
				os.Rename(filepath.Join(f.crates, "rayon-1.6.1"), filepath.Join(f.crates, "rayon-core-1.10.1"))
			},
			[]string{"sequential-c++", "openmp", "tbb", "sequential-rust", "tokio"},
			[]string{"rayon is left out: missing: the crate rayon; " + install + "librust-rayon-dev\n"},
		},
		{
			"cargo", func(f *toolchain) { os.Remove(filepath.Join(f.dir, "cargo")) },
			[]string{"sequential-c++", "openmp", "tbb", "sequential-rust"},
			[]string{"rayon is left out: missing: cargo; " + install + "cargo\n", "tokio is left out: missing: cargo; " + install + "cargo\n"},
		},
		{
			"g++", func(f *toolchain) { os.Remove(filepath.Join(f.dir, "g++")) },
			[]string{"sequential-rust", "rayon", "tokio"},
			[]string{
				"sequential-c++ is left out: missing: g++; " + install + "g++\n", "openmp is left out: missing: g++; " + install + "g++\n",
				"tbb is left out: missing: g++, <tbb/task_group.h>; " + install + "g++ libtbb-dev\n",
			},
		},
		{
			"everything", func(f *toolchain) {
				for _, tool := range []string{"g++", "rustc", "cargo"} {
					os.Remove(filepath.Join(f.dir, tool))
				}
				f.crates = f.t.TempDir()
			},
			nil,
			[]string{
				"sequential-rust is left out: missing: rustc; " + install + "rustc\n",
				"rayon is left out: missing: rustc, cargo, the crate rayon; " + install + "rustc cargo librust-rayon-dev\n",
			},
		},
		{
			"one does not compile", func(f *toolchain) {
				f.compiler(`case "$*" in *openmp.cpp*) echo "openmp.cpp:1: no such thing"; exit 1 ;; esac`)
			},
			[]string{"sequential-c++", "tbb", "sequential-rust", "rayon", "tokio"},
			[]string{"openmp is left out: g++: exit status 1\nopenmp.cpp:1: no such thing\n"},
		},
		{
			"nothing compiles", func(f *toolchain) { f.compiler(`case "$*" in *-E*) ;; *) echo "no $tool" >&2; exit 3 ;; esac`) },
			nil,
			[]string{"tbb is left out: g++: exit status 3\nno g++\n", "tokio is left out: cargo: exit status 3\nno cargo\n"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := fakeToolchain(t)
			tc.drop(f)
			r := f.run(t.Context(), "fork-join/tree")
			var ran []string
			for _, row := range r.rows {
				ran = append(ran, row.Impl)
			}
			if ran = slices.Compact(ran); !slices.Equal(ran, tc.rows) {
				t.Errorf("%q ran, want %q", ran, tc.rows)
			}
			switch {
			case len(tc.rows) > 0 && r.err != nil:
				t.Errorf("error %v, want none", r.err)
			case len(tc.rows) == 0 && (r.err == nil || r.err.Error() != "no native program could be built"):
				t.Errorf("error %v, want one that says that no program could be built", r.err)
			}
			for _, want := range tc.want {
				if !strings.Contains(r.stderr, want) {
					t.Errorf("no %q in\n%s", want, r.stderr)
				}
			}
			if got, want := strings.Count(r.stderr, " is left out"), len(programs())-len(tc.rows); got != want {
				t.Errorf("%d programs are left out, want %d:\n%s", got, want, r.stderr)
			}
		})
	}
}

// TestNativeFailure checks that Run reports a program that fails, runs the others, and
// returns an error.
func TestNativeFailure(t *testing.T) {
	for _, tc := range []struct{ name, does, want string }{
		{"crashes", `row "$1"; echo "tree: wrong result" >&2; exit 7`, "exit status 7: tree: wrong result"},
		{"is killed", `kill -KILL $$`, "signal: killed"},
		{"prints garbage", `echo "warning: slow"; exec /bin/sleep 600`, `"warning: slow" is not a row`},
		{"prints a line without end", `while :; do printf "%0999d" 1; done`, "token too long"},
		{"adds a field", `echo '{"bench":"fork-join/fib","speed":1}'`, `unknown field "speed"`},
		{"names another", `impl=rayon`, "is not a row of tbb"},
		{"has other workers", `workers=7`, "is not a row of tbb with"},
		{"has other runs", `runs=7`, "and 3 runs"},
		{"measures nothing", `echo '{"bench":"fork-join/fib","impl":"tbb","workers":'$workers',"value":0,"unit":"ns/op","better":"less","runs":3}'`, "is not a row of tbb"},
		{"repeats itself", `row "$1"`, `a row of "fork-join/fib", which was not requested or came before`},
		{"does something else", `row sched/yield`, `a row of "sched/yield", which was not requested`},
		{"stops early", `row "$1"; exit 0`, "no result of fork-join/tree"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := fakeToolchain(t)
			f.program("if [ $impl = tbb ]; then " + tc.does + "\nfi")
			r := f.run(t.Context(), "fork-join/tree", "fork-join/fib")
			if r.err == nil || r.err.Error() != "2 runs of native programs failed" {
				t.Errorf("error %v, want one for 2 failures", r.err)
			}
			if strings.Count(r.stderr, "failed: tbb, ") != 2 || strings.Count(r.stderr, tc.want) != 2 {
				t.Errorf("want two failures with %q in\n%s", tc.want, r.stderr)
			}
			others := slices.DeleteFunc(r.names(), func(row string) bool { return strings.HasPrefix(row, "tbb") })
			if len(others) != 2*(1+2+1+2+2) {
				t.Errorf("%d rows of the others, want 16: %q", len(others), others)
			}
		})
	}
}

// TestNativeInterrupt checks that the end of the context ends a running compiler or
// program, also one that ignores interrupts.
func TestNativeInterrupt(t *testing.T) {
	for _, tc := range []struct {
		name string
		set  func(f *toolchain, first string)
		trap string
	}{
		{"compiler", (*toolchain).compiler, ""},
		{"program", (*toolchain).program, ""},
		{"stubborn program", (*toolchain).program, "trap '' INT; "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := fakeToolchain(t)
			mark := filepath.Join(f.dir, "mark")
			tc.set(f, tc.trap+": >'"+mark+"'; exec /bin/sleep 600")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			go func() {
				for ctx.Err() == nil {
					if _, err := os.Stat(mark); err == nil {
						cancel()
					}
					runtime.Gosched()
				}
			}()
			r := f.run(ctx, "fork-join/fib")
			if !errors.Is(r.err, context.Canceled) || len(r.rows) > 0 || r.stderr != "" {
				t.Errorf("error %v, want canceled; rows %v, stderr %q", r.err, r.rows, r.stderr)
			}
		})
	}
}

// TestNativeCheckout checks that the sources are found from each directory of a checkout,
// and that outside a checkout the error says so.
func TestNativeCheckout(t *testing.T) {
	f := fakeToolchain(t)
	for _, dir := range []string{"../../../../bench", ".."} { // bench has a go.mod of its own
		t.Chdir(dir)
		if r := f.run(t.Context(), "fork-join/fib"); r.err != nil || r.stderr != "" {
			t.Errorf("in %s: error %v, stderr %q", dir, r.err, r.stderr)
		}
	}
	for _, tc := range []struct{ dir, bench, want string }{
		{"cmd/lanewright", "sched/yield", "none of these benchmarks has a native program: sched/yield"},
		{t.TempDir(), "fork-join/fib", "built from a checkout of lanewright"},
	} {
		t.Chdir(tc.dir)
		r := f.run(t.Context(), tc.bench)
		var usage cli.UsageError
		if !errors.As(r.err, &usage) || !strings.Contains(r.err.Error(), tc.want) {
			t.Errorf("error %v, want a usage error with %q", r.err, tc.want)
		}
	}
}

// TestNativePrograms checks that the real programs have their benchmarks. It builds them
// and runs them at small sizes; each program checks its results.
func TestNativePrograms(t *testing.T) {
	if !*needNative {
		t.Skip("without -native")
	}
	var names []string
	all := programs()
	for _, p := range all {
		names = append(names, p.names...)
	}
	r := runNative(t.Context(), Native{Names: names, Workers: []int{1, 2}, Runs: 1})
	built := len(all) - strings.Count(r.stderr, " is left out")
	if built < len(all) {
		t.Fatalf("not all programs could be built:\n%s", r.stderr)
	}
	if r.err != nil {
		t.Fatalf("%v\n%s", r.err, r.stderr)
	}
	for _, row := range r.rows {
		plain := strings.HasPrefix(row.Impl, "sequential")
		if _, compared := row.Ratios[sequential]; compared != (strings.HasPrefix(row.Bench, "fork-join/") && row.Unit == bench.NsPerOp && !plain) {
			t.Errorf("ratios of %s, %s: %v", row.Impl, row.Bench, row.Ratios)
		}
		if (row.P99 != nil) != (row.Bench == "sched/wake") || row.Min > row.Value || row.Value > row.Max {
			t.Errorf("row %+v", row)
		}
	}
}
