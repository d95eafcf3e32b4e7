package child

import (
	"os"
	"slices"
	"strings"
)

// Command says which process [Start] starts.
type Command struct {
	// Argv is the program and its arguments. A program without a slash is looked up in PATH, and one with a slash
	// that does not begin with it is in Dir. nil is the program of the host again, without arguments, also if its
	// file was replaced since (on Linux, without a Prefix).
	Argv []string
	// Prefix is a program with arguments that starts Argv, such as nice. It is looked up as Argv is without a Prefix.
	// The Prefix looks up Argv. An argument is added in front of those of Argv, by which Attach recognizes the
	// process. Attach removes it. The package comment says which prefixes work.
	Prefix []string
	// Dir is the working directory. "" is the root directory, so that the process keeps no directory in use.
	Dir string
	// Env is the whole environment, as NAME=value. See [Environ].
	Env []string
	// Files are the files that Attach returns in the process, at most MaxFiles. The host may close its own after Start,
	// which sets them to blocking mode as os.StartProcess does.
	Files []*os.File
	// Output, when not nil, is called with each line of the standard output and error of the process, without its
	// end. isErr distinguishes the two. A line of more than 64 KiB comes in parts. The calls come one after another,
	// and may block. Further lines wait in up to 1 MiB of memory. A line beyond that is dropped, because a process
	// whose output is not read hangs, and a line of the host says how many were. The calls go on after a call that
	// panics or ends its goroutine. See [Process.OutputPanic].
	Output func(line []byte, isErr bool)
}

// MaxFiles is the maximum number of Command.Files.
const MaxFiles = 64

// DefaultEnv is what every process gets of the environment of its host: the language, the time zone, and the settings of
// the Go runtime. A name that ends in * stands for all names that begin so.
var DefaultEnv = []string{"LANG", "LC_*", "TZ", "GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT", "GOTRACEBACK", "GOCOVERDIR"}

// Environ returns the environment of a process: DefaultEnv of that of the host, and more. An element of more is a name,
// whose value is that in the host, or NAME=value. A later element takes the place of an earlier one with the same name.
func Environ(more []string) (env []string) {
	host := os.Environ()
	set := func(entry string) {
		name, _, _ := strings.Cut(entry, "=")
		env = slices.DeleteFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
		env = append(env, entry)
	}
	for _, e := range slices.Concat(DefaultEnv, more) {
		if strings.Contains(e, "=") {
			set(e)
			continue
		}
		for _, has := range host {
			name, _, _ := strings.Cut(has, "=")
			if prefix, ok := strings.CutSuffix(e, "*"); name == e || ok && strings.HasPrefix(name, prefix) {
				set(has)
			}
		}
	}
	return env
}
