//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package process

// hasProcesses says whether package child starts processes on this system.
const hasProcesses = false
