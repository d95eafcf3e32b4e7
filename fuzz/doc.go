// Package fuzz holds the fuzz targets that read their input as a trace of
// operations, and compare what the wake word, the queues, batches, the scheduler,
// the explorer, mailboxes, links, the payload arena and codecs do with it against slices and plain numbers. It has no code
// outside tests.
//
// The bytes of an input are choices: which operation comes next, on what, and
// how many. A target takes any input, and the same input always makes the same
// calls. What was worth keeping of the inputs that fuzzing found is in testdata
// and runs with every go test; run
//
//	go test -run '^$' -fuzz '^FuzzRing$' -fuzztime 1m ./fuzz
//
// to look for more. An input that fails is written to testdata, and
//
//	go test -run 'FuzzRing/NAME' ./fuzz
//
// runs it again.
package fuzz
