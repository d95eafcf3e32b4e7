package bench

import "strings"

// Chooses reports whether a name that a user gives chooses the benchmark with that name: both are equal, or the former ends
// in a slash and the benchmark is below it.
func Chooses(given, name string) bool {
	return given == name || len(given) > 1 && strings.HasSuffix(given, "/") && strings.HasPrefix(name, given)
}
