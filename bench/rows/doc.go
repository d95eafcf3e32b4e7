// Package rows reads and writes the lines of results of lanewright bench, of the peers,
// and of the programs in other languages. Terms are defined in docs/GLOSSARY.md.
package rows
