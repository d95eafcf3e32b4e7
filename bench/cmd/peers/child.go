package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/lanewright/lanewright/bench/peers"
	"github.com/lanewright/lanewright/bench/rows"
	"github.com/lanewright/lanewright/internal/rusage"
)

// child is the first argument of a process that measures one row.
const child = "measure"

// sizes holds the sizes by name. Tests measure tiny ones.
var sizes = map[string]func() peers.Sizes{"full": peers.Full, "tiny": peers.Tiny}

// task is one row to measure.
type task struct {
	workload *peers.Workload
	peer     *peers.Peer
	workers  int
	runs     int
	sizes    string // "full" or "tiny"
}

// args are the arguments of the process that measures the row.
func (t task) args() []string {
	return []string{child, t.sizes, t.workload.Name, t.peer.Name, strconv.Itoa(t.workers), strconv.Itoa(t.runs)}
}

// taskOf is the inverse of task.args.
func taskOf(args []string) (task, error) {
	bad := fmt.Errorf("%s wants sizes, workload, peer, workers and runs, and got %q", child, args)
	if len(args) != 5 || sizes[args[0]] == nil {
		return task{}, bad
	}
	t := task{sizes: args[0], workload: peers.Pick(peers.Suite(sizes[args[0]]()), args[1]), peer: peers.Find(args[2])}
	var e1, e2 error
	t.workers, e1 = strconv.Atoi(args[3])
	t.runs, e2 = strconv.Atoi(args[4])
	if t.workload == nil || t.peer == nil || e1 != nil || e2 != nil {
		return task{}, bad
	}
	return t, nil
}

// measure is the child. It prints a line with its processor time in nanoseconds before
// each run, and the row at the end.
func measure(ctx context.Context, args []string, out io.Writer) error {
	t, err := taskOf(args)
	if err != nil {
		return err
	}
	begin := func() {
		used, _ := rusage.CPU()
		_, _ = fmt.Fprintln(out, int64(used))
	}
	res, err := t.workload.Benchmark(t.peer, begin).Measure(ctx, t.workers, t.runs, nil)
	if err != nil {
		return err
	}
	res.Row.Impl = t.peer.Name
	return rows.Row{Row: res.Row, Note: t.workload.Note}.WriteJSON(out)
}

// outcome is the result of a child.
type outcome struct {
	rows []rows.Row
	late bool // it printed no line within the limit and was killed
	busy bool // it was late and used processor time, so it was not deadlocked
}

// follow runs a process to its end. It kills a process that prints no line within limit.
func follow(ctx context.Context, limit time.Duration, name string, args ...string) (outcome, error) {
	var o outcome
	errLate := errors.New("late")
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = 10 * time.Second
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return o, err
	}
	if err := cmd.Start(); err != nil {
		return o, err
	}
	timer := time.AfterFunc(limit, func() { cancel(errLate) })
	defer timer.Stop()
	var used int64 // processor time at the begin of the last run
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		timer.Reset(limit)
		if n, err := strconv.ParseInt(lines.Text(), 10, 64); err == nil {
			used = n
			continue
		}
		some, err := rows.Read(strings.NewReader(lines.Text()))
		if err != nil {
			cancel(err)
			break
		}
		o.rows = append(o.rows, some...)
	}
	err = cmd.Wait()
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errLate):
		o.late = true
		s := cmd.ProcessState
		o.busy = s.UserTime()+s.SystemTime()-time.Duration(used) > limit/12 // a deadlocked run uses a little at its start
		return o, nil
	case cause != nil:
		return o, cause
	case err != nil:
		return o, fmt.Errorf("%w: %s", err, firstLine(stderr.String()))
	default:
		return o, lines.Err()
	}
}

// firstLine returns the first line of text: the message of a panic.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
