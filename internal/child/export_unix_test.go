//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package child

import "testing"

// Ways are the ways in which the end of a process is seen. A call chooses one for the rest of a test.
var Ways = map[string]func(t *testing.T){"pipe": func(t *testing.T) { t.Helper() }}
