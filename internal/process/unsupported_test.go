//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package process_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/internal/process"
)

// TestUnsupported checks that Start names what this system has not, also when the configuration is wrong, and that no
// process is a worker.
func TestUnsupported(t *testing.T) {
	for _, k := range []process.Kind{process.Sealed, process.Named, process.File, 9} {
		w, err := process.Start(process.Config{Region: k, Dir: "none"})
		if w != nil || !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "process: Start: processes on ") {
			t.Errorf("%v: %v, %v", k, w, err)
		}
	}
	if w, ok, err := process.Attach(); w != nil || ok || err != nil {
		t.Errorf("Attach = %v, %t, %v", w, ok, err)
	}
}
