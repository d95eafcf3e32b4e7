// Package soak is the command stress: it runs the scenarios of package stress within the
// limits of the command line. Terms are defined in docs/GLOSSARY.md.
package soak
