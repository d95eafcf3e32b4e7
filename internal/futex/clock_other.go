//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package futex

import "time"

// origin is the start of the program, which is the start of its clock here.
var origin = time.Now()

func now() int64 { return int64(time.Since(origin)) + 1 }
