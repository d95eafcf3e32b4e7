//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lanewright/lanewright/internal/bench"
	"github.com/lanewright/lanewright/internal/helper"
	"github.com/lanewright/lanewright/pool"
)

// MeasureHost starts a new host, which opens a pool of that many lanes, calls each of them, and leaves it idle for a time.
// A new host has no threads and no memory of other benchmarks, which it could use again. The host may use as many
// processors as this process.
func MeasureHost(ctx context.Context, lanes int, idle time.Duration) (use HostUse, err error) {
	exe, err := os.Executable()
	if err != nil {
		return use, err
	}
	cmd := exec.CommandContext(ctx, exe)
	cmd.Env = append(os.Environ(),
		helper.Variable+"=host:"+strconv.Itoa(lanes)+","+idle.String(),
		"GOMAXPROCS="+strconv.Itoa(runtime.GOMAXPROCS(0)))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	end, err := cmd.StdinPipe() // the host ends when this process does
	if err != nil {
		return use, err
	}
	text, err := cmd.Output()
	_ = end.Close()
	if err != nil {
		return use, fmt.Errorf("a new host: %w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	if err := json.Unmarshal(text, &use); err != nil {
		return use, fmt.Errorf("the report of a new host: %w", err)
	}
	if use.Unsupported {
		return use, fmt.Errorf("threads and memory of a host: %w", errors.ErrUnsupported)
	}
	return use, nil
}

// runHost is the process of MeasureHost.
func runHost(arg string) error {
	count, rest, _ := strings.Cut(arg, ",")
	lanes, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	idle, err := time.ParseDuration(rest)
	if err != nil {
		return err
	}
	if err := os.Unsetenv(helper.Variable); err != nil { // its workers have no role
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	use, err := measureHost(lanes, idle)
	if errors.Is(err, errors.ErrUnsupported) {
		use, err = HostUse{Unsupported: true}, nil
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(use)
}

// measureHost measures this process before a pool and with it.
func measureHost(lanes int, idle time.Duration) (use HostUse, err error) {
	if err := warmHost(); err != nil {
		return use, err
	}
	threads, memory, err := ownUse()
	if err != nil {
		return use, err
	}
	t := NewTasks()
	p, err := pool.New(&t.Handlers, pool.Config{Lanes: lanes, Process: new(pool.Process)})
	if err != nil {
		return use, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	for i, l := range p.Lanes() {
		if got, err := pool.CallAt(context.Background(), l.ID, t.Add, i); got != i+1 || err != nil {
			return use, fmt.Errorf("a call of lane %d answers %d, %w", i, got, err)
		}
	}
	time.Sleep(idle)
	threadsNow, memoryNow, err := ownUse()
	if err != nil {
		return use, err
	}
	serving := 0
	for _, w := range p.Workers() {
		if w.State == "serving" && w.Deaths == 0 {
			serving++
		}
	}
	if serving != lanes {
		return use, fmt.Errorf("%d workers serve, want %d", serving, lanes)
	}
	return HostUse{Threads: threadsNow - threads, BytesPerLane: float64(memoryNow-memory) / float64(lanes)}, nil
}

// warmHost makes the Go runtime have the threads that it has in any program which computes and runs processes: it
// computes on all processors and waits for a process. They are then no threads of the pool.
func warmHost() error {
	work := bench.NewWork(20 * time.Millisecond)
	var all sync.WaitGroup
	wrong := make([]bool, runtime.GOMAXPROCS(0))
	for i := range wrong {
		all.Go(func() { wrong[i] = !work.Do() })
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(exe) // package child would start a thread, which belongs to a pool
	cmd.Env = append(os.Environ(), helper.Variable+"=nothing")
	if err := cmd.Run(); err != nil {
		return err
	}
	all.Wait()
	for _, w := range wrong {
		if w {
			return errors.New("a computation gave a wrong result")
		}
	}
	return nil
}

// ownUse returns the number of threads of this process and its resident memory.
func ownUse() (threads, memory int, err error) {
	debug.FreeOSMemory()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return 0, 0, fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, 0, fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	var size, resident int
	if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
		return 0, 0, fmt.Errorf("/proc/self/statm: %w", err)
	}
	return len(tasks), resident * os.Getpagesize(), nil
}
