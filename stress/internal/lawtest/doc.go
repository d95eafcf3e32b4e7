// Package lawtest holds the helpers that the tests of the law packages share. Only
// tests import it.
package lawtest
