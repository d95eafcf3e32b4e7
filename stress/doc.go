// Package stress will hold long-running scenarios over the public packages, and
// the laws that they check: each task ran exactly once, nothing is lost, no
// worker stays parked while work is queued. It is not built yet.
//
// The laws will take a small interface and an implementation, so that other
// modules can run them against schedulers and queues of their own.
package stress
