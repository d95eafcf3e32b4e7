// Package shm makes memory that two processes share.
//
// A [Region] has its final size from the start and never moves. One process writes it, and the
// other one reads it. The process that makes the region, the host, passes the descriptor or
// the path to the other process, the worker, which opens the region with it. Everything is mmap
// through system calls, without cgo.
//
// There are three kinds:
//
//	          host    worker     allocated        truncated by another process
//	sealed    Sealed  Open       page by page     refused by the kernel
//	named     Named   OpenNamed  at the start     a fault of both processes
//	file      File    OpenFile   at the start     a fault of both processes
//
// A sealed region is the default. Its seals keep every process from truncating it, and keep
// the worker from writing a region that the host writes. A named region is for a worker that
// gets no descriptor from the host, such as one in a container. A file is for systems without
// seals. Only a trusted worker may get a region without seals, because the runtime cannot
// recover from the fault.
//
// A region of the second and third kind takes its whole memory at the start. A file system
// that has no space for a page would otherwise end the process with the signal SIGBUS when the
// page is touched. A sealed region needs no allocation, because no file system limits it, and a
// page that was never touched takes no memory.
//
// Linux has all three kinds, and darwin and the BSDs have the file. The functions of other
// kinds and other systems return an error that matches [errors.ErrUnsupported] and names what
// is missing. The build tag portable removes the other kinds from Linux.
//
// Terms are defined in docs/GLOSSARY.md.
package shm
