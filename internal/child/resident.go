package child

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
)

// Resident returns the bytes of the resident memory of the process with that number, with those of memory that it shares.
// It is 0 if there is no such process, or if it has ended, or if the system is not Linux. The number of a process that
// was reaped may be that of another process.
func Resident(pid int) int64 {
	if runtime.GOOS != "linux" {
		return 0
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	return residentOf(text)
}

// residentOf returns the bytes that a text of /proc/PID/statm says: its second field is the number of resident pages.
func residentOf(text []byte) int64 {
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
