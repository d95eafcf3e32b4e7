// Package fuzz holds the fuzz targets that read their input as a trace of operations. It
// has no code outside tests.
//
// Each target compares one part of the module with a model of slices and plain numbers.
// The targets cover the wake word and the queues. They cover batches and the scheduler.
// They cover the explorer and, of package transport, headers, mailboxes, links, the hello
// of both sides, a recorded session with changes, the payload arena and the codecs.
//
// The bytes of an input are choices of the next operation, its target and its counts. A
// target accepts any input. The same input always makes the same calls. The useful
// inputs that fuzzing found are in testdata and run with every go test. This command
// searches for more:
//
//	go test -run '^$' -fuzz '^FuzzRing$' -fuzztime 1m ./fuzz
//
// A failing input is written to testdata. This command runs it again:
//
//	go test -run 'FuzzRing/NAME' ./fuzz
//
// Terms are defined in docs/GLOSSARY.md.
package fuzz
