// Package child starts the processes of a pool, and is their first step.
//
// [Start] starts a process. It ends when its host ends, however the host ends: it holds one end of a pipe, the
// other end of which only the host has. The kernel kills it as well on Linux. The host learns of the death of the
// process by [Process.Done], and reads its output all the time. No thread of the host waits for a process.
//
// The process calls [Attach], which gives it the files of [Command].Files, and closes the descriptors that the
// launcher of the host has left open. So the process has nothing that it was not given.
//
// # Prefixes
//
// A prefix is a program in front of that of the process, such as nice or env. The process is the prefix then, and
// the program behind it may be the same process or another one. Both are in one process group, which
// [Process.Kill] kills. A program that leaves this group is out of reach of Kill. So is one that a service starts for
// the prefix, as docker and systemd-run do, or that has daemonized. Another pid namespace is within reach, unless the
// prefix begins a session in it. When the prefix has ended, the pipe ends the programs that hold it, in whatever group
// they are. A stopped program ends when it is continued.
//
// A prefix passes the environment and all descriptors on. Attach returns an error behind a prefix that does not, such
// as sudo, because a program that took itself for a host would start processes without end.
//
// # Systems
//
// A process is started on systems that have fork. Elsewhere Start returns an error that matches
// [errors.ErrUnsupported]. Linux has pidfds since version 5.3. On older kernels, and on other systems, the end of the
// pipe reports the death of a process. The report is up to a second late while another process holds the pipe: a
// process that was started before Attach, or by a program that does not call Attach. Without a pidfd no other part of the
// host may wait for the process, because Kill would not learn that its number has become free.
//
// Terms are defined in docs/GLOSSARY.md.
package child
