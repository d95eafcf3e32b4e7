package child

import "testing"

// Ways are the ways in which the end of a process is seen. A call chooses one for the rest of a test.
var Ways = map[string]func(t *testing.T){
	"pidfd": func(t *testing.T) {
		t.Helper()
		if !hasPidfd() {
			t.Skip("the kernel has no pidfd")
		}
	},
	"pipe": func(t *testing.T) {
		t.Helper()
		kernel := hasPidfd
		hasPidfd = func() bool { return false }
		t.Cleanup(func() { hasPidfd = kernel })
	},
}
