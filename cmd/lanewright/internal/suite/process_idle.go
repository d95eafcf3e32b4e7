package suite

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/remote"
	"github.com/lanewright/lanewright/internal/bench"
)

// processIdleSetup measures the processor time of this process after a burst of calls to each of 64 worker processes,
// while there are no calls.
func (z sizes) processIdleSetup() (*bench.Instance, error) {
	var all parts
	p, err := all.pool(z.process.lanes64)
	if err != nil {
		return all.fail(err)
	}
	n := max(z.process.calls/20, z.process.lanes64)
	return &bench.Instance{
		Run:   p.checked(n, z.afterBurst(func() error { return p.burst(n) })),
		Close: all.end,
	}, nil
}

// hostSetup measures a new host with 64 idle worker processes. Threads and memory that this process had before could
// serve a pool, and would be missing in the figure.
func (z sizes) hostSetup(figure func(remote.HostUse) float64) (*bench.Instance, error) {
	if err := checkProcesses(); err != nil {
		return nil, err
	}
	return &bench.Instance{Run: func(m *bench.Meter) error {
		m.Start()
		use, err := remote.MeasureHost(m.Context(), z.process.lanes64, z.process.settle)
		m.Stop(1)
		m.Report(figure(use))
		return err
	}}, nil
}

// memoryLanes is the number of worker processes whose memory is measured. A page of the program is not private to one of
// several.
const memoryLanes = 8

// processMemorySetup measures the private memory of worker processes after a burst of calls to each of them. The value is
// their mean.
func (z sizes) processMemorySetup() (*bench.Instance, error) {
	var all parts
	p, err := all.pool(memoryLanes)
	if err != nil {
		return all.fail(err)
	}
	if _, err := privateBytes(os.Getpid()); err != nil {
		return all.fail(err)
	}
	n := max(z.process.calls/20, memoryLanes)
	return &bench.Instance{
		Run: p.checked(n, func(m *bench.Meter) error {
			m.Start()
			if err := p.burst(n); err != nil {
				return err
			}
			total := 0
			workers := p.Workers()
			for _, w := range workers {
				private, err := privateBytes(w.Pid)
				if err != nil {
					return err
				}
				total += private
			}
			m.Stop(1)
			if len(workers) != memoryLanes {
				return fmt.Errorf("there are %d worker processes, want %d", len(workers), memoryLanes)
			}
			m.Report(float64(total) / memoryLanes)
			return m.Context().Err()
		}),
		Close: all.end,
	}, nil
}

// privateBytes returns the memory of a process that no other process has.
func privateBytes(pid int) (int, error) {
	name := "/proc/" + strconv.Itoa(pid) + "/smaps_rollup"
	text, err := os.ReadFile(name)
	switch {
	case pid == os.Getpid() && errors.Is(err, fs.ErrNotExist):
		return 0, fmt.Errorf("the private memory of a process: %w: %w", errors.ErrUnsupported, err)
	case err != nil:
		return 0, err
	}
	total, fields := 0, 0
	for line := range bytes.Lines(text) {
		for _, field := range []string{"Private_Clean:", "Private_Dirty:"} {
			rest, ok := bytes.CutPrefix(line, []byte(field))
			if !ok {
				continue
			}
			kB, ok := bytes.CutSuffix(bytes.TrimSpace(rest), []byte(" kB"))
			n, err := strconv.Atoi(string(kB))
			if !ok || err != nil {
				return 0, fmt.Errorf("%s: %q is no size", name, line)
			}
			total += n << 10
			fields++
		}
	}
	if fields != 2 {
		return 0, fmt.Errorf("%s: found %d of 2 fields", name, fields)
	}
	return total, nil
}
