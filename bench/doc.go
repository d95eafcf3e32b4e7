// Package bench compares this library with others. It is a module of its own, so
// that nobody who imports the library pays for its competitors.
//
//	go run ./cmd/peers -h
//
// from the directory of this module says how.
package bench
