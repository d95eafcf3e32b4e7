// Package patience says how long a test waits for an event that has to come. The limit matters only
// when the event does not come, so it is far longer than any machine needs. A mutant may keep the event
// from coming. The command mutants therefore runs the tests with a shorter limit.
//
// Terms are defined in docs/GLOSSARY.md.
package patience
