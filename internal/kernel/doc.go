// Package kernel has small recursive problems that fork-join libraries are measured
// with, and their sequential solutions in plain Go. Terms are defined in
// docs/GLOSSARY.md.
package kernel
