// Package lint holds the rules of this repository that no linter can state.
//
// The rules are tests. They read every file of the repository, whatever its build tags
// are, and report the file and the line that break a rule:
//
//	layers        imports point downward; other modules are on a list
//	names         package sync has an alias, and no name of the standard sync
//	models        model tests have their build tag; a model has a name of its own
//	labels        the labels of lock-free code are declared and cited
//	cells         a comment states the owner of plain memory that is shared
//	lock freedom  no lock, channel, clock or system call where none belongs
//	waits         no queue operation waits; a worker parks in listed functions only
//	safety        unsafe, linkname, direct atomics, copies, sleeping tests, processes
//	repetition    no pool of package sync and no order of a map where models run
//	mailboxes     the lane alone uses the mailbox of package pool
//	protocols     each claim of a protocol page has models or tests, and mutants
//	prose         rules P1 to P4 of the style guide, and the breaks of sentences
//	docs          each package and exported name is documented
//	manuals       the doc comment of a type is short
//	glossary      each doc.go refers to the glossary
//	examples      each exported type has an example that runs
//	samples       the Go code in documents compiles as it stands
//	folders       folders are small; test files have the names of laws
//	requirements  docs/REQUIREMENTS.md is complete and names tests that exist
//	bad inputs    docs/VERIFICATION.md lists the tests of each bad input
//	paths         no tracked file names a directory of one machine
//
// Run them with
//
//	go test ./internal/lint
//
// A table of exceptions stands beside each rule that has any, with the reason for each
// entry. An entry that excuses nothing is an error. Terms are defined in
// docs/GLOSSARY.md.
package lint
