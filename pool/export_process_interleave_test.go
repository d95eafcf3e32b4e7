//go:build interleave

package pool

import (
	"time"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/child"
	"github.com/lanewright/lanewright/transport"
)

// modelProcess stands for a worker process in a model: a thread at the other end of a link.
type modelProcess struct {
	e      *processExecutor
	link   *transport.Link
	dead   atomix.Bool
	killed atomix.Bool
}

// NoProcess as the life of a process says that it cannot be started, nor can a later one.
const NoProcess = -2

// ModelProcesses makes the processes of pools threads of the exploration. run is the thread of the process with that
// number, from 1 on, of a lane. killed reports whether the host has killed it. It dies when run returns.
func ModelProcesses(life func(lane, number int) int, run func(lane, number int, w *transport.WorkerEnd, killed func() bool)) {
	boot = func(e *processExecutor) (*processLink, error) {
		q := e.p.processes
		link := q.link
		e.told.Store(e.p.concurrency.Load())
		link.Spin = -1
		l, err := transport.NewLink(link)
		if err != nil {
			return nil, err
		}
		e.starts++
		for life(e.index, int(e.starts)) == NoProcess {
			e.obey(nil)
			e.parker.Park()
		}
		p, number := &modelProcess{e: e, link: l}, int(e.starts)
		e.host.Store(l.Host())
		interleave.GoDaemon("process", func() {
			run(e.index, number, l.Worker(), p.killed.Load)
			p.dead.Store(true)
			l.Host().WakeOwn()
			e.parker.Unpark()
		})
		return &processLink{worker: p}, nil
	}
}

func (p *modelProcess) Host() *transport.HostEnd    { return p.link.Host() }
func (p *modelProcess) IsDead() bool                { return p.dead.Load() }
func (p *modelProcess) Done() <-chan struct{}       { return closedChan }
func (p *modelProcess) OutputRead() <-chan struct{} { return closedChan }
func (p *modelProcess) State() *child.State         { return nil }
func (p *modelProcess) Pid() int                    { return 1 }
func (p *modelProcess) Tail() string                { return "" }
func (p *modelProcess) Close() error                { return nil }

func (p *modelProcess) Kill() error {
	p.killed.Store(true)
	p.link.Worker().WakeOwn()
	return nil
}

// Work is a worker process with the handlers of h, until the other end is closed.
func Work(h *Handlers, end *transport.WorkerEnd) { newWorker(h, end, nil).work() }

// Sent returns how many calls the process of a lane has not answered.
func (p *Pool) Sent(lane int) int {
	return int(p.lanes[lane].executor.(*processExecutor).unanswered.Load())
}

// Ahead returns how many calls may be sent ahead to the process of a lane.
func (p *Pool) Ahead(lane int) int { return p.lanes[lane].executor.(*processExecutor).ahead }

// SetTicks makes f the clock of the answers.
func SetTicks(f func() uint64) { ticks = f }

// The kinds of notices that a call has ended, and how many handlers may run.
const (
	NoticeEnded   = noticeEnded
	NoticeDropped = noticeDropped
	NoticeLimit   = noticeLimit
)

// LimitClock gives the pool a clock for the hard limit of the next call, and returns what its timer does.
func (p *Pool) LimitClock() (fire func()) {
	k := &clock{fires: time.Now()} // so no timer is set
	p.limits.Put(k)
	return func() {
		k.mu.Lock()
		e := k.timed
		k.timed = timed{}
		k.mu.Unlock()
		if e.c != nil {
			e.end()
		}
	}
}
