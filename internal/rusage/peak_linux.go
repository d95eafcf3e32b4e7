package rusage

import (
	"bytes"
	"os"
	"strconv"
)

// peak reads the high-water mark of the memory map. getrusage reports the maximum of
// this mark and of the mark before the last exec of the process, which resetPeak cannot
// lower.
func peak() (int64, bool) {
	if n, ok := statusBytes("VmHWM:"); ok {
		return n, true
	}
	return getrusagePeak()
}

// statusBytes returns a field of /proc/self/status whose unit is kB, in bytes.
func statusBytes(field string) (int64, bool) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(text) {
		rest, ok := bytes.CutPrefix(line, []byte(field))
		if !ok {
			continue
		}
		rest, ok = bytes.CutSuffix(bytes.TrimSpace(rest), []byte(" kB"))
		if !ok {
			return 0, false
		}
		n, err := strconv.ParseInt(string(bytes.TrimSpace(rest)), 10, 64)
		return n << 10, err == nil
	}
	return 0, false
}

// resetPeak writes a 5 to clear_refs, which resets the peak resident set size to the
// current one: proc(5).
func resetPeak() bool {
	if _, ok := statusBytes("VmHWM:"); !ok {
		return false
	}
	return os.WriteFile("/proc/self/clear_refs", []byte("5\n"), 0) == nil
}
