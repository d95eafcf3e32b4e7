//go:build !linux || portable

package shm_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/internal/shm"
)

const hasSealed = false

// TestUnsupportedNamesWhatIsMissing: the error of a kind that this system lacks matches
// errors.ErrUnsupported and names what is missing.
func TestUnsupportedNamesWhatIsMissing(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Skip(err)
	}
	for want, call := range map[string]func() error{
		"Sealed: this system has no memory with seals": func() error { _, err := shm.Sealed("x", 1, shm.Here); return err },
		"Open: this system has no memory with seals":   func() error { _, err := shm.Open(null, 1, shm.Here); return err },
		"Named: this system has no named memory":       func() error { _, err := shm.Named("x", 1, shm.Here); return err },
		"OpenNamed: this system has no named memory":   func() error { _, err := shm.OpenNamed("x", 1, shm.Here); return err },
		"RemoveDead: this system has no named memory":  func() error { _, err := shm.RemoveDead("."); return err },
	} {
		if err := call(); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %q, want %q", err, want)
		}
	}
}
