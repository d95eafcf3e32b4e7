// Package cmdtest runs the program under test as a process of its own. The process is
// another run of the test binary. Terms are defined in docs/GLOSSARY.md.
package cmdtest
