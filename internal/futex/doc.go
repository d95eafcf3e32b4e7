// Package futex parks goroutines and threads on words of memory that two processes share.
//
// # The calls
//
// [Wait], [Set.Wait] and [Wake] are the system calls futex and futex_waitv of Linux. The
// words are shared and not private: a private futex on memory of two processes wakes no
// waiter of the other process, and reports no error. The calls go through the ordinary
// path of the Go runtime. A raw system call would keep the garbage collector waiting until
// the thread wakes. Deadlines are absolute times of one clock, see [Now], so a wait that
// begins again after a signal ends when it would have ended.
//
// # The dispatcher
//
// A goroutine in Wait holds a thread. A [Dispatcher] holds one thread for 127 doorbells. It
// waits on all of them and unparks the goroutine whose doorbell has changed. A doorbell is
// added and removed while the thread waits.
//
// # The wakers
//
// A [Waker] is one side of a link: it parks this side and wakes the side in the other
// process. [Dispatcher.NewWaker] makes the one of the host, and [OpenWaker] the one of the
// worker process. The mechanism depends on the system:
//
//	Linux 5.16 or later     the host parks in a Dispatcher, the worker in futex_waitv
//	Linux before            an eventfd for each side, in the poller of the Go runtime
//	darwin and the BSDs     a pipe for each side, in the poller
//	other systems           none: an error that matches [errors.ErrUnsupported]
//
// The kernel is asked once, see [HasWaitv], and not by its version, because a sandbox may
// refuse the call. The build tag nowaitv selects the eventfd, and the tag portable the pipe.
//
// With the eventfd and the pipe the other process must be trusted: the descriptors of both have one file status in
// common, so it can make a Park or a wake-up of this side block, and take its events away. The futexes have no such
// state.
//
// Terms are defined in docs/GLOSSARY.md.
package futex
