package tour

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/workload"
	"github.com/lanewright/lanewright/internal/merkle"
	"github.com/lanewright/lanewright/sched"
)

// unreadableShown is the number of unreadable files that the text lists.
const unreadableShown = 10

// tourHash is the second part of the tour.
func tourHash(ctx context.Context, r *report) error {
	r.printf("\n2. SHA-256 of every file in %s\n", r.Dir)
	// The first reading fills the page cache, so that no way pays for the disk.
	r.step("reading the tree once")
	warm := merkle.NewPass(ctx, r.Dir)
	goHash(warm, r.Workers)
	if err := warm.Err(); err != nil {
		return err
	}
	want := warm.Sum()
	s := stage{name: "merkle", result: want.String(), files: warm.Files(), bytes: warm.Bytes()}
	for _, u := range warm.Unreadable() {
		s.unreadable = append(s.unreadable, u.Err.Error())
	}
	r.printf(`
   %s files, %s directories, %.1f MB. Each file is one task, and so is each directory.

`, thousands(warm.Files()), thousands(warm.Dirs()), float64(warm.Bytes())/1e6)

	run := func(hash func(l *lap, p *merkle.Pass) error) func(*lap) error {
		return func(l *lap) error {
			p := merkle.NewPass(ctx, r.Dir)
			if err := hash(l, p); err != nil {
				return err
			}
			if err := p.Err(); err != nil {
				return err
			}
			if got := p.Sum(); got != want {
				return fmt.Errorf("the hash is %v and was %v before: did a file change?", got, want)
			}
			return nil
		}
	}
	s.ways = []way{
		{name: waySequential, run: run(func(l *lap, p *merkle.Pass) error {
			l.start()
			loopHash(p)
			l.stop()
			return nil
		})},
		{name: wayGoroutines, run: run(func(l *lap, p *merkle.Pass) error {
			l.start()
			goHash(p, r.Workers)
			l.stop()
			l.tasks = p.Visited()
			return nil
		})},
		{name: wayLanewright, run: run(func(l *lap, p *merkle.Pass) error { return hashTasks(l, p, r.Workers) })},
	}
	if err := s.race(ctx, r, 10*time.Second); err != nil {
		return err
	}
	if err := s.write(r); err != nil {
		return err
	}
	r.printf(`
   All ways computed the same root: %s
   %s
   The system opens, reads and closes the files. That costs the same in all three ways, so the gain
   is smaller than in the sort. There is one goroutine for each file too, of which at most %d read
   at a time. The scheduler needs no such bound: it runs at most %d tasks at once.
`, s.result, s.verdict(), filesAtOnce(r.Workers), r.Workers)
	if n := len(s.unreadable); n > 0 {
		r.printf("\n   %s could not be read and count as unreadable:\n", thousands(int64(n)))
		for _, u := range s.unreadable[:min(n, unreadableShown)] {
			r.printf("     %s\n", u)
		}
		if n > unreadableShown {
			r.printf("     and %s more\n", thousands(int64(n-unreadableShown)))
		}
	}
	return nil
}

// loopHash visits the nodes one after another.
func loopHash(p *merkle.Pass) {
	s := merkle.NewScratch()
	var visit func(n *merkle.Node)
	visit = func(n *merkle.Node) {
		children := n.Visit(s)
		for i := range children {
			visit(&children[i])
		}
	}
	visit(p.Root())
}

// filesAtOnce returns how many goroutines may read files or directories at once.
func filesAtOnce(workers int) int { return 2 * workers }

// goHash visits each node on a goroutine of its own. A channel of buffers limits how many
// goroutines read at once, and thus the number of buffers.
func goHash(p *merkle.Pass, workers int) {
	buffers := make(chan *merkle.Scratch, filesAtOnce(workers))
	for range cap(buffers) {
		buffers <- merkle.NewScratch()
	}
	var wg sync.WaitGroup
	var visit func(n *merkle.Node)
	visit = func(n *merkle.Node) {
		s := <-buffers
		children := n.Visit(s)
		buffers <- s
		wg.Add(len(children))
		for i := range children {
			go visit(&children[i])
		}
		wg.Done()
	}
	wg.Add(1)
	go visit(p.Root())
	wg.Wait()
}

// nodeTask is a task that visits one node.
type nodeTask = sched.Job[*merkle.Node]

// hasher visits the nodes with a task for each.
type hasher struct {
	g       *sched.Group
	scratch []*merkle.Scratch // by worker
	fn      func(*sched.Worker, *nodeTask)
	err     workload.FirstError
}

// hashTasks visits the nodes of p on a scheduler of its own.
func hashTasks(l *lap, p *merkle.Pass, workers int) error {
	l.start()
	s, err := sched.New(sched.Config{MaxWorkers: workers})
	if err != nil {
		return err
	}
	h := &hasher{g: s.NewGroup(sched.GroupConfig{}), scratch: make([]*merkle.Scratch, workers)}
	h.fn = h.visit
	root := nodeTask{Value: p.Root(), Fn: h.fn}
	err = errors.Join(h.g.Schedule(nil, root.Task()), h.g.Wait())
	l.stop()
	if err := errors.Join(err, h.err.Get(), workload.Shutdown(s)); err != nil {
		return err
	}
	l.stats = s.Stats()
	l.tasks = int64(l.stats.Executed)
	if want := p.Visited(); p.Err() == nil && l.tasks != want {
		return fmt.Errorf("%d tasks were run, want %d", l.tasks, want)
	}
	return nil
}

// visit is one task. It schedules the children of its node as one batch. The reads are not
// inside Worker.Blocking: they block shortly, because the first reading has put the
// files into memory.
func (h *hasher) visit(w *sched.Worker, t *nodeTask) {
	id := w.ID()
	if h.scratch[id] == nil {
		h.scratch[id] = merkle.NewScratch()
	}
	children := t.Value.Visit(h.scratch[id])
	if len(children) == 0 {
		return
	}
	tasks := make([]nodeTask, len(children))
	var b sched.Batch
	var err error
	for i := range tasks {
		tasks[i].Value, tasks[i].Fn = &children[i], h.fn
		err = errors.Join(err, b.Add(tasks[i].Task()))
	}
	if err = errors.Join(err, h.g.ScheduleBatch(w, &b)); err != nil {
		h.err.Set(err)
	}
}
