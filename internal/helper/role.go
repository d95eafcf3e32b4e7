package helper

import (
	"fmt"
	"os"
	"strings"
)

// Variable is the environment variable with the role of a process: its name, and its argument after a colon.
const Variable = "LANEWRIGHT_BENCH_ROLE"

// Main does not return in a process of a role. It does nothing in any other process. roles are the main functions of the
// processes, by the names of their roles. The role of an [Answerer] needs no entry. An error ends the process with code 1.
func Main(roles map[string]func(arg string) error) {
	text, ok := os.LookupEnv(Variable)
	if !ok {
		return
	}
	name, arg, _ := strings.Cut(text, ":")
	role, ok := roles[name]
	if !ok {
		role, ok = own[name]
	}
	if !ok {
		role = func(string) error { return fmt.Errorf("there is no role %q here", name) }
	}
	if err := role(arg); err != nil {
		fmt.Fprintln(os.Stderr, "lanewright: role of a benchmark:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
