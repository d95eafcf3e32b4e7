// Command models explores every model of this module and adds up the executions.
//
//	go run ./internal/models                 each model to its own bound
//	go run ./internal/models -budget 30m     a soak: 30 minutes for all of them
//	go run ./internal/models -run Ring ./runqueue
//
// It prints the line of each model, the ten tests with the most processor time, a total, and
// the whole output of a test that fails.
//
// A model with more than 1,500,000 executions within its own bound is a failure, because all
// models run on each change.
//
// A soak explores each model to its own bound first. With the remaining time it explores
// to three preemptions, to four, and so on. It does not run models again that are complete
// without a bound. Models with random executions run with another seed in each round.
// Terms are defined in docs/GLOSSARY.md.
package main
