//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package child

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// program returns the path of the program to start, its arguments with its name in front, and its directory. It looks at
// them before the fork, since an error of the exec does not say which of them is wrong.
func (c *Command) program() (path string, argv []string, dir string, err error) {
	if dir, err = directory(c.Dir); err != nil {
		return "", nil, "", fmt.Errorf("field Dir: %w", err)
	}
	argv = c.Argv
	switch {
	case len(argv) > 0:
	case len(c.Prefix) == 0:
		path, err = self()
		return path, os.Args[:1], dir, err
	default: // the path of self is that of the prefix in the prefix
		name, err := os.Executable()
		if err == nil {
			_, err = lookUp(name, dir)
		}
		if err != nil {
			return "", nil, "", err
		}
		argv = []string{name}
	}
	if len(c.Prefix) > 0 {
		argv = slices.Concat(c.Prefix, argv[:1], []string{argument}, argv[1:])
	}
	path, err = lookUp(argv[0], dir)
	return path, argv, dir, err
}

// directory returns the path of a working directory. An error names it.
func directory(dir string) (string, error) {
	if dir == "" {
		return "/", nil
	}
	dir, err := filepath.Abs(dir) // of the directory of the host
	if err != nil {
		return "", err
	}
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = &os.PathError{Op: "chdir", Path: dir, Err: unix.ENOTDIR}
	}
	if err != nil {
		return "", err
	}
	if err := unix.Faccessat(unix.AT_FDCWD, dir, unix.X_OK, unix.AT_EACCESS); err != nil {
		return "", &os.PathError{Op: "chdir", Path: dir, Err: err}
	}
	return dir, nil
}

// lookUp returns the path of a program for a process in dir. An error names the program: no such file, a directory, or
// one that is not executable.
func lookUp(name, dir string) (string, error) {
	if strings.Contains(name, "/") && !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	return exec.LookPath(name)
}
