// Package version is the command version: it describes this program and this machine.
// Terms are defined in docs/GLOSSARY.md.
package version
