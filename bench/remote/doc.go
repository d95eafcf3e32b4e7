// Package remote calls functions in another process by the means that Go programs use for it: streams, net/rpc, gRPC
// and go-plugin.
//
// A [Client] is a new process of this program with the connection to it. All clients call the same two functions, one
// that adds 1 to a number and one that returns its payload. A program that uses this package calls [Main] first. Terms
// are defined in docs/GLOSSARY.md.
package remote
