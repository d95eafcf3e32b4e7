// Package race shows the race detector an order that it cannot see, because it goes through memory that two processes
// share. Without the detector its types have no size and its functions do nothing.
//
// Terms are defined in docs/GLOSSARY.md.
package race
