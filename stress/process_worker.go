package stress

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lanewright/lanewright/pool"
)

// journalVariable is the environment variable with the path of the journal. Only the worker
// processes of the scenario "process" have it.
const journalVariable = "LANEWRIGHT_STRESS_JOURNAL"

// hasWorkerMain is set by WorkerMain in a process that is no worker.
var hasWorkerMain atomic.Bool

// WorkerMain does not return in a worker process of the scenario "process", which is the
// program again: it runs the tasks of the scenario. In any other process it returns at once.
// A program calls it first in main, or in TestMain. Without it [Run] leaves the scenario out,
// and returns an error if Config.Only names it.
func WorkerMain() {
	path, ok := os.LookupEnv(journalVariable)
	if !ok {
		hasWorkerMain.Store(true)
		return
	}
	j, err := openJournal(path)
	if err != nil {
		fmt.Fprintln(os.Stderr, "stress: WorkerMain:", err)
		os.Exit(1)
	}
	pool.WorkerMain(newProcessTasks(j).handlers)
	hasWorkerMain.Store(true) // the variable is not ours: no pool has started this process
}

// journal is a file in which the worker processes of a pool record what their handlers did. A
// record is one write at the end of the file, so those of several processes do not mix, and the
// death of a process loses none.
type journal struct{ file *os.File }

// The events of a journal.
const (
	eventEntered  = iota // the handler of the call was entered
	eventAnswered        // the process has published the answer of the call
	eventFlooded         // the handler of the call has written its output
	events
)

// recordBytes is the size of a record: the number of the call and the event.
const recordBytes = 8

func openJournal(path string) (*journal, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return &journal{f}, nil
}

// record adds a record. A process that cannot do so ends, because the laws would miss it.
func (j *journal) record(call uint64, event int) {
	var b [recordBytes]byte
	binary.LittleEndian.PutUint64(b[:], call*events+uint64(event))
	if _, err := j.file.Write(b[:]); err != nil {
		fmt.Fprintln(os.Stderr, "stress: the journal:", err)
		os.Exit(1)
	}
}

// readJournal returns how often each event of each of n calls is in the journal.
func readJournal(path string, n int) (counts [][events]int, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(b)%recordBytes != 0 {
		return nil, fmt.Errorf("the journal has %d bytes, which is no number of records", len(b))
	}
	counts = make([][events]int, n)
	for ; len(b) > 0; b = b[recordBytes:] {
		r := binary.LittleEndian.Uint64(b)
		if r/events >= uint64(n) {
			return nil, fmt.Errorf("the journal has a record of call %d, and %d were made", r/events, n)
		}
		counts[r/events][r%events]++
	}
	return counts, nil
}

// processAction is what a handler in a worker process does.
type processAction uint8

const (
	processReturns processAction = iota
	processSpins
	processWaits
	processFails
	processPanics
	processGoexits
	processFloods
	processAwaits      // the end of its context
	processHangs       // for ever: the hard limit ends it
	processExits       // os.Exit
	processCrashes     // a panic outside of a handler
	processDies        // SIGKILL
	processDiesLater   // SIGKILL at a random moment after its begin
	processDiesSettled // SIGKILL as soon as its answer is published
	processActions
)

// ends reports whether the action ends its process.
func (a processAction) ends() bool { return a >= processExits }

// processCall is the argument of a call: its number, what its handler does, and how much of it.
type processCall struct {
	ID     uint64
	Amount uint64
	Action processAction
}

// errProcess is the error of a handler that fails.
var errProcess = errors.New("the handler in the worker process fails")

// failure returns the error of the handler of a call that fails.
func (c processCall) failure() error { return fmt.Errorf("call %d: %w", c.ID, errProcess) }

// floodLine is the format of a line of output: the number of the call and that of the line.
const floodLine = "flood %d line %d %s"

// floodFill makes the lines long.
var floodFill = strings.Repeat("=", 80)

// processTasks are the tasks of one pool of worker processes.
type processTasks struct {
	handlers        *pool.Handlers
	work, abortable *pool.Func[processCall, uint64]
	relay           *pool.Func[processCall, processCall] // returns its argument
	blob            *pool.Func[[]byte, []byte]
}

// newProcessTasks returns the tasks. The host has no journal and never runs them.
func newProcessTasks(j *journal) *processTasks {
	h := new(pool.Handlers)
	pool.RegisterError(h, "stress", errProcess)
	t := &processTasks{handlers: h}
	work := func(ctx context.Context, c processCall) (uint64, error) { return j.work(ctx, c) }
	t.work = pool.Register(h, "work", work)
	t.abortable = pool.Register(h, "abortable", work, pool.TaskOptions{Abortable: true})
	t.relay = pool.Register(h, "relay", func(_ context.Context, c processCall) (processCall, error) { return c, nil })
	t.blob = pool.Register(h, "blob", func(_ context.Context, b []byte) ([]byte, error) {
		id, answer, err := readBlob(b)
		if err != nil {
			return nil, err
		}
		j.record(id, eventEntered)
		return newBlob(id, 0, answer), nil
	})
	return t
}

// work is the handler of a processCall.
func (j *journal) work(ctx context.Context, c processCall) (uint64, error) {
	j.record(c.ID, eventEntered)
	amount := time.Duration(c.Amount)
	switch c.Action {
	case processSpins:
		for end := time.Now().Add(amount % time.Millisecond); time.Now().Before(end); {
			runtime.Gosched()
		}
	case processWaits:
		<-time.After(amount % time.Millisecond)
	case processFails:
		return 0, c.failure()
	case processPanics:
		panic(c.failure())
	case processGoexits:
		runtime.Goexit()
	case processFloods:
		j.flood(c)
	case processAwaits:
		<-ctx.Done()
	case processHangs:
		select {}
	case processExits:
		os.Exit([]int{0, 3}[c.Amount%2])
	case processCrashes:
		go panic(c.failure())
		select {}
	case processDies:
		die()
	case processDiesLater:
		time.AfterFunc(amount%(2*time.Millisecond), die)
	case processDiesSettled:
		if err := j.dieSettled(c.ID); err != nil {
			return 0, err
		}
	}
	return soakAnswer(c.ID), nil
}

// die kills the process.
func die() {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Kill()
	}
	select {}
}

// flood writes lines to the two outputs of the process.
func (j *journal) flood(c processCall) {
	for i := range c.Amount {
		out := os.Stdout
		if i%2 == 1 {
			out = os.Stderr
		}
		if _, err := fmt.Fprintf(out, floodLine+"\n", c.ID, i, floodFill); err != nil {
			return
		}
	}
	j.record(c.ID, eventFlooded)
}

// runFrame is the function of package pool that runs a handler and then publishes its answer. It
// is on the stack of the handler until the answer is published.
const runFrame = "/pool.(*worker).run("

// dieSettled kills the process as soon as the answer of the handler that calls it is published:
// when its goroutine runs no handler, or another one. It records that before.
func (j *journal) dieSettled(call uint64) error {
	stack := func(buf []byte, all bool) string { return string(buf[:runtime.Stack(buf, all)]) }
	own := stack(make([]byte, 64<<10), false)
	name, _, _ := strings.Cut(own, "[")
	if !strings.Contains(own, runFrame) || !strings.Contains(own, "dieSettled(") {
		return fmt.Errorf("the stack of a handler has no %s:\n%s", runFrame, own)
	}
	go func() {
		for buf := make([]byte, 1<<20); handles(stack(buf, true), name); {
			runtime.Gosched()
		}
		j.record(call, eventAnswered)
		die()
	}()
	return nil
}

// handles reports whether the goroutine whose stack begins with name runs a handler. The
// goroutine never ends, so a dump without it is cut.
func handles(stacks, name string) bool {
	for g := range strings.SplitSeq(stacks, "\n\n") {
		if strings.HasPrefix(g, name) {
			return strings.Contains(g, runFrame)
		}
	}
	return true
}

// blobHead is the number of bytes of a blob before its content: the number of its call and the
// size of the answer.
const blobHead = 16

// newBlob returns a blob of that size, at least blobHead. Its content depends on the number.
func newBlob(id uint64, answer, size int) []byte {
	b := make([]byte, max(size, blobHead))
	binary.LittleEndian.PutUint64(b, id)
	binary.LittleEndian.PutUint64(b[8:], uint64(answer))
	content := b[blobHead:]
	for i := range min(len(content), blobPeriod) {
		content[i] = byte(uint64(i) + 7*id)
	}
	for n := blobPeriod; n < len(content); n *= 2 {
		copy(content[n:], content[:n])
	}
	return b
}

// blobPeriod is the period of the content of a blob, in bytes: no power of two, so that a block
// at a wrong position is found.
const blobPeriod = 251

// readBlob returns what newBlob was called with. It returns an error if the content is another
// one.
func readBlob(b []byte) (id uint64, answer int, err error) {
	if len(b) < blobHead {
		return 0, 0, fmt.Errorf("a blob has %d bytes", len(b))
	}
	id, answer = binary.LittleEndian.Uint64(b), int(binary.LittleEndian.Uint64(b[8:]))
	if want := newBlob(id, answer, len(b)); string(want) != string(b) {
		return 0, 0, fmt.Errorf("a blob of call %d with %d bytes has another content", id, len(b))
	}
	return id, answer, nil
}
