package pool

import (
	"fmt"
	"strings"
	"time"

	"github.com/lanewright/lanewright/sched"
)

// LaneInfo describes one lane. Backlog and InFlight add up to Accepted less Ended. A lane counts a call for the moment in which it looks for one in the queue of the
// pool.
type LaneInfo struct {
	Lane            int    `json:"lane"`             // its number; -1: the lane of the callers
	ID              LaneID `json:"id"`               // its id; calls cannot name the lane of the callers
	Inline          bool   `json:"inline,omitempty"` // whether it is the lane of the callers
	Leased          bool   `json:"leased,omitempty"` // whether a lease has it; not while it is reserved for one
	Backlog         int    `json:"backlog"`          // calls that have come through a lease, from a handler of the lane, or to the lane of the callers, and wait
	InFlight        int    `json:"inFlight"`         // calls that run, or are about to; those that a process has
	Accepted        uint64 `json:"accepted"`         // calls taken
	Ended           uint64 `json:"ended"`            // of those, calls that have their outcome
	Direct          uint64 `json:"direct"`           // calls that ran on the goroutine of their caller
	DrainsScheduled uint64 `json:"drainsScheduled"`  // times that the drain of the lane was scheduled
	StaleResponses  uint64 `json:"staleResponses"`   // outcomes that came after the end of their call
	Abandoned       uint64 `json:"abandoned"`        // handlers that the hard limit or a Discard has left behind
	Overdue         int    `json:"overdue"`          // handlers that have a permit although their calls have ended
	Resent          uint64 `json:"resent,omitempty"` // calls that its processes have not started before they died, and that went to other lanes
	Ends            Ends   `json:"ends,omitzero"`    // Ended by cause

	Running       []Running `json:"running,omitempty"`       // the handlers that have a permit
	WaitingLeases int       `json:"waitingLeases,omitempty"` // goroutines that wait for a lease of this lane
}

// Running is a handler that runs.
type Running struct {
	Task string `json:"task"` // the name of its task
	Lane int    `json:"lane"` // the number of its lane

	// Since is a time at which the handler ran already. It is the time of the first Lanes, Metrics
	// or Shutdown that has found it, because a call does not read the clock.
	Since time.Time `json:"since"`
}

// Metrics is a snapshot of the counters of a pool.
type Metrics struct {
	Lanes          []LaneInfo  `json:"lanes"`           // all that the pool has had
	Waiting        int         `json:"waiting"`         // calls that wait and belong to no lane yet, also those that name one by its id
	Backlog        int         `json:"backlog"`         // Waiting and the backlogs of the lanes
	InFlight       int         `json:"inFlight"`        // calls that run, or are about to
	Accepted       uint64      `json:"accepted"`        // calls taken
	Ended          uint64      `json:"ended"`           // of those, calls that have their outcome
	StaleResponses uint64      `json:"staleResponses"`  // outcomes that came after the end of their call
	Abandoned      uint64      `json:"abandoned"`       // handlers that the hard limit or a Discard has left behind
	AbandonedNow   int         `json:"abandonedNow"`    // of those handlers, the ones that have not returned
	Ends           Ends        `json:"ends,omitzero"`   // Ended by cause
	Tasks          []TaskInfo  `json:"tasks,omitempty"` // in the order of their registration; pings last, as "request"
	NoLane         Ends        `json:"noLane,omitzero"` // of those, calls that ended before a lane took them
	Detached       int         `json:"detached"`        // calls without a lane: their handlers wait, or were left behind
	Concurrency    int         `json:"concurrency"`     // how many calls each lane may run at once
	Paused         bool        `json:"paused"`          // whether calls start
	Status         string      `json:"status"`          // "open", "draining" or "closed"
	SharedBytes    int64       `json:"sharedBytes"`     // of the memory that the pool shares with its processes: see Payload.Initial
	Scheduler      sched.Stats `json:"scheduler"`       // of what runs the handlers
}

// TaskInfo describes one task.
type TaskInfo struct {
	Task string `json:"task"`          // its name
	Ends Ends   `json:"ends,omitzero"` // its calls by the cause of their end
}

// Ends counts calls by the [Cause] of their end.
type Ends struct {
	Returned       uint64 `json:"returned,omitempty"`       // the handler returned no error
	Failed         uint64 `json:"failed,omitempty"`         // the handler returned an error
	Panicked       uint64 `json:"panicked,omitempty"`       // the handler panicked
	Exited         uint64 `json:"exited,omitempty"`         // the handler called runtime.Goexit
	Aborted        uint64 `json:"aborted,omitempty"`        // Future.Abort
	ContextEnded   uint64 `json:"contextEnded,omitempty"`   // the context of the call ended
	TimedOut       uint64 `json:"timedOut,omitempty"`       // the call took longer than its Timeout
	LimitExceeded  uint64 `json:"limitExceeded,omitempty"`  // the handler ran longer than Config.HardLimit
	PoolClosed     uint64 `json:"poolClosed,omitempty"`     // the pool was closed
	Dropped        uint64 `json:"dropped,omitempty"`        // a newer call took its space
	LaneDiscarded  uint64 `json:"laneDiscarded,omitempty"`  // its lane was discarded
	Refused        uint64 `json:"refused,omitempty"`        // there was no space for it
	ArgumentFailed uint64 `json:"argumentFailed,omitempty"` // its argument failed
	WorkerLost     uint64 `json:"workerLost,omitempty"`     // its worker process has died
}

// Of returns the count of cause k. It is 0 for CauseNone and for a value that is no Cause.
func (e Ends) Of(k Cause) uint64 {
	if k == CauseNone || k >= causes {
		return 0
	}
	return *e.of(k)
}

// of returns the field for cause k.
func (e *Ends) of(k Cause) *uint64 {
	return [causes]*uint64{
		nil, &e.Returned, &e.Failed, &e.Panicked, &e.Exited, &e.Aborted, &e.ContextEnded, &e.TimedOut,
		&e.LimitExceeded, &e.PoolClosed, &e.Dropped, &e.LaneDiscarded, &e.Refused, &e.ArgumentFailed, &e.WorkerLost,
	}[k]
}

// add adds the counts of o.
func (e *Ends) add(o Ends) {
	for k := CauseReturned; k < causes; k++ {
		*e.of(k) += *o.of(k)
	}
}

// info returns a snapshot of the lane. The caller has Pool.mu.
func (l *lane) info(now time.Time) LaneInfo {
	i := LaneInfo{
		Lane:            l.index,
		ID:              LaneID{l.index, l.generation()},
		Inline:          l.p.isInline(l),
		Leased:          l.hasLease(),
		WaitingLeases:   l.leaseWaits,
		Direct:          l.direct.Load(),
		DrainsScheduled: l.drains.Load(),
		StaleResponses:  l.stale.Load(),
		Abandoned:       l.dead.Load(),
		Overdue:         max(int(l.overdue.Load()), 0),
	}
	for k := CauseFailed; k < causes; k++ {
		*i.Ends.of(k) = l.ends[k].Load()
		i.Ends.Returned -= *i.Ends.of(k)
	}
	i.Resent = l.resent.Load() // before Ended
	i.Ended = l.ended.Load()   // before Accepted and after the causes, so that no difference is negative
	i.Ended -= i.Resent
	i.Ends.Returned += i.Ended
	i.Accepted = l.came() - i.Resent
	i.Backlog, i.InFlight = l.split(i.Accepted - i.Ended)
	for r := range l.everyRunner {
		if h, ok := r.running(now); ok {
			i.Running = append(i.Running, h)
		}
	}
	return i
}

// infos returns a snapshot of the lanes.
func (p *Pool) infos(lanes []*lane) []LaneInfo {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	infos := make([]LaneInfo, len(lanes))
	for i, l := range lanes {
		infos[i] = l.info(now)
	}
	return infos
}

// Lanes returns a snapshot of the lanes that take calls, in the order of the balancer.
func (p *Pool) Lanes() []LaneInfo {
	return p.infos(p.roster.Load().lanes)
}

// running returns the handlers that run, of which infos has those with a permit. Those without one
// are last.
func (p *Pool) running(infos []LaneInfo) (all []Running) {
	for _, i := range infos {
		all = append(all, i.Running...)
	}
	for _, o := range p.detachedInOrder(func(o detachedCall) bool { return o.l != nil }) {
		if o.n > 0 { // see presence
			all = append(all, Running{o.c.task.name, o.l.index, o.since})
		}
	}
	return all
}

// ShutdownError is the error of a Shutdown whose context has ended before the calls. It wraps the
// cause of that.
type ShutdownError struct {
	Running []Running // the handlers that ran then
	Waiting int       // how many calls waited to start
	at      time.Time
	cause   error
}

// maxNamed is how many handlers the text of a ShutdownError names.
const maxNamed = 4

// Error names the calls that were left.
func (e *ShutdownError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "pool: Shutdown: %v; %d calls wait and %d handlers run", e.cause, e.Waiting, len(e.Running))
	for i, r := range e.Running {
		if i == maxNamed {
			b.WriteString(", and others")
			break
		}
		fmt.Fprintf(&b, "%s%q on lane %d for %v or longer",
			[...]string{": ", ", "}[min(i, 1)], r.Task, r.Lane, e.at.Sub(r.Since).Round(time.Millisecond))
	}
	return b.String()
}

// Unwrap returns the cause of the context.
func (e *ShutdownError) Unwrap() error { return e.cause }

// unfinished returns the error of a Shutdown whose context has ended with cause.
func (p *Pool) unfinished(cause error) error {
	m := p.Metrics()
	return &ShutdownError{Running: p.running(m.Lanes), Waiting: m.Backlog, at: time.Now(), cause: cause}
}

// Metrics returns a snapshot of the counters of all lanes, those that Resize took
// out included. It may be marshalled to JSON.
func (p *Pool) Metrics() Metrics {
	m := Metrics{Concurrency: int(p.concurrency.Load()), Paused: p.pauses.Load(), Scheduler: p.sched.Stats()}
	m.Status = [...]string{open: "open", draining: "draining", shut: "closed"}[p.state.Load()]
	q := &p.shared
	for k := CauseReturned; k < causes; k++ { // before Accepted, as in info
		n := q.ends[k].Load()
		*m.NoLane.of(k) = n
		m.Ended += n
	}
	m.Ends.add(m.NoLane)
	for _, i := range p.infos(p.everyLane()) {
		m.Lanes = append(m.Lanes, i)
		m.Backlog += i.Backlog
		m.Ended += i.Ended
		m.StaleResponses += i.StaleResponses
		m.Accepted -= i.Resent // the queue of the pool has counted them again
		m.Abandoned += i.Abandoned
		m.Ends.add(i.Ends)
	}
	// Each call counts where it came to the pool: at a lane, at the gate, or as one for which there
	// was no space. A lane that takes one out of the queue does not count it as accepted again.
	for _, l := range p.everyLane() {
		m.Accepted += l.accepted.Load()
	}
	m.Accepted += q.full.Load() - q.leasedIn.Load() - q.refused.Load()
	m.Accepted += q.accepted.Load()
	left := int(m.Accepted - m.Ended)
	m.Waiting = min(q.waiting(), left)
	m.Backlog = min(m.Backlog+m.Waiting, left)
	m.InFlight = left - m.Backlog
	for _, e := range p.entries {
		m.Tasks = append(m.Tasks, e.info())
	}
	if t := p.pinged.info(); t.Ends != (Ends{}) {
		m.Tasks = append(m.Tasks, t)
	}
	m.Detached, _ = p.detachedCalls()
	m.AbandonedNow = max(int(p.abandoned.Load()), 0)
	m.SharedBytes = p.sharedBytes()
	return m
}
