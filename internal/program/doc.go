// Package program generates small programs together with the schedules that they run
// under, and checks that each execution keeps the promises of the library. It has no
// code outside tests. Terms are defined in docs/GLOSSARY.md.
package program
