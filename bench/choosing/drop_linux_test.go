package choosing

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// dropFiles makes the system forget the contents of the files, so that the next read is
// from the disk. The disk of a virtual machine may answer from the memory of its host.
func dropFiles(b *testing.B, names []string) {
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil { // only what is on the disk can be dropped
			b.Fatal(err)
		}
		if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
			b.Fatal(err)
		}
		_ = f.Close()
	}
}
