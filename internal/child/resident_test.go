package child

import (
	"os"
	"runtime"
	"testing"
)

// TestResident: the resident memory of a process has the pages that it has written to. A process that does not exist has
// none, and neither has any process on another system than Linux.
func TestResident(t *testing.T) {
	const n = 64 << 20
	own := make([]byte, n)
	for i := 0; i < n; i += 512 {
		own[i] = 1
	}
	got := Resident(os.Getpid())
	runtime.KeepAlive(own)
	if (got >= n) != (runtime.GOOS == "linux") {
		t.Errorf("%d bytes are resident, and %d were written to", got, n)
	}
	if got := Resident(1 << 30); got != 0 { // Linux has fewer numbers
		t.Errorf("no process has %d bytes", got)
	}
}

// TestResidentText: the field is in pages, and a text without it says 0.
func TestResidentText(t *testing.T) {
	page := int64(os.Getpagesize())
	for _, tc := range []struct {
		text string
		want int64
	}{
		{"3100 412 300 1 0 200 0\n", 412 * page},
		{"0 0 0 0 0 0 0\n", 0}, // of a process that has ended and was not reaped
		{"3100\n", 0},
		{"3100 x\n", 0},
		{"", 0},
	} {
		if got := residentOf([]byte(tc.text)); got != tc.want {
			t.Errorf("%q says %d bytes, want %d", tc.text, got, tc.want)
		}
	}
}
