// Package rows reads and writes lines of results: those of lanewright bench, of
// the peers, and of the programs in other languages.
package rows
