// Package crash ends the process at a named step, so that tests can prove what a death at that step leaves behind.
//
// [At] marks a step in the code of the host and of the worker process. It is empty and inlined in normal builds. Under
// the build tag crash it kills the own process at one pass of one step. The kill is SIGKILL, so no deferred call and no
// exit hook of the process runs. The tag has an effect on systems with signals and memory that processes share.
//
// The environment variable [Variable] chooses the step and the pass. It has one of two forms:
//
//	LANEWRIGHT_CRASH='claimed:3'  the process dies when it is at the step "claimed" for the third time
//	LANEWRIGHT_CRASH=@/tmp/page   the process does what the file says, which a test has made: see Page
//
// A worker process gets the variable only if pool.Process.Env passes it on. So a test chooses the side that dies: it sets
// the variable for the host, or passes it to the workers. A step that both sides have needs one constant only.
//
// [Steps] lists all steps, so that a sweep misses none. A step is a constant, so that a misspelled one does not compile.
//
// Terms are defined in docs/GLOSSARY.md.
package crash
