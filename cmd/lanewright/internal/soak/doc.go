// Package soak is the command stress: it runs the scenarios of package stress for as long
// as the command line says.
package soak
