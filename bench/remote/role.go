package remote

import "github.com/lanewright/lanewright/internal/helper"

// The names of the roles.
const (
	roleNetRPC = "net-rpc"
	roleGRPC   = "grpc"
	rolePlugin = "plugin"
)

// Main does not return in a process that a client has started. It does nothing in any other process. A program calls it
// first.
func Main() {
	helper.Main(map[string]func(arg string) error{
		roleNetRPC: serving(serveNetRPC),
		roleGRPC:   serving(serveGRPC),
		rolePlugin: runPlugin,
	})
}
