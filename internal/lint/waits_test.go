package lint_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"testing"
)

// queues are the packages whose operations never wait: Z-035.
var queues = []string{"mpsc", "runqueue"}

// queueNames lists the names of package sync of this module that a queue may use. Every
// other name parks, yields, spins, or leads to a type that does. A new name is a decision.
var queueNames = []string{"NoCopy", "Pad", "CacheLine"}

// loopsThatEnd lists the functions of the queues with a loop whose end the syntax does not
// show, as "path name", and why the loop ends. An entry excuses one loop. An entry that
// excuses nothing is an error.
var loopsThatEnd = map[string]string{
	"runqueue/ring.go StealInto":      "a pass repeats only after the owner has popped all nodes that tryHold saw",
	"runqueue/ring.go stealAll":       "a pass takes all nodes; the owner has pushed more if another pass follows",
	"runqueue/queue.go PushList":      "a pass repeats only after a thief has freed slots; held and full goes to the overflow queue",
	"runqueue/queue.go fill":          "a pass repeats only after a push; a held queue ends the loop",
	"runqueue/queue.go TakeOverflow":  "likewise",
	"runqueue/queue.go drainOverflow": "likewise",
}

// parkingNames are the functions and methods that block a goroutine: those of Parker,
// Semaphore, WakeTokens and Sema of this module, and those of package time and of locks.
var parkingNames = []string{"Park", "ParkDone", "ParkFor", "Wait", "WaitDone", "WaitFor", "Acquire", "Lock", "RLock", "Sleep"}

// mayPark lists the functions of the scheduler that block their goroutine, as "path name",
// and why. No other function schedules, searches, runs or steals while it is parked. An entry
// that excuses nothing is an error.
var mayPark = map[string]string{
	"sched/config.go checkThreads":             "the limit of threads, in New with Config.LockOSThread",
	"sched/failing_spawner.go acquireAsWaiter": "Group.Go of a group with a limit, where the Spawner may fail",
	"sched/failing_spawner.go runAsWaiter":     "Group.Wait between two calls of a Spawner that fails",
	"sched/fork_monitor.go forkMonitor":        "the goroutine of the fork monitor, which runs no task",
	"sched/fork_task.go park":                  "a join of a fork that another worker runs",
	"sched/group_func.go acquire":              "Group.Go of a group with a limit",
	"sched/inspect.go Inspect":                 "an Inspect, on request",
	"sched/life.go wait":                       "Shutdown and Join",
	"sched/linger.go park":                     "an idle worker that lingers",
	"sched/loop.go await":                      "an idle worker",
	"sched/stall.go stallMonitor":              "the goroutine of the stall monitor, which runs no task",
	"sched/wait.go park":                       "Group.Wait",
	"sched/wait_list.go insert":                "a wait where the Spawner may fail, before it parks",
	"sched/wait_list.go remove":                "likewise, after it has parked",
	"sched/wait_list.go wakeAll":               "likewise; a failed spawn wakes these waits",
}

// badQueueNames checks that a queue uses only names that cannot wait.
func badQueueNames(s *source) []string {
	if s.test {
		return nil
	}
	var bad []string
	s.selectors(module+"/sync", func(sel *ast.SelectorExpr) {
		if !slices.Contains(queueNames, sel.Sel.Name) {
			bad = append(bad, s.line(sel)+": sync."+sel.Sel.Name+": queue operations never wait (Z-035)")
		}
	})
	return bad
}

// badParks checks that no function blocks its goroutine by a call, whatever package the
// type of the receiver is from. It skips the functions for which excused returns true. The
// transition Wait of the Sync word has the name of a wait, and is none.
func badParks(s *source, excused func(name string) bool) []string {
	if s.test {
		return nil
	}
	var bad []string
	ast.Inspect(s.ast, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok || !slices.Contains(parkingNames, sel.Sel.Name) {
			return true
		}
		if x, ok := sel.X.(*ast.SelectorExpr); ok && x.Sel.Name == "sync" && sel.Sel.Name == "Wait" {
			return true
		}
		if !excused(enclosing(s, sel)) {
			bad = append(bad, s.line(sel)+": "+sel.Sel.Name+" blocks its goroutine (Z-001, Z-035)")
		}
		return true
	})
	return bad
}

// badLoops checks that the loops of a queue end. A loop is one of these:
//
//   - a range
//   - a loop whose condition has a variable that the loop changes by something other than
//     an atomic load
//   - a retry: the loop loads a word, and compares and swaps it with the loaded value. The
//     swap fails only if another goroutine has changed the word
//
// Each further loop is excused once. A loop that only loads waits for another goroutine, and
// so does a swap from a constant, which is a lock.
func badLoops(s *source, excused func(name string) bool) []string {
	if s.test {
		return nil
	}
	var bad []string
	seen := map[string]int{}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.ForStmt:
			if changesItsCondition(x) || isRetry(x) {
				break
			}
			name := enclosing(s, x)
			if seen[name]++; seen[name] > 1 || !excused(name) {
				bad = append(bad, s.line(x)+": nothing in this loop shows that it ends (Z-035)")
			}
		case *ast.BranchStmt:
			if x.Tok == token.GOTO {
				bad = append(bad, s.line(x)+": a goto hides a loop (Z-035)")
			}
		}
		return true
	})
	return bad
}

// changesItsCondition reports whether the loop assigns a value that is no atomic load to a
// variable of its condition.
func changesItsCondition(loop *ast.ForStmt) bool {
	if loop.Cond == nil {
		return false
	}
	changed := changes(loop)
	found := false
	ast.Inspect(loop.Cond, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && changed[id.Name]
		return !ok
	})
	return found
}

// changes returns the variables that a loop changes by something other than an atomic load.
func changes(loop *ast.ForStmt) map[string]bool {
	changed := map[string]bool{}
	each := func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.IncDecStmt:
			if id, ok := x.X.(*ast.Ident); ok {
				changed[id.Name] = true
			}
		case *ast.AssignStmt:
			for i, left := range x.Lhs {
				id, ok := left.(*ast.Ident)
				if ok && x.Tok != token.DEFINE && !hasCall(x.Rhs[min(i, len(x.Rhs)-1)], "Load", nil) {
					changed[id.Name] = true
				}
			}
		}
		return true
	}
	ast.Inspect(loop.Body, each)
	if loop.Post != nil {
		ast.Inspect(loop.Post, each)
	}
	return changed
}

// isRetry reports whether the loop loads a variable and compares and swaps from it.
func isRetry(loop *ast.ForStmt) bool {
	loaded := map[string]bool{}
	ast.Inspect(loop.Body, func(n ast.Node) bool {
		if x, ok := n.(*ast.AssignStmt); ok && len(x.Rhs) == 1 && hasCall(x.Rhs[0], "Load", nil) {
			if id, ok := x.Lhs[0].(*ast.Ident); ok {
				loaded[id.Name] = true
			}
		}
		_, nested := n.(*ast.ForStmt)
		return !nested
	})
	return hasCall(loop.Body, "CompareAndSwap", func(old ast.Expr) bool {
		from := false
		ast.Inspect(old, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			from = from || ok && loaded[id.Name]
			return !ok
		})
		return from
	})
}

// hasCall reports whether n has a call of a method with the given name, outside loops below
// n. With first, the first argument of the call has to satisfy it.
func hasCall(n ast.Node, method string, first func(ast.Expr) bool) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.ForStmt:
			return false
		case *ast.CallExpr:
			sel, ok := x.Fun.(*ast.SelectorExpr)
			found = found || ok && sel.Sel.Name == method && (first == nil || len(x.Args) > 0 && first(x.Args[0]))
		}
		return true
	})
	return found
}

// excuse returns a function that reports whether table excuses a declaration of s, and
// marks the entry as used.
func excuse(table map[string]string, used map[string]bool, s *source) func(name string) bool {
	return func(name string) bool {
		key := s.path + " " + name
		used[key] = true
		return table[key] != ""
	}
}

// unused fails t for each entry of table that has excused nothing.
func unused(t *testing.T, name string, table map[string]string, used map[string]bool) {
	t.Helper()
	for key := range table {
		if !used[key] {
			t.Errorf("%s lists %s, which has nothing to excuse", name, key)
		}
	}
}

// TestQueuesNeverWait checks that the queues use no type of this module that parks, call no
// function that blocks, and have no loop that waits for another goroutine: Z-035. The models
// TestModelQueueCrash, TestModelRingCrash and TestModelThiefCrash find the waits that have no
// loop of their own: no operation waits for a goroutine that stops for ever at any step.
func TestQueuesNeverWait(t *testing.T) {
	used := map[string]bool{}
	for _, s := range files(t, queues...) {
		report(t, badQueueNames(s))
		report(t, badParks(s, func(string) bool { return false }))
		report(t, badLoops(s, excuse(loopsThatEnd, used, s)))
	}
	unused(t, "loopsThatEnd", loopsThatEnd, used)

	name := func(text string) string {
		return fmt.Sprintf("package mpsc; import lfsync %q; %s", module+"/sync", text)
	}
	try(t, badQueueNames, []broken{
		{"padding", "mpsc/a.go", name(`type q struct { _ lfsync.NoCopy; _ lfsync.Pad }; const n = lfsync.CacheLine`), 0},
		{"parker", "mpsc/a.go", name(`type q struct { p lfsync.Parker }`), 1},
		{"parker made", "mpsc/a.go", name(`var p = lfsync.NewParker()`), 1},
		{"semaphore", "mpsc/a.go", name(`type q struct { p *lfsync.Semaphore }`), 1},
		{"wake tokens", "runqueue/a.go", name(`type q struct { p lfsync.WakeTokens }`), 1},
		{"backoff", "runqueue/a.go", name(`func f() { var b lfsync.Backoff; b.Next() }`), 1},
		{"relax", "runqueue/a.go", name(`func f() { lfsync.Relax(1) }`), 1},
		{"renamed", "mpsc/a.go", `package mpsc; import x "` + module + `/sync"; var p x.Parker`, 1},
		{"test", "mpsc/a_test.go", name(`var p lfsync.Parker`), 0},
	})

	parks := func(s *source) []string { return badParks(s, func(name string) bool { return name == "cold" }) }
	try(t, parks, []broken{
		{"park", "mpsc/a.go", `package mpsc; func f() { q.parker.Park() }`, 1},
		{"park of a result", "mpsc/a.go", `package mpsc; func f() { parker().ParkDone(nil) }`, 1},
		{"park with a limit", "mpsc/a.go", `package mpsc; func f() { p.ParkFor(1) }`, 1},
		{"acquire", "mpsc/a.go", `package mpsc; func f() { s.Acquire(nil) }`, 1},
		{"try to acquire", "mpsc/a.go", `package mpsc; func f() { s.TryAcquire(nil) }`, 0},
		{"lock", "mpsc/a.go", `package mpsc; func f() { mu.Lock(); mu.Unlock() }`, 1},
		{"sleep", "mpsc/a.go", `package mpsc; func f() { time.Sleep(1) }`, 1},
		{"as a value", "mpsc/a.go", `package mpsc; var f = p.Park`, 1},
		{"tokens", "sched/a.go", `package sched; func f() { s.idle.Wait(); s.idle.WaitDone(nil) }`, 2},
		{"transition", "sched/a.go", `package sched; func f() { s.sync.Wait(true, false) }`, 0},
		{"excused", "sched/a.go", `package sched; func cold() { p.Park() }; func hot() { p.Park() }`, 1},
		{"declared", "mpsc/a.go", `package mpsc; type i interface { Park() }`, 0},
		{"test", "mpsc/a_test.go", `package mpsc; func f() { p.Park() }`, 0},
	})

	loops := func(s *source) []string { return badLoops(s, func(name string) bool { return name == "listed" }) }
	body := func(text string) string { return "package mpsc; func f() { " + text + " }" }
	try(t, loops, []broken{
		{"count", "mpsc/a.go", body(`for i := 0; i < 4; i++ { f(i) }`), 0},
		{"range", "mpsc/a.go", body(`for range 4 { f() }`), 0},
		{"count by steps", "mpsc/a.go", body(`for ; i != end; i += 2 { f(i) }`), 0},
		{"walk", "mpsc/a.go", body(`for n := first; n != nil; { next := n.take(); n = next }`), 0},
		{"walk to a mark", "mpsc/a.go", body(`for same { last = next; next, same = last.link() }`), 0},
		{"pops", "mpsc/a.go", body(`for n := q.Pop(); n != nil; n = q.Pop() { f(n) }`), 0},
		{"retry", "mpsc/a.go", body(`for { h := q.head.Load(); if q.head.CompareAndSwap(h, n) { return } }`), 0},
		{"retry of a packed word", "mpsc/a.go", body(`for { h := head(r.head.Load()); if r.head.CompareAndSwap(uint64(h), uint64(h.hold())) { return } }`), 0},
		{"empty wait", "mpsc/a.go", body(`for !x.Load() {}`), 1},
		{"wait for a word", "mpsc/a.go", body(`for q.token.Load() == tokenHeld {}`), 1},
		{"wait by a variable", "mpsc/a.go", body(`for s := q.token.Load(); s == tokenHeld; s = q.token.Load() {}`), 1},
		{"wait by a break", "mpsc/a.go", body(`for { if x.Load() { break } }`), 1},
		{"wait with a pause", "mpsc/a.go", body(`for !x.Load() { cpu.Pause(1) }`), 1},
		{"wait with a yield", "mpsc/a.go", body(`for !x.Load() { park.Yield() }`), 1},
		{"wait with a backoff", "mpsc/a.go", body(`for !x.Load() { b.Next() }`), 1},
		{"spin lock", "mpsc/a.go", body(`for !q.lock.CompareAndSwap(0, 1) {}`), 1},
		{"spin lock in the body", "mpsc/a.go", body(`for { if q.lock.CompareAndSwap(0, 1) { return } }`), 1},
		{"wait in a retry", "mpsc/a.go", body(`for { h := q.head.Load(); for q.token.Load() != 0 {}; if q.head.CompareAndSwap(h, n) { return } }`), 1},
		{"retry in a wait", "mpsc/a.go", body(`for !x.Load() { for { h := q.head.Load(); if q.head.CompareAndSwap(h, n) { return } } }`), 1},
		{"try without end", "mpsc/a.go", body(`for q.TryAcquire(&c, o) != Acquired {}`), 1},
		{"for ever", "mpsc/a.go", body(`for {}`), 1},
		{"goto", "mpsc/a.go", body(`again: if !x.Load() { goto again }`), 1},
		{"listed", "mpsc/a.go", `package mpsc; func listed() { for q.TryAcquire(&c, o) == Acquired {} }`, 0},
		{"two in a listed function", "mpsc/a.go", `package mpsc; func listed() { for g() {}; for g() {} }`, 1},
		{"test", "mpsc/a_test.go", body(`for !x.Load() {}`), 0},
	})
}

// mayParkInTransport lists the functions of the transport that block their goroutine, as "path name",
// and why. An entry that excuses nothing is an error.
var mayParkInTransport = map[string]string{
	"transport/doorbell.go park": "a waiter of a doorbell, after its spin",
	"transport/waker.go Park":    "the same, of a side that is a goroutine",
}

// TestTransportParks checks that a side of a link blocks its goroutine in the listed functions only:
// K-004.
func TestTransportParks(t *testing.T) {
	used := map[string]bool{}
	for _, s := range files(t, "transport") {
		report(t, badParks(s, excuse(mayParkInTransport, used, s)))
	}
	unused(t, "mayParkInTransport", mayParkInTransport, used)
}

// TestSchedulerParks checks that a worker parks in the listed functions only, and so not
// while it schedules, searches or steals: Z-001.
func TestSchedulerParks(t *testing.T) {
	used := map[string]bool{}
	for _, s := range files(t, "sched") {
		report(t, badParks(s, excuse(mayPark, used, s)))
	}
	unused(t, "mayPark", mayPark, used)
}
