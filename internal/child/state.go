package child

import (
	"os"
	"strconv"
)

// State is how a process has ended. With a prefix it is the end of the prefix.
type State struct {
	Code       int       // the exit code, or -1 after a signal
	Signal     os.Signal // the signal that has ended the process, or nil
	CoreDumped bool      // the signal has left a memory image
}

// Success reports whether the process has ended with the exit code 0.
func (s *State) Success() bool { return s.Code == 0 }

// String returns the text that [os.ProcessState] has for the same end.
func (s *State) String() string {
	switch {
	case s.Signal == nil:
		return "exit status " + strconv.Itoa(s.Code)
	case s.CoreDumped:
		return "signal: " + s.Signal.String() + " (core dumped)"
	default:
		return "signal: " + s.Signal.String()
	}
}
