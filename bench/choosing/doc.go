// Package choosing measures the advice of docs/CHOOSING.md. Each benchmark does the same
// work in several ways. A round runs all ways, one after another.
//
//	go test -run '^$' -bench . -benchtime 21x ./choosing
//
// in the folder bench takes about four minutes. It prints a table for each benchmark,
// with the medians of the time and of the processor time of each way. The ratio is that
// to the first way in the same round. docs/bench/choosing.sh files the result. Terms are
// defined in docs/GLOSSARY.md.
package choosing
