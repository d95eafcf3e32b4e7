package tour

import (
	"fmt"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"time"

	"github.com/lanewright/lanewright/internal/bench"
	"github.com/lanewright/lanewright/internal/rusage"
	"github.com/lanewright/lanewright/sched"
)

// lap is one measured run of a way.
type lap struct {
	began    int64
	cpuBegan time.Duration
	resets   bool // the system can reset the peak of the memory

	elapsed time.Duration
	cpu     time.Duration
	cpuOK   bool
	memory  int64 // bytes: the peak, or the memory at the end when !resets
	tasks   int64
	stats   sched.Stats // zero without a scheduler
}

// start begins the measured part. It first returns the memory of earlier runs to the
// system.
func (l *lap) start() {
	debug.FreeOSMemory()
	l.resets = rusage.ResetPeak()
	l.cpuBegan, l.cpuOK = rusage.CPU()
	l.began = bench.Now()
}

// stop ends the measured part.
func (l *lap) stop() {
	l.elapsed = time.Duration(max(bench.Now()-l.began, 1))
	if cpu, ok := rusage.CPU(); ok {
		l.cpu = cpu - l.cpuBegan
	}
	if l.resets {
		l.memory, l.resets = rusage.Peak()
	}
	if !l.resets {
		l.memory = held()
	}
}

// held returns the bytes of memory that the Go runtime has from the system. The runtime
// returns memory slowly, so after a run this is about the peak of the run.
func held() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64() - s[1].Value.Uint64())
}

// medianOf returns the median of f over laps.
func medianOf(laps []*lap, f func(i int, l *lap) float64) float64 {
	v := make([]float64, len(laps))
	for i, l := range laps {
		v[i] = f(i, l)
	}
	return bench.Median(v)
}

// seconds returns the median of the time.
func (w *way) seconds() float64 {
	return medianOf(w.laps, func(_ int, l *lap) float64 { return l.elapsed.Seconds() })
}

// cpu returns the processor time in seconds, or false where it is unknown.
func (w *way) cpu() (float64, bool) {
	known := !slices.ContainsFunc(w.laps, func(l *lap) bool { return !l.cpuOK })
	return medianOf(w.laps, func(_ int, l *lap) float64 { return l.cpu.Seconds() }), known
}

func (w *way) cpuText() string {
	if cpu, ok := w.cpu(); ok {
		return fmt.Sprintf("%.3f s", cpu)
	}
	return "unknown"
}

// whole returns the median of f over the laps as an integer.
func (w *way) whole(f func(l *lap) float64) int64 {
	return int64(math.Round(medianOf(w.laps, func(_ int, l *lap) float64 { return f(l) })))
}

func (w *way) memory() int64 { return w.whole(func(l *lap) float64 { return float64(l.memory) }) }
func (w *way) tasks() int64  { return w.whole(func(l *lap) float64 { return float64(l.tasks) }) }
func (w *way) steals() int64 { return w.whole(func(l *lap) float64 { return float64(l.stats.Steals) }) }

func (w *way) wakes() int64 { return w.whole(func(l *lap) float64 { return float64(l.stats.Wakes) }) }

func (w *way) memoryText() string { return fmt.Sprintf("%.0f MB", float64(w.memory())/1e6) }

func (w *way) tasksText() string {
	if w.tasks() == 0 {
		return ""
	}
	return thousands(w.tasks())
}
