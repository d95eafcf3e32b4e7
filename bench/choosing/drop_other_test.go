//go:build !linux

package choosing

import "testing"

// dropFiles skips the benchmark: there is no portable way to empty the file cache.
func dropFiles(b *testing.B, _ []string) { b.Skip("no way to drop the files from memory") }
