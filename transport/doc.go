// Package transport will carry calls between the two sides of a lane. It is
// not built yet.
//
// A Link will be two regions of memory with one writing side each: a mailbox
// of 32 slots a direction, whose slots are busy while one bit of the one side
// differs from the same bit of the other, and an arena for payloads that do not
// fit a slot. The same code will run over ordinary memory, for lanes whose
// worker is a goroutine, and over shared memory, for lanes whose worker is
// another process. Whatever the other process wrote will be read once, checked,
// and copied before use.
//
// The package will know nothing of tasks, pools, or the network.
package transport
