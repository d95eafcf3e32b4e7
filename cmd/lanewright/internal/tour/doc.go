// Package tour is the command tour: a sort and a hash of a tree, each done in
// three ways, and calls on lanes. Terms are defined in docs/GLOSSARY.md.
package tour
