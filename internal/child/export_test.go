//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package child

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// What tests need of this package.
var (
	ParseMark    = parseMark
	IsMark       = isMark
	NewMark      = newMark
	IsPolled     = isPolled
	AwaitHostEnd = awaitHostEnd
	LookUp       = lookUp
	HungUp       = hungUp
)

const (
	Argument  = argument
	MarkName  = markName
	LineBytes = lineBytes
	MaxQueued = maxQueued
)

// Mark is what Start writes into the environment.
type Mark = mark

// IsLife reports whether fd is the end of the life of m.
func (m mark) IsLife(fd int) bool { return m.isLife(fd) }

// IsOf reports whether a process with that parent and fd is the process of m.
func (m mark) IsOf(parent, fd int) bool { return m.isOf(parent, fd) }

// StateOf returns the end that the status of a wait reports.
func StateOf(status uint32) *State { return stateOf(unix.WaitStatus(status)) }

// StartUnwatched starts a process whose end no goroutine takes from the kernel.
func StartUnwatched(c Command) (*Process, error) { return c.start() }

// Watch takes the end of a process of StartUnwatched.
func (p *Process) Watch() { p.wait() }

// Reap reports whether the process has ended.
func (p *Process) Reap() bool { return p.reap() }

// SetPid gives the process another number.
func (p *Process) SetPid(pid int) { p.pid = pid }

// HasPidfd reports whether the process is watched and killed by a pidfd.
func (p *Process) HasPidfd() bool { return p.pidfd != nil }

// IsWatched reports whether the poller watches the file by which the end of the process is seen.
func (p *Process) IsWatched() bool { return isPolled(p.watch().file) == nil }

// LooksAgain reports whether the host looks for the end of the process without an event as well.
func (p *Process) LooksAgain() bool { return p.watch().every > 0 }

// Output is the reader of the output of a process.
type Output struct{ o *output }

// NewOutput reads two outputs.
func NewOutput(to func(text []byte, isErr bool), out, err *os.File) Output {
	return Output{newOutput(to, out, err)}
}

// Read returns the channel that is closed when the bytes of the process are read.
func (o Output) Read() <-chan struct{} { return o.o.read }

// Last returns the end of the output.
func (o Output) Last() string { return o.o.last() }

// TailBytes returns the size of the memory of the tail.
func (o Output) TailBytes() int {
	o.o.mu.Lock()
	defer o.o.mu.Unlock()
	return cap(o.o.tail)
}

// Splitter divides a stream into lines.
type Splitter = splitter

// NewSplitter returns a splitter.
func NewSplitter(most int, to func(text []byte, ends bool)) *Splitter {
	return &splitter{most: most, to: to}
}

// Write adds bytes.
func (s *splitter) Write(b []byte) { s.write(b) }

// Flush ends the last line.
func (s *splitter) Flush() { s.flush() }

// Bytes returns the size of the memory of the splitter.
func (s *splitter) Bytes() int { return cap(s.part) }

// Queue holds lines.
type Queue = queue

// NewQueue returns a queue.
var NewQueue = newQueue

// Put adds a line.
func (q *queue) Put(text []byte, isErr bool) { q.put(text, isErr) }

// Take removes a line.
func (q *queue) Take() (text string, isErr bool, dropped int, ok bool) {
	l, ok := q.take()
	return string(l.text), l.isErr, l.dropped, ok
}

// Close says that no line follows.
func (q *queue) Close() { q.close() }

// Lines returns the numbers of entries and of bytes.
func (q *queue) Lines() (entries, bytes int) { return len(q.lines), q.bytes }

// Awaiter is a watch over a file.
type Awaiter struct{ w *watch }

// NewAwaiter returns a watch.
func NewAwaiter(f *os.File, every time.Duration) Awaiter { return Awaiter{newWatch(f, every)} }

// Await returns when it is time for a look.
func (a Awaiter) Await() { a.w.await() }

// Delay returns the time until the next look. It is 0 before the event.
func (a Awaiter) Delay() time.Duration {
	if a.w.conn != nil {
		return 0
	}
	return a.w.delay
}
