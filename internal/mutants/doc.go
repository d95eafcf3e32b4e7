// Command mutants plants bugs in the algorithms of this module, one at a time, and
// runs the tests that must find each:
//
//	go run ./internal/mutants [-only REGEXP] [-list] [-v] [-j N] [-part I/N]
//
// It prints "mutant NAME killed by TEST" or "mutant NAME survived" for each. At the end it
// prints the names of those that were not killed, and "mutants: N of M killed". It exits with
// 1 if a mutant survives, does not apply, or does not compile. A mutant is killed only if the
// same test passes without the mutant in the same run. A test that hangs does not kill, and a
// random test may not be the test of a mutant.
//
// Nothing is written into the tree: the changed files are overlays of the build.
//
// # Lists
//
// The mutants are in the *.mutants files of this folder. A line that begins with # is
// a comment. An example:
//
//	mutant park-without-a-look
//	why    a task that is pushed between the last look and the park is missed
//	test   ./sched -tags interleave -run TestModelTwoCallers
//	file   sched/loop.go
//	 	if !s.look() {
//	-		s.again()
//	+		s.park()
//	 	}
//
// The keys are:
//
//	mutant  the name of the mutant
//	why     the bug, and the failure that it causes
//	test    the arguments of go test: a directory, -run with names of tests divided
//	        by |, and -tags and -short where they are needed
//	file    the file that the hunks below it change
//	sound   before the first mutant: flags for the run of a model test without a
//	        mutant, which need not explore all executions
//
// A hunk is that of a diff, without line numbers. Its lines that begin with a space or
// a minus are in the file exactly once, as whole lines. The lines that begin with a
// space or a plus replace them. An empty line ends the hunk. A mutant may have several
// hunks and several files; each hunk applies to the file as the hunks before it left
// it.
//
// The tests of this folder check all mutants in each change, although CI plants only a tenth of them.
// TestMutants checks that the hunks apply and that the tests exist. TestMutantsCompile type-checks the
// changed packages. With -short it checks every tenth mutant.
//
// # Rehunk
//
// A hunk repeats the text of the file, so a change of a comment, a name or a file
// breaks it. A second command rewrites the hunks for the work tree:
//
//	go run ./internal/mutants rehunk [-n] [-old REV] [-rename FILE]
//
//	-old REV      the last revision in which all mutants apply (default HEAD)
//	-rename FILE  lines "old<TAB>new": renamed identifiers and tests; a word that had
//	              several meanings has a line for each new word
//	-n            print the hunks that change, and write nothing
//
// Rehunk finds each hunk in REV, and the same code in the work tree: in the folder of
// the file, under its old or new name, and then in the module. It compares code after
// the renames, without comments and white space. A function may move to another file.
// While the function is in the folder, its code must be in it. If the code is there
// more than once, the declaration, the file, the lines around it and the comments
// decide, in this order.
//
// Lines of the file are replaced by those of the work tree, with their comments. Added
// lines get the new names. An added line that repeats a comment of the file gets the
// new comment.
//
// Rehunk does not guess. If the code of a hunk has changed, or its place is not
// certain, the hunk is not changed. Rehunk lists these hunks and exits with 1, and they
// are edited by hand. It may run again afterwards, because a hunk that applies to the
// work tree is not an error. Terms are defined in docs/GLOSSARY.md.
package main
