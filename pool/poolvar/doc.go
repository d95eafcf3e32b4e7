// Package poolvar publishes the counters of pools as variables of package expvar, which
// serves them over HTTP. It is a package of its own because expvar imports net/http.
//
// Terms are defined in docs/GLOSSARY.md.
package poolvar
