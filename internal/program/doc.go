// Package program draws small programs and the schedules that they run under,
// together, and checks that what the library promises holds for each. It has no
// code outside tests.
package program
