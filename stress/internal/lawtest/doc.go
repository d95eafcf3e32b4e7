// Package lawtest holds the helpers that the tests of the law packages share. Only
// tests import it. Terms are defined in docs/GLOSSARY.md.
package lawtest
