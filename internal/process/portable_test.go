//go:build darwin || dragonfly || freebsd || netbsd || openbsd || (linux && portable)

package process_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/internal/process"
)

// kinds are the kinds of regions that this system has.
var kinds = []process.Kind{process.File}

// kindOfHost is the kind of the regions of a host that is killed: one that leaves names, if the system has it.
const kindOfHost = process.File

// TestKindsOfOtherSystems checks that a kind which this system has not is an error of Start that names the kind.
func TestKindsOfOtherSystems(t *testing.T) {
	for _, k := range []process.Kind{process.Sealed, process.Named} {
		c := config(t, "echoes", k)
		name := map[process.Kind]string{process.Sealed: "Sealed", process.Named: "Named"}[k]
		if w, err := process.Start(c); w != nil || !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), name) {
			t.Errorf("%v: %v, %v", k, w, err)
		}
	}
}
