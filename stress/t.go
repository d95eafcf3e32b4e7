package stress

// T is what a law reports to. [*testing.T] is one. A law calls Helper, says with
// Logf what it skips, with Errorf how it was broken, and looks at Failed to tell
// whether to go on. It does so from the goroutine of its caller only.
type T interface {
	Helper()
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Failed() bool
}
