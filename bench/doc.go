// Package bench compares this library with others: task pools with the scheduler and with
// lanes, and other means of a call into another process with process lanes. It is a module of its own, so that
// importers of the library do not depend on its competitors. In the directory of this
// module,
//
//	go run ./cmd/peers -h
//
// prints the usage. Terms are defined in docs/GLOSSARY.md.
package bench
