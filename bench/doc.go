// Package bench compares this library with others. It is a module of its own, so that
// importers of the library do not depend on its competitors. In the directory of this
// module,
//
//	go run ./cmd/peers -h
//
// prints the usage. Terms are defined in docs/GLOSSARY.md.
package bench
