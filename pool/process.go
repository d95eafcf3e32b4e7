package pool

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/child"
	"github.com/lanewright/lanewright/internal/crash"
	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/internal/process"
	"github.com/lanewright/lanewright/transport"
)

// Process makes the lanes of a pool worker processes: see [Config].Process. A call runs in the process of its lane. A
// fault, a leak or the end of a process does not concern the host, and neither does what it does to its own memory.
// The code of the process is trusted.
//
// The program of the worker registers the tasks that the host names, and calls [WorkerMain]. Often it is the program
// of the host itself. The argument and the result of a call cross as package transport encodes their types. New
// refuses a task whose types have no encoding.
//
// A process that has ended is replaced: at once if it has answered a call, and otherwise after 10 ms to 10 s. A call
// that it may have run ends with an error that is [ErrWorkerLost]. A call that it has not started goes to another lane,
// in front of those that wait. One that came through a lease or names the lane ends with [ErrLaneDiscarded] and
// [ErrNotStarted] instead, because the state of the process is gone, and the lane has a new [LaneID]. An answer that the
// process has sent is not lost.
//
// While calls are short and no lane is idle, a process has more calls than it may run at once, up to 31. If one of them takes
// long, the calls behind it wait for it, although another process may be idle by then. So handlers do not wait for each other.
// With Config.HardLimit a process has no more calls than it may run.
//
// A handler cannot be ended alone. The hard limit of a call, and Discard, kill the process of its lane. An aborted call
// that runs keeps its place in the process until its handler has returned. Calls to processes do not run on the
// goroutines of their callers, so [CallerRuns], the inline lane, and the options Prompt and Remote of a task have no
// meaning there.
//
// A worker process works on systems with fork and shared memory. Elsewhere New returns an error that matches
// [errors.ErrUnsupported]. The tests of a package that uses such a pool call WorkerMain in TestMain.
type Process struct {
	// Command is the program of the worker and its arguments. nil is the program of the host again.
	Command []string
	// Prefix is a command in front of Command that runs it, such as nice or env. It must pass on the environment and the
	// descriptors. A kill reaches the processes of its session.
	Prefix []string
	// Dir is the working directory of the worker. "" is the root directory.
	Dir string
	// Env is what the worker gets of the environment: names of variables of the host, or NAME=value. It gets the language,
	// the time zone and the settings of the Go runtime in any case, and nothing else.
	Env []string
	// StartTimeout is how long a worker may take from its start until it is ready for calls. 0 means 30 seconds.
	StartTimeout time.Duration
	// StopGrace is how long a worker may take to end, from the request until it is killed. 0 means 5 seconds.
	StopGrace time.Duration
	// Payload bounds the arguments and results.
	Payload Payload
	// LowMemory makes a worker use less memory and run slower. Payload.Initial is 256 KiB then if it is 0, or Payload.Max
	// if that is less. The worker gets GOMAXPROCS=1 and GOGC=50 in place of the values of the host. An element of Env that
	// sets one of these variables has priority. On the one processor of Go a handler that computes delays the other calls
	// of its worker, and the end of its own context, by up to 10 ms.
	LowMemory bool
	// Region is where the memory is that host and worker share.
	Region RegionKind
	// Output, when not nil, is called with each line of the standard output and error of a worker, without its end. isErr
	// distinguishes the two. If it is nil, the lines go to the standard error of the host, with the number of the lane.
	Output func(lane int, line []byte, isErr bool)
	// Bootstrap is the name of a function of [OnStart], which the worker runs before it takes calls. "" means none.
	Bootstrap string
}

// Payload bounds the bytes of arguments and results of a process lane: see [transport.Config]. The zero Payload stands
// for the defaults of that. The memory of a direction grows from Initial to Max when payloads need it. It never becomes
// smaller. [Metrics].SharedBytes has it at its initial size, because the host does not see how far a worker has grown
// its direction. With the defaults a process shares 8 MiB with the host, and 44 KiB of mailboxes.
type Payload struct {
	Initial  int // for each direction, before it grows
	Max      int // for each direction
	PerValue int // of one argument or result
}

// RegionKind is where the memory is that a host and a worker share.
type RegionKind uint8

// The kinds of memory. Linux has all of them. Darwin and the BSDs have File.
const (
	Sealed RegionKind = iota // without a name, and the kernel keeps the worker from writing to requests
	Named                    // a file in /dev/shm, allocated in full
	File                     // a file without a name, allocated in full
)

// The errors of worker processes. Test for them with errors.Is.
var (
	// ErrWorkerLost ends a call that its worker process may have run, and has not answered. The error of such a call is
	// never ErrNotStarted. That of a call which has not started may be both if the cause is the end of another call: the
	// cause of its context, of a Discard, or the argument of an After.
	ErrWorkerLost = errors.New("pool: the worker process has ended before it has answered")
	// ErrWorkerExited is ErrWorkerLost of a process that has ended with exit code 0.
	ErrWorkerExited = errors.New("pool: the worker process has exited")
	// ErrWorkerBoot reports a worker process that could not be started, or was not ready in Process.StartTimeout.
	ErrWorkerBoot = errors.New("pool: the worker process has not become ready")
	// ErrHandlersMismatch reports a worker process that does not have the same tasks as the host. It is ErrWorkerBoot too.
	ErrHandlersMismatch = errors.New("pool: the worker process has other tasks")
	// ErrNestedWorker refuses a pool in a worker process, and a call of a task that the process runs as a worker.
	ErrNestedWorker = errors.New("pool: called in a worker process")
	// ErrRestartIntensity refuses calls while no worker process can be started, or none lives until it has answered a
	// call: 5 attempts in a row have failed. An attempt each 10 seconds goes on.
	ErrRestartIntensity = errors.New("pool: worker processes cannot be started")
	// ErrRemoteOnly reports a task of RemoteFunc in a pool without processes, and a call of it in a worker.
	ErrRemoteOnly = errors.New("pool: the task has a handler in worker processes only")

	errOtherHardLimit = errors.New("hard limit of another call")
	errStopGrace      = errors.New("the process has not ended in Process.StopGrace")
	errDecodeExit     = errors.New("pool: the decoding of a result has called runtime.Goexit")
)

// WorkerError is the error of a call that its worker process may have run. It is [ErrWorkerLost].
type WorkerError struct {
	Cause error // such as a signal
}

// Error returns the text that the protocol fixes.
func (e WorkerError) Error() string { return "Worker error: " + e.Cause.Error() }

// Unwrap returns the cause and ErrWorkerLost.
func (e WorkerError) Unwrap() []error { return []error{e.Cause, ErrWorkerLost} }

// ExitError is the error of a call whose worker process has ended by itself. It is [ErrWorkerLost], and [ErrWorkerExited]
// if the code is 0.
type ExitError struct {
	Code int // of the process
}

// Error returns the text that the protocol fixes.
func (e ExitError) Error() string { return fmt.Sprintf("Worker stopped with exit code %d", e.Code) }

// Is reports whether the error is target.
func (e ExitError) Is(target error) bool {
	return target == ErrWorkerLost || e.Code == 0 && target == ErrWorkerExited
}

// WorkerInfo describes the worker process of a lane.
type WorkerInfo struct {
	Lane       int       `json:"lane"`               // the number of the lane
	Pid        int       `json:"pid,omitempty"`      // of the process; 0: there is none
	Generation int       `json:"generation"`         // how many processes were started for the lane
	State      string    `json:"state"`              // "starting", "serving", "ending", "waiting" or "out"
	StartedAt  time.Time `json:"startedAt,omitzero"` // when the process was started
	Deaths     int       `json:"deaths"`             // how many processes of the lane have ended, neither because of Close nor of Resize
	RSS        int64     `json:"rss,omitempty"`      // bytes of resident memory of process Pid, with what it shares; 0: it has ended, or the system is not Linux
}

// The states of a worker process.
const (
	stateStarting = "starting"
	stateServing  = "serving"
	stateEnding   = "ending"
	stateWaiting  = "waiting" // for the time of the next attempt
	stateOut      = "out"     // there is none, because Resize has taken the lane out
)

// Workers returns a snapshot of the worker processes, in the order of their lanes. It is empty for a pool without
// processes. On Linux it reads a file of the kernel for each process.
func (p *Pool) Workers() []WorkerInfo {
	if p.processes == nil {
		return nil
	}
	all := p.processes.snapshot()
	slices.SortFunc(all, func(a, b WorkerInfo) int { return cmp.Compare(a.Lane, b.Lane) })
	for i := range all {
		if w := &all[i]; w.Pid != 0 {
			w.RSS = child.Resident(w.Pid)
		}
	}
	return all
}

// snapshot returns what is known of each process. The services need the lock.
func (q *processes) snapshot() (all []WorkerInfo) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, i := range q.infos {
		all = append(all, *i)
	}
	return all
}

// RemoteFunc adds a task whose handler only worker processes have, and returns the function that calls it. In a worker
// another program registers the task under the same name. A pool without processes refuses it: [ErrRemoteOnly].
func RemoteFunc[A, R any](h *Handlers, name string, o ...TaskOptions) *Func[A, R] {
	f := Register(h, name, func(context.Context, A) (result R, err error) { return result, ErrRemoteOnly }, o...)
	f.entry.remote = true
	return f
}

// processes is what the lanes of a pool of worker processes have in common.
type processes struct {
	config  Process // with defaults
	link    transport.Config
	command child.Command
	names   []string // of the tasks, in the order of their numbers

	boot func(e *processExecutor) (*processLink, error) // bootProcess, but for models

	up      atomix.Int32          // lanes whose process takes calls
	alive   atomix.Int32          // services that have not ended
	refusal atomix.Pointer[error] // why no call is accepted, or nil

	mu    park.Mutex
	infos []*WorkerInfo // of the lanes that have a service or have had one; with mu
}

// lowInitial is Payload.Initial with Process.LowMemory.
const lowInitial = 256 << 10

// check returns c with defaults filled in, and reports faults to bad.
func (c Process) check(bad func(field, format string, args ...any)) Process {
	setDefault := func(d *time.Duration, n time.Duration, field string) {
		switch {
		case *d == 0:
			*d = n
		case *d < 0:
			bad(field, "%v is negative", *d)
		}
	}
	if c.LowMemory {
		if c.Payload.Initial == 0 {
			c.Payload.Initial = lowInitial
			if c.Payload.Max > 0 {
				c.Payload.Initial = min(lowInitial, c.Payload.Max)
			}
		}
		c.Env = slices.Concat([]string{"GOMAXPROCS=1", "GOGC=50"}, c.Env) // a later element takes the place of an earlier one
	}
	setDefault(&c.StartTimeout, 30*time.Second, "Process.StartTimeout")
	setDefault(&c.StopGrace, 5*time.Second, "Process.StopGrace")
	if c.Region > File {
		bad("Process.Region", "%d is no kind of memory", c.Region)
	}
	if c.Command != nil && (len(c.Command) == 0 || c.Command[0] == "") {
		bad("Process.Command", "names no program")
	}
	return c
}

// boot starts the processes of a pool. A model has processes of its own.
var boot = bootProcess

// newProcesses returns what the lanes of a pool with that configuration and those tasks have in common.
func newProcesses(c Process, h *Handlers) (*processes, error) {
	q := &processes{config: c, boot: boot}
	var err error
	if _, q.names, err = h.bindAll(); err != nil {
		return nil, err
	}
	q.link = transport.Config{
		PayloadInitial: c.Payload.Initial, PayloadMax: c.Payload.Max, PayloadPerValue: c.Payload.PerValue,
		Functions: max(len(q.names), 1), Digest: digestOf(q.names),
	}
	if _, err := q.link.RegionSize(transport.Requests); err != nil {
		return nil, fmt.Errorf("pool: Config.Process.Payload: %w", err)
	}
	if q.link.PayloadPerValue == 0 {
		most := q.link.PayloadMax
		if most == 0 {
			most = transport.DefaultPayloadMax
		}
		q.link.PayloadPerValue = most / 8
	}
	q.command = child.Command{Argv: slices.Clone(c.Command), Prefix: slices.Clone(c.Prefix), Dir: c.Dir, Env: child.Environ(c.Env)}
	return q, nil
}

// bindAll numbers the tasks in the order of their names and makes the encodings of their types.
func (h *Handlers) bindAll() (entries []*entry, names []string, err error) {
	entries = slices.Clone(h.entries)
	slices.SortFunc(entries, func(a, b *entry) int { return strings.Compare(a.name, b.name) })
	var errs []error
	for i, e := range entries {
		e.number = uint16(i)
		errs = append(errs, e.bind())
		names = append(names, e.name)
	}
	return entries, names, errors.Join(errs...)
}

// digestOf returns the digest of the names of tasks, which are sorted.
func digestOf(names []string) transport.Digest {
	d := sha256.New()
	for _, name := range names {
		_, _ = fmt.Fprintf(d, "%d %s\n", len(name), name) // a hash fails never
	}
	return transport.Digest(d.Sum(nil))
}

// start starts a process for the lane of e.
func (q *processes) start(e *processExecutor) (workerProcess, error) {
	c, lane := q.command, e.index
	c.Output = func(line []byte, isErr bool) {
		if q.config.Output != nil {
			q.config.Output(lane, line, isErr)
			return
		}
		_, _ = fmt.Fprintf(os.Stderr, "lane %d: %s\n", lane, line)
	}
	link := q.link
	link.Generation = e.starts
	w, err := process.Start(process.Config{Command: c, Link: link, Region: process.Kind(q.config.Region), OnDeath: e.parker.Unpark})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// refused returns why no call is accepted although the pool is open, or nil.
func (p *Pool) refused() error {
	if p.processes == nil {
		return nil
	}
	err := p.processes.refusal.Load()
	if err == nil || p.processes.up.Load() != 0 || p.state.Load() != open {
		return nil
	}
	return *err
}

// note changes what Workers says of the lane.
func (e *processExecutor) note(change func(i *WorkerInfo)) {
	q := e.p.processes
	q.mu.Lock()
	defer q.mu.Unlock()
	change(e.info)
}

// forget takes the lane with that record out of Workers.
func (q *processes) forget(info *WorkerInfo) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.infos = slices.DeleteFunc(q.infos, func(i *WorkerInfo) bool { return i == info })
}

// sharedBytes returns Metrics.SharedBytes. All links have the same sizes.
func (p *Pool) sharedBytes() (n int64) {
	if p.processes == nil {
		return 0
	}
	for _, i := range p.processes.snapshot() {
		if i.Pid != 0 {
			n += transport.Footprint(p.processes.link)
		}
	}
	return n
}

// The kinds of a message with transport.FlagNotice. Its Meta has the kind.
const (
	noticeSetup   uint32 = iota + 1 // of the host: a setup, once, before the first call
	noticeReady                     // of the worker: a greeting, the answer to that
	noticeEnded                     // of the host: the call with that id has ended, and its handler learns of that
	noticeDropped                   // of the host: the same, but the handler does not learn of it
	noticeLimit                     // of the host: how many handlers may run, as the id
)

// setup is what a worker has to know before the first call.
type setup struct {
	Bootstrap   string `json:"bootstrap,omitempty"`
	Depth       int    `json:"depth"`       // how many pools of processes are above the worker
	Concurrency int    `json:"concurrency"` // how many handlers may run
}

// greeting is what a worker says when it is ready for calls, or why it is not.
type greeting struct {
	Error string   `json:"error,omitempty"`
	Tasks []string `json:"tasks,omitempty"` // the names of its tasks, if the host has others
}

// backOff is how long the service waits between two attempts to start a process.
type backOff struct {
	failures int
	delay    time.Duration
}

// The times between attempts: the first one, and the one after maxFailures in a row. maxFailures is how many in a row may
// fail before calls are refused.
const (
	minDelay    = 10 * time.Millisecond
	maxFailures = 5

	longest = 1000 * time.Hour // of a time that is added to a clock
)

// open starts the service, and returns what waits for the first process.
func (e *processExecutor) open() (ready func(context.Context) error) {
	q := e.p.processes
	q.alive.Add(1)
	q.mu.Lock()
	q.infos = append(q.infos, e.info)
	q.mu.Unlock()
	spawnService(e.begin, e.serve)
	return func(ctx context.Context) error {
		if !e.ready.ParkDone(ctx.Done()) {
			return context.Cause(ctx)
		}
		return e.first
	}
}

// bootProcess starts a process and returns when that is ready for calls.
func bootProcess(e *processExecutor) (*processLink, error) {
	q := e.p.processes
	e.note(func(i *WorkerInfo) {
		i.Generation++
		i.State, i.Pid = stateStarting, 0
		e.starts = uint32(i.Generation)
	})
	w, err := q.start(e)
	if err != nil {
		return nil, fmt.Errorf("%w: lane %d: %w", ErrWorkerBoot, e.index, err)
	}
	e.note(func(i *WorkerInfo) { i.Pid, i.StartedAt = w.Pid(), time.Now() })
	k := &processLink{worker: w}
	e.host.Store(w.Host())
	if err := e.greet(k); err != nil {
		_ = w.Kill()
		<-w.Done()
		<-w.OutputRead()
		e.note(func(i *WorkerInfo) { i.Pid, i.State = 0, stateEnding })
		err = &bootError{lane: e.index, cause: err, output: w.Tail()}
		e.host.Store(nil)
		_ = w.Close()
		return nil, err
	}
	return k, nil
}

// greet sends the setup, and returns when the process is ready.
func (e *processExecutor) greet(k *processLink) error {
	q := e.p.processes
	h := k.worker.Host()
	e.told.Store(e.p.concurrency.Load())
	text, err := json.Marshal(setup{Bootstrap: q.config.Bootstrap, Depth: int(workerDepth.Load()) + 1, Concurrency: int(e.told.Load())})
	if err != nil {
		return err
	}
	slot, ok := h.Claim()
	if !ok {
		return errors.New("the link is not new")
	}
	head := transport.Header{Flags: transport.FlagNotice, Meta: noticeSetup, Tag: transport.TagBytes}
	if err := h.Publish(slot, &head, text); err != nil {
		return err
	}
	deadline := h.Now() + int64(min(q.config.StartTimeout, longest))
	for {
		if e.obey(nil); e.over {
			return ErrThreadClosed
		}
		var got []byte
		n, err := h.Drain(func(m *transport.Message, bad error) {
			if bad == nil && m.Flags&transport.FlagNotice != 0 && m.Meta == noticeReady {
				got, _ = m.Append(nil) // an error says that the link is closed
			}
		})
		switch {
		case err != nil:
			return err
		case got != nil:
			crash.At(crash.ReadySeen)
			return q.isReady(h, got)
		case k.worker.IsDead():
			<-k.worker.Done()
			return noLossError{k.reason()}
		case n > 0:
			continue
		}
		switch v := h.WaitUntil(transport.Published, deadline); {
		case v&transport.Expired != 0:
			return fmt.Errorf("it was not ready in %v", q.config.StartTimeout)
		case v&transport.Closed != 0 && !k.worker.IsDead():
			return errors.New("it has closed the link")
		}
	}
}

// isReady returns nil if a process with that greeting is ready.
func (q *processes) isReady(h *transport.HostEnd, text []byte) error {
	var g greeting
	if err := json.Unmarshal(text, &g); err != nil {
		return fmt.Errorf("its greeting: %w", err)
	}
	digest, ok, err := h.Greeting()
	switch {
	case err != nil:
		return err
	case !ok:
		return errors.New("it has not greeted")
	case g.Error != "":
		return errors.New(g.Error)
	case digest != q.link.Digest:
		return fmt.Errorf("%w: the host has %q, the worker has %q", ErrHandlersMismatch, q.names, g.Tasks)
	}
	return nil
}

// noLossError is the end of a process as an error that is not [ErrWorkerLost]. It is for calls that the process did not
// have: they have not started. It makes the text when a caller asks for it, because the error may be that of a program.
type noLossError struct{ end error }

func (e noLossError) Error() string { return e.end.Error() }

// bootError is the error of a process that has not become ready.
type bootError struct {
	lane   int
	cause  error
	output string // the end of its output
}

func (e *bootError) Error() string {
	text := fmt.Sprintf("%v: lane %d: %v", ErrWorkerBoot, e.lane, e.cause)
	if e.output != "" {
		text += "; its output ends with:\n" + e.output
	}
	return text
}

func (e *bootError) Unwrap() []error { return []error{ErrWorkerBoot, e.cause} }

// failed waits after an attempt to start a process that has failed with err. While no lane has a process, the calls that
// wait end with err, because they would wait for an unknown time.
func (e *processExecutor) failed(err error) {
	if e.count(&err); e.p.processes.up.Load() == 0 {
		e.p.shared.fail(CauseRefused, err, nil)
	}
	if n := e.named.made.Load(); n != nil {
		n.fail(CauseRefused, err, nil)
	}
	e.rest()
}

// died waits after the end of a process that has answered no call, because the next one may end at once as well. The calls
// that wait end only after several such processes.
func (e *processExecutor) died(err error) {
	err = noLossError{err}
	if e.count(&err) && e.p.processes.up.Load() == 0 {
		e.p.shared.fail(CauseRefused, err, nil)
	}
	e.rest()
}

// count counts a failure. After several of them in a row it makes the error say so, and refuses calls while no lane has a
// process.
func (e *processExecutor) count(err *error) (many bool) {
	q := e.p.processes
	e.retry.failures++
	e.retry.delay = min(max(2*e.retry.delay, minDelay), maxDelay)
	if many = e.retry.failures >= maxFailures; !many {
		return false
	}
	e.retry.delay = maxDelay
	*err = fmt.Errorf("%w: %d attempts, the last: %w", ErrRestartIntensity, e.retry.failures, *err)
	refusal := *err
	q.refusal.Store(&refusal) // before the caller looks at the queue: a call that comes later is refused
	if q.up.Load() == 0 {
		e.p.grantLeases(nil)
	}
	return true
}

// maxDelay is shorter in a test.
var maxDelay = 10 * time.Second

// leftUntil returns the time until then, at least 1 ns: a wait for no time would take other steps.
func leftUntil(at time.Time) time.Duration { return max(time.Until(at), 1) }

// rest waits until the next attempt.
func (e *processExecutor) rest() {
	e.note(func(i *WorkerInfo) { i.State, i.Pid = stateWaiting, 0 })
	for until := time.Now().Add(e.retry.delay); ; {
		if e.obey(nil); e.over || !e.parker.ParkFor(leftUntil(until)) {
			return
		}
	}
}
