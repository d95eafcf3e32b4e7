//go:build !linux || portable

package shm

import (
	"errors"
	"fmt"
	"os"
)

// unsupported returns the error of a call that this system does not have.
func unsupported(call, missing string) error {
	return fmt.Errorf("shm: %s: this system has no %s: %w", call, missing, errors.ErrUnsupported)
}

func sealed(string, int, Writer) (*Region, error) {
	return nil, unsupported("Sealed", "memory with seals (memfd_create)")
}

func openSealed(*os.File, int, Writer) (*Region, error) {
	return nil, unsupported("Open", "memory with seals (memfd_create)")
}

func named(string, int, Writer) (*Region, error) {
	return nil, unsupported("Named", "named memory (/dev/shm)")
}

func openNamed(string, int, Writer) (*Region, error) {
	return nil, unsupported("OpenNamed", "named memory (/dev/shm)")
}

func removeDead(string) (int, error) {
	return 0, unsupported("RemoveDead", "named memory (/dev/shm)")
}
