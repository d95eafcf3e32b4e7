// Command models explores every model of this module and adds up what it has
// seen.
//
//	go run ./internal/models                 each model to its own bound
//	go run ./internal/models -budget 30m     a soak: 30 minutes for all of them
//	go run ./internal/models -run Ring ./runqueue
//
// It prints the line of each model and a total, and all that a failing model had
// to say. A soak explores each model to its own bound first, and then goes on,
// with the time that is left, to three preemptions, four, and so on; models that
// are complete without a bound are not run again, and those that draw their
// executions go on drawing, from another seed in each round.
package main
