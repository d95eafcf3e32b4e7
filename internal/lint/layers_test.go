package lint_test

import (
	"slices"
	"strings"
	"testing"
)

// layers lists the packages of this module that each package of the root module may
// import outside tests. An import that is not on the list points upward or sideways. The
// graph:
//
//	interleave <- internal/atomix <- sync <- mpsc <- runqueue <- sched <- par, pool
//	internal/park <- internal/self <- sched, pool
//	sync <- transport <- pool
//	mpsc, internal/child, internal/process <- pool
//	sync <- internal/futex
//	transport, internal/child, internal/shm, internal/futex <- internal/process
//	internal/crash <- transport, internal/child, internal/shm, internal/process, pool
//
// stress is above the public packages, and examples are above sched, par and pool. fuzz,
// which has tests only, and cmd are above all packages. A new arrow is a decision, and
// docs/ARCHITECTURE.md changes with it.
var layers = map[string][]string{
	"interleave": {},

	"internal/invariant": {},
	"internal/crash":     {},
	"internal/child":     {"internal/crash"},
	"internal/proctest":  {},
	"internal/cpu":       {},
	"internal/race":      {},
	"internal/lint":      {},
	"internal/atomix":    {"interleave"},
	"internal/park":      {"interleave", "internal/atomix", "internal/cpu"},
	"internal/self":      {"interleave", "internal/atomix", "internal/invariant", "internal/park"},
	"internal/tick":      {},
	"internal/shm":       {"internal/crash"},
	"internal/futex":     {"sync", "internal/atomix", "internal/park"},
	"internal/process":   {"transport", "internal/atomix", "internal/child", "internal/crash", "internal/futex", "internal/shm"},

	"sync":      {"internal/atomix", "internal/cpu", "internal/invariant", "internal/park", "internal/race"},
	"mpsc":      {"sync", "internal/atomix", "internal/invariant", "internal/race"},
	"runqueue":  {"sync", "mpsc", "internal/atomix", "internal/invariant", "internal/race"},
	"sched":     {"sync", "mpsc", "runqueue", "internal/atomix", "internal/cpu", "internal/invariant", "internal/park", "internal/race", "internal/self", "internal/tick"},
	"par":       {"sync", "mpsc", "runqueue", "sched", "internal/atomix", "internal/cpu", "internal/invariant", "internal/park", "internal/race"},
	"transport": {"sync", "internal/atomix", "internal/crash", "internal/cpu", "internal/invariant", "internal/park", "internal/race"},
	"pool":      {"sync", "mpsc", "sched", "transport", "internal/child", "internal/crash", "internal/process", "internal/atomix", "internal/cpu", "internal/invariant", "internal/park", "internal/race", "internal/self"},

	"pool/poolvar": {"pool"},

	"stress": {"sync", "mpsc", "runqueue", "sched", "par", "transport", "pool", "stress/internal/harness", "stress/lanelaw", "stress/queuelaw", "stress/schedlaw"},

	"stress/queuelaw":         {"mpsc", "runqueue", "stress/internal/harness"},
	"stress/schedlaw":         {"sched", "stress/internal/harness"},
	"stress/lanelaw":          {"transport", "pool", "stress/internal/harness"},
	"stress/internal/harness": {},
	"stress/internal/lawtest": {"stress/internal/harness"},

	"fuzz": {},

	// Tests that span packages, and the commands that run them.
	"internal/linear":   {},
	"internal/program":  {},
	"internal/models":   {},
	"internal/patience": {},
	"internal/mutants":  {"internal/patience"},

	// The prose of the tree.
	"internal/prose":       {"internal/prose/style"},
	"internal/prose/style": {},

	// The parts of the program.
	"internal/qsort":   {},
	"internal/kernel":  {},
	"internal/rusage":  {},
	"internal/merkle":  {},
	"internal/bench":   {"internal/rusage", "internal/qsort"},
	"internal/traffic": {"internal/bench"},
	"internal/helper":  {"internal/child"},

	// The program: main holds the table of commands.
	"cmd/lanewright":     {"stress", program + "cli", program + "remote", program + "suite", program + "tour", program + "soak", program + "version"},
	program + "cli":      {},
	program + "remote":   {"pool", "internal/bench", "internal/child", "internal/helper", "internal/shm"},
	program + "version":  {program + "cli"},
	program + "workload": {"sched", "internal/qsort"},
	program + "external": {program + "cli", "internal/bench"},
	program + "soak":     {program + "cli", program + "version", "stress"},
	program + "suite":    {program + "cli", program + "remote", program + "version", program + "workload", program + "external", "runqueue", "sched", "par", "transport", "pool", "internal/bench", "internal/helper", "internal/kernel", "internal/qsort", "internal/traffic"},
	program + "tour":     {program + "cli", program + "remote", program + "version", program + "workload", "sched", "pool", "internal/bench", "internal/merkle", "internal/qsort", "internal/rusage"},

	// Programs to copy from. They import the packages that other modules can import.
	"examples/internal/cmdtest": {},

	"examples/factor":     {"examples/internal/cmdtest", "pool"},
	"examples/mandelbrot": {"examples/internal/cmdtest", "sched", "par"},
	"examples/nqueens":    {"examples/internal/cmdtest", "sched"},
	"examples/quicksort":  {"examples/internal/cmdtest", "sched"},
	"examples/treewalk":   {"examples/internal/cmdtest", "sched"},
	"examples/web":        {"examples/internal/cmdtest", "pool"},
	"examples/wordcount":  {"examples/internal/cmdtest", "sched", "par"},
}

// program is the folder of the packages of cmd/lanewright.
const program = "cmd/lanewright/internal/"

// everyPackage lists the packages of the library, which programs may import.
var everyPackage = []string{
	"interleave",
	"internal/atomix", "internal/cpu", "internal/invariant", "internal/park", "internal/race", "internal/self",
	"sync", "mpsc", "runqueue", "sched", "par", "transport", "pool",
}

// notBuilt are the planned packages, which hold a package comment only. The first code of
// one takes it off this list.
var notBuilt = []string{}

// optional are the packages of the graph that may be missing.
var optional = []string{"internal/race"}

// The modules that may be imported in addition to the standard library.
var (
	modules     = []string{"golang.org/x/sys", "github.com/klauspost/cpuid/v2"}
	testModules = []string{"pgregory.net/rapid", "github.com/anishathalye/porcupine"}
)

// forbidden lists the imports that a package never has, and why.
var forbidden = map[string]map[string]string{
	"transport": {"net": "lanes stay on one host (K-126)"},
	"pool":      {"net/http": "the expvar helper is a package of its own"},
	"mpsc":      noBlocking,
	"runqueue":  noBlocking,
}

// noBlocking lists the imports that can block a thread, which no queue has (Z-035).
var noBlocking = map[string]string{
	"time":                        "queue operations never wait (Z-035)",
	"syscall":                     "queue operations make no system call (Z-035)",
	"os":                          "queue operations make no system call (Z-035)",
	"golang.org/x/sys/unix":       "queue operations make no system call (Z-035)",
	"golang.org/x/sys/windows":    "queue operations make no system call (Z-035)",
	module + "/internal/park":     "queue operations never park (Z-035)",
	"context":                     "queue operations never wait (Z-035)",
	"golang.org/x/sync/semaphore": "queue operations never wait (Z-035)",
}

// badImports checks the imports of one file against the graph.
func badImports(s *source) []string {
	var bad []string
	allowed := layers[s.dir]
	for _, spec := range s.ast.Imports {
		imp := importPath(spec)
		first, _, _ := strings.Cut(imp, "/")
		rel, ours := strings.CutPrefix(imp, module+"/")
		switch {
		case imp == "C":
			bad = append(bad, s.line(spec)+": uses cgo")
		case ours && s.test:
			// A test may import the explorer, the leaves, its own package, and
			// the packages below it. Tests that span packages import all, and start processes.
			up := !slices.Contains(allowed, rel) && rel != s.dir && rel != "interleave" &&
				!strings.HasPrefix(rel, "internal/") && !strings.HasPrefix(rel, "stress/internal/")
			if slices.Contains([]string{"fuzz", "stress", "internal/linear", "internal/program"}, s.dir) {
				up = !slices.Contains(everyPackage, rel) && rel != s.dir && rel != "internal/proctest"
			}
			if up {
				bad = append(bad, s.line(spec)+": the test imports "+rel+", which is not below "+s.dir)
			}
		case ours && !slices.Contains(allowed, rel):
			bad = append(bad, s.line(spec)+": imports "+rel+", which is not below "+s.dir)
		case !ours && imp != module && strings.Contains(first, "."):
			list := modules
			if s.test {
				list = slices.Concat(modules, testModules)
			}
			if !slices.ContainsFunc(list, func(m string) bool { return imp == m || strings.HasPrefix(imp, m+"/") }) {
				bad = append(bad, s.line(spec)+": imports "+imp+"; allowed are the standard library and "+strings.Join(list, ", "))
			}
			if s.dir == "interleave" || s.dir == "stress" || strings.HasPrefix(s.dir, "stress/") {
				if !s.test {
					bad = append(bad, s.line(spec)+": imports "+imp+"; "+s.dir+" uses the standard library only")
				}
			}
		}
		if why := forbidden[s.dir][imp]; why != "" && !s.test {
			bad = append(bad, s.line(spec)+": imports "+imp+": "+why)
		}
	}
	return bad
}

// TestLayers checks that imports point downward in every file of every build tag, and
// that only the listed modules are imported: Z-011, K-001, K-126, B-004.
func TestLayers(t *testing.T) {
	for _, s := range files(t) {
		if _, ok := layers[s.dir]; ok {
			report(t, badImports(s))
		}
	}
}

// TestPackages checks that the graph and the tree have the same packages, and that a
// package without code is on the list of planned ones.
func TestPackages(t *testing.T) {
	code := map[string]int{}
	for _, s := range files(t) {
		if _, ok := layers[s.dir]; !ok {
			t.Errorf("%s: package %s is not in the graph of layers_test.go", s.path, s.dir)
		}
		if s.path != s.dir+"/doc.go" {
			code[s.dir]++
		} else {
			code[s.dir] += 0
		}
	}
	for dir := range layers {
		n, exists := code[dir]
		future := slices.Contains(notBuilt, dir)
		switch {
		case !exists && !slices.Contains(optional, dir):
			t.Errorf("%s is in the graph and not in the tree", dir)
		case future && n > 0:
			t.Errorf("%s is on the list notBuilt and has code", dir)
		case exists && !future && n == 0:
			t.Errorf("%s has no code and is not on the list notBuilt", dir)
		}
	}
	for dir, allowed := range layers {
		for _, below := range allowed {
			if slices.Contains(layers[below], dir) {
				t.Errorf("the graph has a cycle between %s and %s", dir, below)
			}
		}
	}
}

// TestLayersRule tries the rule on files that break it.
func TestLayersRule(t *testing.T) {
	try(t, badImports, []broken{
		{"down", "runqueue/a.go", `package runqueue; import "` + module + `/mpsc"`, 0},
		{"up", "mpsc/a.go", `package mpsc; import "` + module + `/runqueue"`, 1},
		{"sideways", "transport/a.go", `package transport; import "` + module + `/sched"`, 1},
		{"test up", "mpsc/a_test.go", `package mpsc_test; import "` + module + `/sched"`, 1},
		{"test itself", "mpsc/a_test.go", `package mpsc_test; import "` + module + `/mpsc"`, 0},
		{"test explorer", "mpsc/a_test.go", `package mpsc_test; import "` + module + `/interleave"`, 0},
		{"explorer upward", "interleave/a.go", `package interleave; import "` + module + `/internal/atomix"`, 1},
		{"cgo", "sched/a.go", `package sched; import "C"`, 1},
		{"cgo in a test", "sched/a_test.go", `package sched; import "C"`, 1},
		{"module", "sched/a.go", `package sched; import "golang.org/x/sys/unix"`, 0},
		{"other module", "sched/a.go", `package sched; import "go.uber.org/zap"`, 1},
		{"test module", "sched/a_test.go", `package sched; import "pgregory.net/rapid"`, 0},
		{"test module outside tests", "sched/a.go", `package sched; import "pgregory.net/rapid"`, 1},
		{"waiting queue", "mpsc/a.go", `package mpsc; import "time"`, 1},
		{"parking queue", "runqueue/a.go", `package runqueue; import "` + module + `/internal/park"`, 2},
		{"network", "transport/a.go", `package transport; import "net"`, 1},
	})
}
