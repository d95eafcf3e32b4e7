// Package process starts worker processes, each with a link to its host.
//
// [Start] makes the memory of a link, the wakers of both sides and the end of the host. Then it starts the process. The
// process calls [Attach] as its first step, which returns the end of the worker side. Package transport carries the
// messages between the two ends. This package does not know their content: it has no pools, tasks or calls.
//
// # What the process gets
//
// The process gets descriptors, in this order:
//
//   - the letter: the read end of a pipe, from which Attach learns what the other descriptors are,
//   - the memory of requests and that of answers, but for [Named] regions, whose paths are in the letter,
//   - the files of the waker of the worker side, see futex.OpenWaker.
//
// Attach checks each field of the letter, so a process of another version gets an error that names the difference.
// Neither the arguments nor the environment of the process contain a part of the letter, because other processes may
// read both.
//
// # The end of a process
//
// The host sees the death of the process by [Worker.IsDead], which is set before the receiver of the host is woken. So
// the receiver may wait without a deadline. The end of the host stays usable after the death: answers that the process
// has published can be received, and calls that it has not started are known, see transport.HostEnd.Started.
// [Worker.Close] gives the memory back. A process ends when its host does, see package child.
//
// Processes are started on systems that have fork. Elsewhere Start returns an error that matches
// [errors.ErrUnsupported], and makes nothing.
//
// Terms are defined in docs/GLOSSARY.md.
package process
