// Package merkle hashes a directory tree into one SHA-256, in pieces that any
// number of goroutines may run in any order.
//
// The hash of a regular file is that of its content; of a symbolic link that of
// the text it holds, which is not followed; of anything else (a socket, a
// device) that of its kind. The hash of a directory is that of its entries in
// the order of their names, each written as
//
//	kind    1 byte: 'd' directory, 'f' file, 'l' link, 'o' other, '!' unreadable
//	length  of the name, in bytes, as an unsigned varint
//	name
//	hash    32 bytes; zero when the entry could not be read
//
// A [Pass] is one walk. [Node.Visit] does one file or one directory and returns
// the nodes found in it, which the caller visits in turn: in a loop, each on a
// goroutine, or each as a task. Whoever visits the last child of a directory
// also folds the directory, so nobody waits.
package merkle
