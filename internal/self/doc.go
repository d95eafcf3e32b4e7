// Package self keeps what each goroutine runs, for the goroutine itself.
//
// A goroutine that begins to run something enters a [Frame], and leaves it at the end. The
// frames of a goroutine are a stack. [Top] returns the innermost frame of the caller, and
// [Frame.Up] leads to those below it. The owner of a frame is the record of the package
// that has entered it:
//
//	type Worker struct {
//		frame self.Frame // its Owner is the Worker
//		...
//	}
//
//	w.frame.Enter()
//	defer w.frame.Leave()
//
//	func (s *Scheduler) self() *Worker {
//		for f := self.Top(); f != nil; f = f.Up() {
//			if w, ok := f.Owner.(*Worker); ok && w.s == s {
//				return w
//			}
//		}
//		return nil
//	}
//
// A goroutine finds its own frames and no others, so that the frames and all that hangs on
// them need no synchronization. A goroutine must have left all its frames when it ends,
// because a later goroutine may have the same identity. Leave is therefore deferred, so that
// it also runs when the goroutine calls [runtime.Goexit] or panics. Builds with the tag
// invariants and the race detector find a goroutine that has not left.
//
// Top takes 3 ns in a goroutine without a frame and 5 ns in one with a frame. Enter and Leave
// take 23 ns together if the goroutine has no other frame, and 7 ns otherwise. With 10,000
// goroutines inside these figures are 20, 20, 53 and 21 ns. They were measured on two
// processors (amd64). Where package park has no assembly for the identity of a goroutine,
// each Top and each Enter takes 1 µs more. No function allocates, except for an Enter that
// makes a part of the table.
//
// In an exploration of package interleave the frames of a thread are in a variable of that
// thread, and none of these functions takes a step. A model of its own checks the table.
// Terms are defined in docs/GLOSSARY.md.
package self
