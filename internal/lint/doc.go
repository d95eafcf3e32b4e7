// Package lint holds the rules of this repository that no linter can state.
//
// It has no code of its own: the rules are its tests. They read the source of
// the whole module, every file of every build tag, and say which file breaks
// which rule:
//
//	layers        imports point downward; third-party modules are on a list
//	names         our sync hides no name of the standard sync; its alias
//	labels        the labels of lock-free code are declared and cited
//	lock freedom  no locks, channels or system calls where none belong
//	safety        unsafe, linkname, direct atomics, sleeping tests
//	docs          every package and exported name is documented
//	requirements  docs/REQUIREMENTS.md is complete and names real tests
//	paths         no tracked file names a directory of somebody's machine
//
// Run them with
//
//	go test ./internal/lint
package lint
