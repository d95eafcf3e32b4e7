//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package child

import "golang.org/x/sys/unix"

// mostDescriptors bounds the look at descriptors where the system has no limit for them.
const mostDescriptors = 1 << 16

// descriptors returns the numbers that a descriptor of this process may have.
func descriptors() (list []int, err error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return nil, err
	}
	most := mostDescriptors
	if limit.Cur < mostDescriptors {
		most = int(limit.Cur)
	}
	for fd := range most {
		list = append(list, fd)
	}
	return list, nil
}
