// Package merkle hashes a directory tree into one SHA-256. Any number of goroutines may
// hash the parts of the tree in any order.
//
// The hash of a regular file is the hash of its content. The hash of a symbolic link is
// the hash of its text, and the link is not followed. The hash of another entry, such as a
// socket or a device, is the hash of its kind. The hash of a directory is the hash of its
// entries in the order of their names, each written as
//
//	kind    1 byte: 'd' directory, 'f' file, 'l' link, 'o' other, '!' unreadable
//	length  of the name, in bytes, as an unsigned varint
//	name
//	hash    32 bytes; zero when the entry could not be read
//
// A [Pass] is one walk. [Node.Visit] hashes one file or reads one directory. It returns the
// nodes in the directory, and the caller visits each of them: in a loop, on a goroutine of
// its own, or as a task. The visit that completes the last entry of a directory also hashes
// the directory, so no visit waits for another one. Terms are defined in
// docs/GLOSSARY.md.
package merkle
