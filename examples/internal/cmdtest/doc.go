// Package cmdtest runs the program under test as a process of its own, which is the
// test binary itself.
package cmdtest
