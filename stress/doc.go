// Package stress runs scenarios on real goroutines, with injected faults, for as long as
// the caller likes: a soak test of this module.
//
// [Run] runs the scenarios of [Scenarios], round after round. A scenario uses the
// packages of this module as a program does: callers that schedule, tasks that block,
// panic or exit, schedulers that are closed at every step. It also injects faults, such
// as a spawner that fails. A seed determines the programs and the faults of each
// scenario. [Report] counts what was done and lists the violations. Each [Violation]
// names the command that runs its round again.
//
// The command "lanewright stress" is Run with flags.
//
// The laws that check any queue, scheduler or lanes are separate packages:
// stress/queuelaw, stress/schedlaw and stress/lanelaw. Run includes them as scenarios
// whose names begin with "law/".
//
// Real threads execute few of all interleavings. Package interleave explores all
// interleavings of small programs. The two complement each other. The scenarios measure
// no speed.
//
// Terms are defined in docs/GLOSSARY.md.
package stress
