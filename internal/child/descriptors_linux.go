package child

import (
	"os"
	"strconv"
)

// descriptors returns the descriptors of this process.
func descriptors() (list []int, err error) {
	entries, err := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil {
			list = append(list, fd)
		}
	}
	return list, err
}
