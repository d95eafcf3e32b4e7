// Package remote has the tasks that the worker processes of this program run. Terms are
// defined in docs/GLOSSARY.md.
package remote
