// Package cli is what the commands of lanewright have in common: the table of
// commands and its dispatch, flags, errors about the command line, exit codes,
// and output with a progress bar.
package cli
