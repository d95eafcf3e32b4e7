// Package external builds the programs of bench/ from a checkout and runs them: other Go
// libraries, and libraries of other languages.
package external
