// Package style finds habits that make technical text hard to read, in the comments
// and documents of a source tree.
//
// It checks rules P1 to P4 of the house style: the subject of a clause is a named
// role or type, and a standard thing has its standard name. [Class] lists the forms
// of a finding. "who" is allowed in a relative clause whose head is a noun for a
// person or a role, as in "a caller who waits". It is also allowed in an embedded
// question, as in "the comment states who may write the word". The private words
// are data, in terms.tsv.
//
// [Check] reads the comments of Go, assembly, C, C++ and Rust. Of Markdown and plain
// text it reads everything but code. Of .mutants files it reads the comments and the
// "why" lines. It skips the text between two lines that hold only the marks prose:off and
// prose:on. It measures the [Shape] of the sentences as well. Terms are defined in
// docs/GLOSSARY.md.
package style
