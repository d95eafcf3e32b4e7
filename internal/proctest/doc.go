// Package proctest starts processes for tests.
//
// Some laws need a process of their own, because they end it, limit it, or measure memory that no
// other test has used. A test gets its output from [Output]. A test that starts the process itself
// calls [Need] first. Both skip the test where a program cannot start another one. Terms
// are defined in docs/GLOSSARY.md.
package proctest
