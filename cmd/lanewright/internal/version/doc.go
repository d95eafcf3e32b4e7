// Package version is the command version: it describes this program and this machine.
package version
