package lint_test

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// algorithms are the packages whose shared words are model types in a build with the tag
// interleave.
var algorithms = []string{"sync", "mpsc", "runqueue", "sched", "transport", "pool", "internal/self", "internal/futex"}

// coldCode lists the code that may use locks and channels, and why. It is outside the
// paths that schedule, run or steal a task and that carry a call. An entry is a file, or a
// function or type as "path name". An entry that excuses nothing is an error.
var coldCode = map[string]string{
	"sched/config.go threadLimit": "New with Config.LockOSThread",
	"sched/inspect.go inspection": "an Inspect, on request",
	"sched/wait.go":               "a Wait that is about to park",
	"sched/wait_list.go waitSet":  "waits that rely on a worker, where the Spawner may fail",
	"sched/worker.go Worker":      "stop ends a Run; it is nil in every other worker",
	"sched/linger.go park":        "a worker that lingers",
	"sched/loop.go stopping":      "a load of stop, in a Run only",

	"transport/codec_json.go jsonTypes": "a cache of types, read once for each Type",
}

// badAtomics checks that an algorithm uses the atomics that models can schedule.
func badAtomics(s *source) []string {
	var bad []string
	for _, spec := range s.ast.Imports {
		if importPath(spec) == "sync/atomic" && !s.test {
			bad = append(bad, s.line(spec)+": imports sync/atomic; use internal/atomix, which models can schedule")
		}
	}
	return bad
}

// TestNoDirectAtomics checks that no algorithm bypasses internal/atomix.
func TestNoDirectAtomics(t *testing.T) {
	for _, s := range files(t, algorithms...) {
		report(t, badAtomics(s))
	}
	try(t, badAtomics, []broken{
		{"direct", "mpsc/a.go", `package mpsc; import "sync/atomic"`, 1},
		{"renamed", "mpsc/a.go", `package mpsc; import a "sync/atomic"`, 1},
		{"test", "mpsc/a_test.go", `package mpsc; import "sync/atomic"`, 0},
		{"model types", "mpsc/a.go", `package mpsc; import "` + module + `/internal/atomix"`, 0},
	})
}

// blocking lists the types and functions of package sync that block a goroutine, and what
// replaces each in a package with models.
var blocking = map[string]string{
	"Mutex":      "park.Mutex",
	"RWMutex":    "park.Mutex",
	"Once":       "park.Once",
	"OnceFunc":   "park.Once",
	"OnceValue":  "park.Once",
	"OnceValues": "park.Once",
	"Cond":       "park.Mutex and park.Sema",
	"NewCond":    "park.Mutex and park.Sema",
	"WaitGroup":  "a count and park.Sema",
}

// unrepeatable lists the types of package sync that keep state from one execution of a model
// to the next, and what replaces each in a package with models.
var unrepeatable = map[string]string{
	"Pool": "park.Pool",
	"Map":  "a map and park.Mutex",
}

// mayUse lists the declarations of packages with models that may name one of these types of
// package sync, as "path name", and why. An entry that excuses nothing is an error.
var mayUse = map[string]string{
	"internal/park/sema.go Mutex":           "park.Mutex itself, in the build without models",
	"internal/park/pool.go Pool":            "park.Pool itself, in the build without models",
	"internal/park/self_generic.go buffers": "the result of Self does not depend on the buffer that it writes first",
	"transport/codec_json.go jsonTypes":     "the result of a check depends on the type only, and a check has no step",
}

// badStandardSync checks that a file of a package with models blocks by the types that models
// can schedule, and keeps its state in types that models can repeat. The models are such files,
// and the other tests are not.
func badStandardSync(s *source, hasModels, excused func(name string) bool) []string {
	if s.test && !isModelFile(s) || !hasModels(s.dir) {
		return nil
	}
	bad := dotImports(s, "sync")
	s.selectors("sync", func(sel *ast.SelectorExpr) {
		use, why := blocking[sel.Sel.Name], "Lock and Unlock of package sync are no steps: a load, the lock and the section under it"+
			" are one step of a model, which then finds no wake-up that is lost between them, and a thread that waits hangs the model"
		if use == "" {
			use, why = unrepeatable[sel.Sel.Name], "its contents depend on the collector, the processor and earlier executions,"+
				" so a model cannot repeat an execution, and its methods are no steps"
		}
		if use != "" && !excused(s.path+" "+enclosing(s, sel)) {
			bad = append(bad, s.line(sel)+": sync."+sel.Sel.Name+" in a package with models; use "+use+" of internal/park, because "+why)
		}
	})
	return bad
}

// dotImports reports the imports of a package without a name, which hide its uses from
// source.selectors.
func dotImports(s *source, path string) []string {
	var bad []string
	for _, spec := range s.ast.Imports {
		if importPath(spec) == path && spec.Name != nil && spec.Name.Name == "." {
			bad = append(bad, s.line(spec)+": imports "+path+" without a name, so a check does not see which of its types are used")
		}
	}
	return bad
}

// modelPackages returns the directories of the packages that have models.
func modelPackages(sources []*source) map[string]bool {
	models := map[string]bool{}
	for _, s := range sources {
		if isModelFile(s) {
			models[s.dir] = true
		}
	}
	return models
}

// TestModelsScheduleAndRepeat checks that a package with models, and the models, use no lock,
// pool or map of package sync.
func TestModelsScheduleAndRepeat(t *testing.T) {
	models := modelPackages(files(t))
	for _, dir := range algorithms {
		if !models[dir] {
			t.Errorf("package %s has no file of model tests", dir)
		}
	}
	used := map[string]bool{}
	for _, s := range files(t) {
		report(t, badStandardSync(s, func(dir string) bool { return models[dir] }, func(name string) bool {
			used[name] = true
			return mayUse[name] != ""
		}))
	}
	for name := range mayUse {
		if !used[name] {
			t.Errorf("mayUse lists %s, which has nothing to excuse", name)
		}
	}
	rule := func(s *source) []string {
		return badStandardSync(s, func(dir string) bool { return dir == "pool" }, func(name string) bool { return name == "pool/a.go alias" })
	}
	try(t, rule, []broken{
		{"mutex", "pool/a.go", `package pool; import "sync"; type p struct { mu sync.Mutex }`, 1},
		{"renamed", "pool/a.go", `package pool; import std "sync"; var mu std.RWMutex`, 1},
		{"embedded", "pool/a.go", `package pool; import "sync"; type p struct { sync.Mutex }`, 1},
		{"local", "pool/a.go", `package pool; import "sync"; func f() { var g sync.WaitGroup; g.Wait() }`, 1},
		{"once", "pool/a.go", `package pool; import "sync"; var a sync.Once; var f = sync.OnceFunc(g)`, 2},
		{"condition", "pool/a.go", `package pool; import "sync"; var c sync.Cond; var d = sync.NewCond(nil)`, 2},
		{"excused", "pool/a.go", `package pool; import "sync"; type alias = sync.Mutex; type other = sync.Mutex`, 1},
		{"pool and map", "pool/a.go", `package pool; import "sync"; var p sync.Pool; var m sync.Map`, 2},
		{"model types", "pool/a.go", `package pool; import "` + module + `/internal/park"; var m park.Mutex; var o park.Once`, 0},
		{"the package of this module", "pool/a.go", `package pool; import "` + module + `/sync"; var p sync.Parker`, 0},
		{"without models", "par/a.go", `package par; import "sync"; var m sync.Mutex`, 0},
		{"without a name", "pool/a.go", `package pool; import . "sync"; var m Mutex`, 1},
		{"without a name, without models", "par/a.go", `package par; import . "sync"; var m Mutex`, 0},
		{"test", "pool/a_test.go", `package pool; import "sync"; var m sync.Mutex`, 0},
		{"test of models", "pool/a_model_test.go", `package pool; import "sync"; var m sync.Mutex`, 1},
		{"test of models without a name", "pool/a_model_test.go", `package pool; import . "sync"; var m Map`, 1},
		{"models in one file", "pool/model_test.go", "//go:build interleave\n\npackage pool; import \"sync\"; var g sync.WaitGroup", 1},
	})
}

// badLocks checks that a file has no lock and no channel, and does not yield the
// processor. It skips the declarations for which excused returns true.
func badLocks(s *source, excused func(name string) bool) []string {
	if s.test {
		return nil
	}
	bad := dotImports(s, "sync")
	find := func(n ast.Node, what string) {
		if !excused(enclosing(s, n)) {
			bad = append(bad, s.line(n)+": "+what+" on a lock-free path")
		}
	}
	s.selectors("sync", func(sel *ast.SelectorExpr) { find(sel, "sync."+sel.Sel.Name) })
	s.selectors(module+"/internal/park", func(sel *ast.SelectorExpr) {
		if sel.Sel.Name == "Mutex" || sel.Sel.Name == "Once" && s.dir != "sched" { // a scheduler starts once
			find(sel, "park."+sel.Sel.Name)
		}
	})
	s.selectors("runtime", func(sel *ast.SelectorExpr) {
		if sel.Sel.Name == "Gosched" || sel.Sel.Name == "LockOSThread" && s.dir != "sched" {
			find(sel, "runtime."+sel.Sel.Name)
		}
	})
	ast.Inspect(s.ast, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.ChanType:
			find(x, "a channel type")
		case *ast.SendStmt:
			find(x, "a send")
		case *ast.SelectStmt:
			find(x, "a select")
		case *ast.UnaryExpr:
			if x.Op == token.ARROW {
				find(x, "a receive")
			}
		case *ast.CallExpr:
			if id, ok := x.Fun.(*ast.Ident); ok && id.Name == "close" {
				find(x, "a close")
			}
		}
		return true
	})
	return bad
}

// TestLockFree checks that the queues, the transport and the hot files of the scheduler
// use no locks, no channels, and no call that blocks: Z-001, Z-035, Z-062, K-004. Idle
// workers park on the semaphore of sync.WakeTokens, which is the one exception.
func TestLockFree(t *testing.T) {
	used := map[string]bool{}
	for _, s := range files(t, "mpsc", "runqueue", "sched", "transport", "internal/self") {
		report(t, badLocks(s, func(name string) bool {
			for _, key := range []string{s.path, s.path + " " + name} {
				if coldCode[key] != "" {
					used[key] = true
					return true
				}
			}
			return false
		}))
	}
	for key := range coldCode {
		if !used[key] {
			t.Errorf("coldCode lists %s, which has nothing to excuse", key)
		}
	}
	rule := func(s *source) []string {
		return badLocks(s, func(name string) bool { return name == "cold" })
	}
	try(t, rule, []broken{
		{"mutex", "mpsc/a.go", `package mpsc; import "sync"; var m sync.Mutex`, 1},
		{"mutex renamed", "sched/a.go", `package sched; import stdsync "sync"; var m stdsync.Mutex`, 1},
		{"mutex without a name", "sched/a.go", `package sched; import . "sync"; var m Mutex`, 1},
		{"mutex of park", "sched/a.go", `package sched; import "` + module + `/internal/park"; var m park.Mutex`, 1},
		{"once", "sched/a.go", `package sched; import "` + module + `/internal/park"; var o park.Once`, 0},
		{"once in a queue", "mpsc/a.go", `package mpsc; import "` + module + `/internal/park"; var o park.Once`, 1},
		{"semaphore", "sched/a.go", `package sched; import "` + module + `/internal/park"; var o park.Sema`, 0},
		{"channel", "mpsc/a.go", `package mpsc; var c chan int`, 1},
		{"send", "mpsc/a.go", `package mpsc; func f() { c <- 1 }`, 1},
		{"receive", "mpsc/a.go", `package mpsc; func f() { <-c }`, 1},
		{"select", "mpsc/a.go", `package mpsc; func f() { select {} }`, 1},
		{"close", "mpsc/a.go", `package mpsc; func f() { close(c) }`, 1},
		{"gosched", "mpsc/a.go", `package mpsc; import "runtime"; func f() { runtime.Gosched() }`, 1},
		{"excused", "sched/a.go", `package sched; func cold() { <-c }; func hot() { <-c }`, 1},
		{"excused type", "sched/a.go", `package sched; type cold struct { c chan int }; type hot struct { c chan int }`, 1},
		{"clean", "mpsc/a.go", `package mpsc; import "math/bits"; func f() int { return bits.Len(1) }`, 0},
		{"test", "mpsc/a_test.go", `package mpsc; func f() { <-c }`, 0},
	})
}

// TestNoGoroutines checks that no package below sched starts a goroutine.
func TestNoGoroutines(t *testing.T) {
	for _, s := range files(t, "sync", "mpsc", "runqueue", "transport", "internal/atomix", "internal/park", "internal/cpu", "internal/invariant", "internal/self") {
		report(t, goroutines(s))
	}
	try(t, goroutines, []broken{
		{"go", "sync/a.go", `package sync; func f() { go f() }`, 1},
		{"test", "sync/a_test.go", `package sync; func f() { go f() }`, 0},
	})
}

func goroutines(s *source) []string {
	var bad []string
	if s.test {
		return nil
	}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		if g, ok := n.(*ast.GoStmt); ok {
			bad = append(bad, s.line(g)+": starts a goroutine below sched")
		}
		return true
	})
	return bad
}

// badUnsafe checks that a file with unsafe pointers has a name that states it, and that no
// file links to a name of another package.
func badUnsafe(s *source) []string {
	var bad []string
	if !strings.HasSuffix(s.path, "_unsafe.go") && !strings.HasSuffix(s.path, "_unsafe_test.go") {
		s.selectors("unsafe", func(sel *ast.SelectorExpr) {
			if !slices.Contains([]string{"Sizeof", "Offsetof", "Alignof"}, sel.Sel.Name) {
				bad = append(bad, s.line(sel)+": unsafe."+sel.Sel.Name+" belongs in a file named *_unsafe.go")
			}
		})
		for _, spec := range s.ast.Imports {
			if importPath(spec) == "unsafe" && spec.Name != nil {
				bad = append(bad, s.line(spec)+": import unsafe without another name")
			}
		}
	}
	for _, group := range s.ast.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, "//go:linkname") {
				bad = append(bad, s.line(c)+": go:linkname is forbidden")
			}
		}
	}
	return bad
}

// TestUnsafe checks that only files with a name for it use unsafe pointers.
func TestUnsafe(t *testing.T) {
	for _, s := range everything(t) {
		report(t, badUnsafe(s))
	}
	try(t, badUnsafe, []broken{
		{"pointer", "sched/a.go", `package sched; import "unsafe"; var p unsafe.Pointer`, 1},
		{"slice", "sched/a.go", `package sched; import "unsafe"; var b = unsafe.Slice(p, 1)`, 1},
		{"renamed", "sched/a.go", `package sched; import u "unsafe"; var n = u.Sizeof(0)`, 1},
		{"named for it", "sched/a_unsafe.go", `package sched; import "unsafe"; var p unsafe.Pointer`, 0},
		{"size", "sched/a.go", `package sched; import "unsafe"; var n = unsafe.Sizeof(0) + unsafe.Offsetof(a.b)`, 0},
		{"linkname", "sched/a_unsafe.go", "package sched\n\n//go:linkname f runtime.f\nfunc f()\n", 1},
	})
}

// notEmulated are the folders whose tests no emulator runs: see .ci/run.
var notEmulated = []string{"internal/proctest", "internal/lint", "internal/models", "internal/mutants", "examples/"}

// badProcesses checks that a test which starts a process uses package proctest, and so is skipped in
// an emulator.
func badProcesses(s *source) []string {
	if !s.test || slices.ContainsFunc(notEmulated, func(dir string) bool { return strings.HasPrefix(s.dir+"/", dir) }) {
		return nil
	}
	uses := false
	s.selectors(module+"/internal/proctest", func(sel *ast.SelectorExpr) {
		uses = uses || sel.Sel.Name == "Need" || sel.Sel.Name == "Output"
	})
	var bad []string
	find := func(sel *ast.SelectorExpr, names ...string) {
		if slices.Contains(names, sel.Sel.Name) && !uses {
			bad = append(bad, s.line(sel)+": starts a process without package proctest, which hangs in an emulator at times")
		}
	}
	s.selectors("os/exec", func(sel *ast.SelectorExpr) { find(sel, "Command", "CommandContext") })
	s.selectors(module+"/internal/proctest", func(sel *ast.SelectorExpr) { find(sel, "Self") })
	return bad
}

// TestProcessesAreNotEmulated checks that each test which starts a process is skipped in an
// emulator.
func TestProcessesAreNotEmulated(t *testing.T) {
	for _, s := range files(t) {
		report(t, badProcesses(s))
	}
	const imports = `import ("os/exec"; "` + module + `/internal/proctest");`
	try(t, badProcesses, []broken{
		{"command", "sched/a_test.go", `package sched; import "os/exec"; var c = exec.Command("a").Run()`, 1},
		{"two commands", "sched/a_test.go", `package sched; import "os/exec"; var c, d = exec.Command("a"), exec.CommandContext(x, "a")`, 2},
		{"started by the test", "sched/a_test.go", `package sched; ` + imports + ` var e = proctest.Self(t, nil).Run()`, 1},
		{"output", "sched/a_test.go", `package sched; ` + imports + ` var o, e = proctest.Output(t, exec.Command("a"))`, 0},
		{"need", "sched/a_test.go", `package sched; ` + imports + ` func f() { proctest.Need(t); proctest.Self(t, nil).Run() }`, 0},
		{"not emulated", "examples/x/a_test.go", `package x; import "os/exec"; var c = exec.Command("a")`, 0},
		{"no test", "bench/a.go", `package bench; import "os/exec"; var c = exec.Command("a")`, 0},
	})
}

// maySleep lists the tests that may call time.Sleep outside a bubble of testing/synctest,
// as "path function", and why no other wait is possible.
var maySleep = map[string]string{}

// badSleep checks that a test does not sleep to give another goroutine time. A function
// literal that is an argument of synctest.Test may sleep, because its time is virtual.
func badSleep(s *source) []string {
	if !s.test {
		return nil
	}
	var bubbles []*ast.FuncLit
	ast.Inspect(s.ast, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if pkg, ok := sel.X.(*ast.Ident); !ok || pkg.Name != "synctest" || sel.Sel.Name != "Test" {
			return true
		}
		for _, arg := range call.Args {
			if lit, ok := arg.(*ast.FuncLit); ok {
				bubbles = append(bubbles, lit)
			}
		}
		return true
	})
	var bad []string
	s.selectors("time", func(sel *ast.SelectorExpr) {
		if sel.Sel.Name != "Sleep" {
			return
		}
		if slices.ContainsFunc(bubbles, func(lit *ast.FuncLit) bool { return lit.Pos() <= sel.Pos() && sel.End() <= lit.End() }) {
			return
		}
		if maySleep[s.path+" "+enclosing(s, sel)] != "" {
			return
		}
		bad = append(bad, s.line(sel)+": wait for the event itself, with a deadline, and not by time.Sleep")
	})
	return bad
}

// enclosing returns the name of the function, type or variable whose declaration
// contains n.
func enclosing(s *source, n ast.Node) string {
	within := func(outer ast.Node) bool { return outer.Pos() <= n.Pos() && n.End() <= outer.End() }
	for _, decl := range s.ast.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if within(d) {
				return d.Name.Name
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if !within(spec) {
					continue
				}
				switch sp := spec.(type) {
				case *ast.TypeSpec:
					return sp.Name.Name
				case *ast.ValueSpec:
					return sp.Names[0].Name
				}
			}
		}
	}
	return ""
}

// TestNoSleep checks that no test sleeps in real time.
func TestNoSleep(t *testing.T) {
	for _, s := range everything(t) {
		report(t, badSleep(s))
	}
	try(t, badSleep, []broken{
		{"sleep", "sched/a_test.go", `package sched; import "time"; func f() { time.Sleep(1) }`, 1},
		{"as a value", "sched/a_test.go", `package sched; import "time"; var nap = time.Sleep`, 1},
		{"virtual", "sched/a_test.go", `package sched; import ("time"; "testing/synctest"); func f() { synctest.Test(t, func(t *testing.T) { time.Sleep(1) }) }`, 0},
		{"after a bubble", "sched/a_test.go", `package sched; import ("time"; "testing/synctest"); func f() { synctest.Test(t, func(t *testing.T) {}); time.Sleep(1) }`, 1},
		{"no test", "sched/a.go", `package sched; import "time"; func f() { time.Sleep(1) }`, 0},
	})
}
