package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/rpc"
	"os"
	"os/exec"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/lanewright/lanewright/internal/child"
	"github.com/lanewright/lanewright/internal/helper"
)

// handshake is what both sides of go-plugin have to agree on.
var handshake = plugin.HandshakeConfig{ProtocolVersion: 1, MagicCookieKey: "LANEWRIGHT_PEER", MagicCookieValue: "peer"}

// pluginName is the name of the only plugin, and the service of it when the protocol is net/rpc.
const (
	pluginName    = "peer"
	pluginService = "Plugin"
)

// rpcPlugin is the plugin with net/rpc.
type rpcPlugin struct{}

// Server returns the functions.
func (rpcPlugin) Server(*plugin.MuxBroker) (any, error) { return rpcService{}, nil }

// Client returns the client of net/rpc.
func (rpcPlugin) Client(_ *plugin.MuxBroker, c *rpc.Client) (any, error) { return c, nil }

// grpcPlugin is the plugin with gRPC.
type grpcPlugin struct{ plugin.NetRPCUnsupportedPlugin }

// GRPCServer adds the functions to the server.
func (grpcPlugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	s.RegisterService(&grpcService, nil)
	return nil
}

// GRPCClient returns the connection.
func (grpcPlugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, c *grpc.ClientConn) (any, error) {
	return c, nil
}

// plugins returns the plugin with a protocol.
func plugins(p plugin.Protocol) plugin.PluginSet {
	if p == plugin.ProtocolGRPC {
		return plugin.PluginSet{pluginName: grpcPlugin{}}
	}
	return plugin.PluginSet{pluginName: rpcPlugin{}}
}

// StartPlugin starts a plugin of go-plugin with net/rpc. Its calls cross a unix socket in a stream of yamux.
func StartPlugin(int) (Client, error) {
	c, end, err := startPlugin[*rpc.Client](plugin.ProtocolNetRPC)
	if err != nil {
		return nil, err
	}
	return newRPC(c, pluginService, end), nil
}

// StartPluginGRPC starts a plugin of go-plugin with gRPC. Its calls are unary, as those of StartGRPC.
func StartPluginGRPC(int) (Client, error) {
	c, end, err := startPlugin[*grpc.ClientConn](plugin.ProtocolGRPC)
	if err != nil {
		return nil, err
	}
	return newGRPC(c, end), nil
}

// startPlugin starts a plugin and returns its client. The plugin holds one end of a pipe, and ends when the host closes
// the other end or dies: go-plugin leaves a plugin behind whose host dies.
func startPlugin[C any](protocol plugin.Protocol) (client C, end func() error, err error) {
	exe, err := os.Executable()
	if err != nil {
		return client, nil, err
	}
	life, hold, err := os.Pipe()
	if err != nil {
		return client, nil, err
	}
	cmd := exec.Command(exe)
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{life}
	cmd.Env = append(child.Environ([]string{"TMPDIR"}), helper.Variable+"="+rolePlugin+":"+string(protocol))
	p := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig:  handshake,
		Plugins:          plugins(protocol),
		AllowedProtocols: []plugin.Protocol{protocol},
		Cmd:              cmd,
		SkipHostEnv:      true,
		GRPCDialOptions:  dialOptions(),
		Logger:           hclog.NewNullLogger(),
	})
	end = func() error {
		p.Kill()
		err := errors.Join(hold.Close(), life.Close())
		if !p.Exited() {
			err = errors.Join(err, errors.New("remote: the plugin has not ended"))
		}
		return err
	}
	var got any
	c, err := p.Client()
	if err == nil {
		got, err = c.Dispense(pluginName)
	}
	if err != nil {
		return client, nil, errors.Join(err, end())
	}
	client, ok := got.(C)
	if !ok {
		return client, nil, errors.Join(fmt.Errorf("remote: go-plugin gave a %T", got), end())
	}
	return client, end, nil
}

// lifeFD is the first of exec.Cmd.ExtraFiles.
const lifeFD = 3

// runPlugin is the process of a plugin.
func runPlugin(arg string) error {
	protocol := plugin.Protocol(arg)
	if protocol != plugin.ProtocolGRPC && protocol != plugin.ProtocolNetRPC {
		return fmt.Errorf("go-plugin has no protocol %q", arg)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.NewFile(lifeFD, "life"))
		os.Exit(1)
	}()
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: handshake,
		Plugins:         plugins(protocol),
		GRPCServer:      func(o []grpc.ServerOption) *grpc.Server { return newServer(o...) },
		Logger:          hclog.NewNullLogger(),
	})
	return nil
}
