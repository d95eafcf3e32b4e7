// Command mutants plants bugs in the algorithms of this module, one at a time,
// and runs the test that is there to find each:
//
//	go run ./internal/mutants [-only REGEXP] [-list] [-v] [-j N]
//
// It prints "mutant NAME killed by TEST" or "mutant NAME survived" for each, and
// "mutants: N of M killed" in the end. It exits with 1 when one survives, does not
// apply any more, or does not compile. A mutant counts as killed only if the same
// test passes without it, in the same run. A test that hangs is no kill, and tests
// that are random are no killers.
//
// The bugs are the *.mutants files beside this text. A file is a sequence of
// mutants; a line that begins with # is a comment:
//
//	mutant park-without-a-look
//	why    a push between the last look and the park is missed
//	test   ./sched -tags interleave -run TestModelTwoCallers
//	file   sched/worker.go
//	 	if !s.look() {
//	-		s.again()
//	+		s.park()
//	 	}
//
// The lines after "file" are a hunk of a diff without line numbers: what begins
// with a space or a minus is in the file, exactly once and as whole lines; what
// begins with a space or a plus is put in its place. An empty line ends the hunk.
// A mutant may have several hunks and several files. "test" is what go test is
// called with: a directory, -run with names of tests separated by |, and -tags and
// -short where they are needed. A line "sound FLAGS" before the first mutant of a
// file gives flags for model tests that run without a mutant, which need not
// explore all.
//
// Nothing is written into the tree: the changed files are overlays of the build.
package main
