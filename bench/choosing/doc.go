// Package choosing measures the advice of docs/CHOOSING.md. Each benchmark does the same
// work in several ways, one after another in each round, and compares them.
//
//	go test -run '^$' -bench . -benchtime 21x ./choosing
//
// in the folder bench prints a table for each benchmark: for each way, the medians of
// the time, of the processor time, and of the ratio to the first way. It takes about
// four minutes. docs/bench/choosing.sh files the result.
package choosing
