// Package bench will compare this library with others. It is a module of its
// own, so that nobody who imports the library pays for its competitors. It is
// not built yet; what needs no other module is measured by
//
//	go run ./cmd/lanewright bench
//
// from the root of the repository.
package bench
