package sched_test

import (
	"bytes"
	"context"
	"runtime/pprof"
	"runtime/trace"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/sched"
)

// TestTrace: each task is a region of the execution trace if and only if Config.Trace is set.
func TestTrace(t *testing.T) {
	if trace.IsEnabled() {
		t.Skip("the test program is being traced")
	}
	for _, on := range []bool{false, true} {
		var buf bytes.Buffer
		if err := trace.Start(&buf); err != nil {
			t.Skip(err)
		}
		s, err := sched.New(sched.Config{MaxWorkers: 2, Trace: on})
		must(t, err)
		l := newLatch(10)
		for range 10 {
			must(t, s.Go(l.hit))
		}
		l.wait(t)
		ran := 0
		must(t, s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran++ }}))
		must(t, s.Shutdown(within(t)))
		trace.Stop()
		if ran != 1 {
			t.Errorf("Trace %v: the task of the Do ran %d times", on, ran)
		}
		if got := bytes.Contains(buf.Bytes(), []byte("sched.Task")); got != on {
			t.Errorf("Trace %v: regions in the trace: %v", on, got)
		}
	}
}

// TestTraceOff: with Config.Trace set, tasks run and panic as usual while no trace is active.
func TestTraceOff(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1, Trace: true})
	g := s.NewGroup(sched.GroupConfig{})
	must(t, g.Schedule(nil, &sched.Task{Fn: func(*sched.Worker, *sched.Task) { panicHere() }}))
	func() {
		defer func() {
			if _, ok := recover().(*sched.PanicError); !ok {
				t.Error("the panic was not carried")
			}
		}()
		_ = g.Wait()
	}()
	ran := false
	must(t, s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran = true }}))
	if !ran {
		t.Error("no task runs after a panic in a region")
	}
}

// heldInProfile blocks until release is closed. The test finds its name in the goroutine
// profile.
//
//go:noinline
func heldInProfile(entered *latch, release chan struct{}) {
	entered.hit()
	<-release
}

// labelsInProfile returns the labels of the goroutines in heldInProfile, as the goroutine
// profile prints them.
func labelsInProfile(t *testing.T) (labels []string) {
	t.Helper()
	var buf bytes.Buffer
	must(t, pprof.Lookup("goroutine").WriteTo(&buf, 1))
	for record := range strings.SplitSeq(buf.String(), "\n\n") {
		if !strings.Contains(record, ".heldInProfile") {
			continue
		}
		line := ""
		for l := range strings.SplitSeq(record, "\n") {
			if strings.HasPrefix(l, "# labels:") {
				line = l
			}
		}
		labels = append(labels, line)
	}
	return labels
}

// TestLabels: a worker has the labels of Config.Labels, and no label of the goroutine whose
// Schedule started it.
func TestLabels(t *testing.T) {
	for _, on := range []bool{false, true} {
		s, err := sched.New(sched.Config{MaxWorkers: 3, Labels: on})
		must(t, err)
		entered, release := newLatch(3), make(chan struct{})
		pprof.Do(context.Background(), pprof.Labels("caller", "mine"), func(context.Context) {
			// This goroutine starts one worker, and workers start the others.
			must(t, s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				for range 2 {
					err := w.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {
						heldInProfile(entered, release)
					}})
					if err != nil {
						t.Error(err)
					}
				}
				heldInProfile(entered, release)
			}}))
		})
		entered.wait(t)
		got := labelsInProfile(t)
		close(release)
		must(t, s.Shutdown(within(t)))
		if len(got) == 0 {
			t.Fatal("the profile does not show the workers")
		}
		for _, l := range got {
			if strings.Contains(l, "caller") {
				t.Errorf("Labels %v: a worker has labels of its starter: %s", on, l)
			}
			if strings.Contains(l, "lanewright.worker") != on {
				t.Errorf("Labels %v: a worker has the labels %q", on, l)
			}
		}
		if on && len(got) != 3 {
			t.Errorf("three workers have %d sets of labels: %q", len(got), got)
		}
	}
}

// profiled has callbacks of each kind that enter heldInProfile.
type profiled struct {
	entered *latch
	release chan struct{}
}

func (h profiled) task(*sched.Worker, *sched.Task) { heldInProfile(h.entered, h.release) }
func (h profiled) function()                       { heldInProfile(h.entered, h.release) }
func (h profiled) inGroup() error                  { heldInProfile(h.entered, h.release); return nil }

func (h profiled) afterWait(w *sched.Worker, _ *sched.Task) {
	var g sched.Group
	_ = g.Schedule(w, noTask())
	_ = w.Wait(&g)
	heldInProfile(h.entered, h.release)
}

// TestLabelsNameTasks: with Config.Labels a worker has the name of its task as a label, also after
// another task has run on top of it, and not after the task. V-06e.
func TestLabelsNameTasks(t *testing.T) {
	s := openScheduler(t, sched.Config{MaxWorkers: 4, Labels: true})
	h := profiled{newLatch(4), make(chan struct{})}
	g := s.NewGroup(sched.GroupConfig{})
	must(t, s.Schedule(&sched.Task{Fn: h.task}, &sched.Task{Fn: h.afterWait}))
	must(t, s.Go(h.function))
	g.Go(h.inGroup)
	h.entered.wait(t)
	got := strings.Join(labelsInProfile(t), "\n")
	for _, name := range []string{"task", "function", "inGroup", "afterWait"} {
		if want := `sched_test.profiled.` + name + `-fm"`; strings.Count(got, want) != 1 {
			t.Errorf("the workers have the labels\n%s\nwant one with %q", got, want)
		}
	}
	close(h.release)
	until("no worker has the label of a task", func() bool {
		var profile bytes.Buffer
		must(t, pprof.Lookup("goroutine").WriteTo(&profile, 1))
		return !strings.Contains(profile.String(), `sched_test.profiled.`)
	})
	atRest(t, s)
}

// TestDoKeepsLabels: Do leaves the labels of the goroutine of its caller unchanged.
func TestDoKeepsLabels(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1, Labels: true})
	pprof.Do(context.Background(), pprof.Labels("caller", "mine"), func(context.Context) {
		must(t, s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {
			var buf bytes.Buffer
			if err := pprof.Lookup("goroutine").WriteTo(&buf, 1); err != nil {
				t.Error(err)
			}
			if !strings.Contains(buf.String(), `"caller":"mine"`) {
				t.Error("a Do removed the labels of its caller")
			}
		}}))
	})
}
