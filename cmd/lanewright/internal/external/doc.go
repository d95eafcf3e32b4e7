// Package external builds and runs the programs of bench/, which measure other Go libraries
// and libraries of other languages. It needs a checkout of lanewright. Terms are defined
// in docs/GLOSSARY.md.
package external
