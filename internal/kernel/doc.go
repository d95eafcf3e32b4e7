// Package kernel has small recursive problems that fork-join libraries are measured
// with, and their sequential solutions in plain Go.
package kernel
