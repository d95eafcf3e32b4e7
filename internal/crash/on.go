//go:build crash && (darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package crash

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Enabled reports whether [At] and [Fail] have an effect.
const Enabled = true

// At kills the process if this is the pass of the step at which it is to die.
func At(s Step) {
	if isDue(s) {
		die()
	}
}

// Half kills the process as At does. The caller has just written n bytes to the begin of b. Half first clears the second
// half of them, so that the memory is that of a process which has died in the middle of the write.
func Half(s Step, b []byte, n int) {
	if isDue(s) {
		clear(b[:n][n/2:])
		die()
	}
}

// Fail returns EAGAIN if this is the pass of the step that is to fail, and nil otherwise.
func Fail(s Step) error {
	if isDue(s) {
		return unix.EAGAIN
	}
	return nil
}

// die ends the process as a kill of another process does.
func die() {
	_ = unix.Kill(os.Getpid(), unix.SIGKILL)
	select {} // no other step of this goroutine comes before the signal
}

// current is the page that says what this process does. The process shares it with others if the variable names a file.
var current = pageOf(os.Getenv(Variable))

// pageOf returns the page for a value of the variable. It panics if the value has no meaning, because the test would
// prove nothing.
func pageOf(value string) *Page {
	if value == "" {
		return new(Page)
	}
	if path, ok := strings.CutPrefix(value, "@"); ok {
		p, err := OpenPage(path)
		if err != nil {
			panic(fmt.Sprintf("crash: %s=%q: %v", Variable, value, err))
		}
		return p
	}
	name, number, _ := strings.Cut(value, ":")
	s, ok := stepOf(name)
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 1 {
		panic(fmt.Sprintf("crash: %s=%q: want STEP:N with a step of this package, or @FILE", Variable, value))
	}
	p := new(Page)
	p.Arm(s, n)
	return p
}

// stepOf returns the step with that name.
func stepOf(name string) (Step, bool) {
	for s := Executed; s < endOfSteps; s++ {
		if table[s].name == name {
			return s, true
		}
	}
	return 0, false
}

// isDue counts a pass of the step, and reports whether it is the one that is armed.
func isDue(s Step) bool {
	p := current
	p.passes[s].Add(1)
	if Step(p.step.Load()) != s || p.left.Load() <= 0 || p.left.Add(-1) != 0 {
		return false
	}
	p.deaths.Add(1)
	return true
}

// Page says at which pass of which step a process dies. All processes that have mapped the file of a Page count their
// passes in it, and one of them dies. Its methods are safe for concurrent use, in all of these processes.
type Page struct {
	step   atomic.Int64
	left   atomic.Int64 // the passes until the one that is armed; 0 or less: none is
	deaths atomic.Int64
	passes [endOfSteps]atomic.Int64

	counts [Counts]atomic.Uint32
}

// Counts is the number of counters of a [Page]. It is chosen: more than the calls of a test.
const Counts = 1 << 20

// Own returns the page of this process.
func Own() *Page { return current }

// Arm lets the n-th pass of the step from now on be the last one of its process.
func (p *Page) Arm(s Step, n int) {
	p.left.Store(0) // no pass of the former step counts for this one
	p.step.Store(int64(s))
	p.left.Store(int64(n))
}

// Disarm lets no process die.
func (p *Page) Disarm() { p.left.Store(0) }

// Deaths returns how often an armed pass has come. The process may end shortly afterwards.
func (p *Page) Deaths() int { return int(p.deaths.Load()) }

// Count adds 1 to the counter i, whose meaning is that of a test.
func (p *Page) Count(i int) { p.counts[i].Add(1) }

// Counted returns the counter i.
func (p *Page) Counted(i int) int { return int(p.counts[i].Load()) }

// Passes returns how often a process was at the step.
func (p *Page) Passes(s Step) int { return int(p.passes[s].Load()) }
