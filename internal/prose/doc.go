// Command prose checks the text of files against rules P1 to P4 of the house style:
//
//	go run ./internal/prose [flags] FILE|DIR...
//
// It reads comments, documents and the "why" lines of mutants. It prints a line for
// each finding, and the rates per 1000 words at the end. A test in internal/lint
// applies the same rules to the whole repository. Package style below this one has
// the rules and the list of private words.
//
//	-max N         exit with 1 when the findings exceed N per 1000 words
//	-each          apply -max to each file; one finding in a file always passes
//	-q             print the rates only
//	-by dir|file   rates by directory (the default) or by file
//	-tests         read *_test.go in directories as well
//	-strings       read string literals as well, such as error texts
//	-only CLASSES  report these classes only, separated by commas
//	-shape         print the shape of the sentences instead of findings
//	-terms FILE    add private words in the form of style/terms.tsv. The replacement "-"
//	               removes a word from the built-in list
//
// The exit code is 0 below the limit, 1 above it and 2 after a usage error. Terms are
// defined in docs/GLOSSARY.md.
package main
