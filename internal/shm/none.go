//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package shm

import "os"

func file(string, int, Writer) (*Region, error) {
	return nil, unsupported("File", "mapped file that processes share (mmap)")
}

func openFile(*os.File, int, Writer) (*Region, error) {
	return nil, unsupported("OpenFile", "mapped file that processes share (mmap)")
}

// No function of this system makes a Region, so these have nothing to give back.

func replace([]byte) error { return nil }

func unmap([]byte) error { return nil }
