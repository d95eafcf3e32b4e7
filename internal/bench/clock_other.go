//go:build !windows

package bench

import "time"

func now() int64 { return int64(time.Since(epoch)) }
