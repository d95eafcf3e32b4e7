// Package poolvar publishes the counters of pools as variables of package expvar, which
// serves them over HTTP. It is a package of its own because expvar brings net/http along.
package poolvar
