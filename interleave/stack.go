package interleave

import (
	"path/filepath"
	"strings"
)

// A stack is the stack of one goroutine, as runtime.Stack prints it:
//
//	goroutine 7 [chan receive, 2 minutes]:
//	example.com/queue.(*Queue).Pop(0xc000012345)
//		/src/queue/queue.go:42 +0x1d
//	created by ...
type stack struct {
	header string
	frames []frame
}

// A frame is one call: two lines of the text.
type frame struct {
	function string // without the arguments, such as "example.com/queue.(*Queue).Pop"
	position string // such as "/src/queue/queue.go:42"
	text     string
}

// parseStack parses the text of one goroutine.
func parseStack(text string) (s stack) {
	header, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	s.header = header
	for rest != "" {
		var call, position string
		call, rest, _ = strings.Cut(rest, "\n")
		position, rest, _ = strings.Cut(rest, "\n")
		f := frame{text: call + "\n" + position}
		f.position, _, _ = strings.Cut(strings.TrimSpace(position), " +0x")
		if strings.HasPrefix(call, "created by ") {
			f.function = call
		} else if i := strings.LastIndexByte(call, '('); i >= 0 {
			f.function = call[:i]
		}
		s.frames = append(s.frames, f)
	}
	return s
}

// state returns what the goroutine waits for, such as "chan receive", or "running" or
// "runnable".
func (s *stack) state() string {
	_, state, _ := strings.Cut(s.header, " [")
	state, _, _ = strings.Cut(strings.TrimSuffix(state, "]:"), ",")
	return state
}

// isBlocked reports whether the goroutine waits, and neither runs nor is able to run.
func (s *stack) isBlocked() bool {
	state := s.state()
	for _, p := range [...]string{"running", "runnable", "preempted", "copystack", "GC "} {
		if strings.HasPrefix(state, p) {
			return false
		}
	}
	return len(s.frames) > 0
}

// position returns the file and line of the first call outside the standard library
// that the goroutine is in.
func (s *stack) position() string {
	for _, f := range s.frames {
		if !isStandard(f.function) {
			return filepath.Base(f.position)
		}
	}
	return "an unknown position"
}

// isStandard reports whether the function is one that a blocked goroutine is in
// because the program has called it.
func isStandard(function string) bool {
	for _, p := range [...]string{"runtime.", "runtime/", "sync.", "sync/atomic.", "internal/", "time.", "context.", "syscall.", "os.", "io.", "net."} {
		if strings.HasPrefix(function, p) {
			return true
		}
	}
	return false
}

// String returns the text of the stack.
func (s *stack) String() string {
	var b strings.Builder
	b.WriteString(s.header)
	for _, f := range s.frames {
		b.WriteByte('\n')
		b.WriteString(f.text)
	}
	return b.String()
}
