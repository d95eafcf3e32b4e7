// Package cli is the common part of the commands of lanewright: the table of commands,
// flags, errors in the command line, exit codes, and output with a progress bar. Terms
// are defined in docs/GLOSSARY.md.
package cli
