//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package remote

import (
	"errors"
	"net"
	"os"

	"github.com/lanewright/lanewright/internal/helper"
)

// startConn starts this program again in a role, and returns the connection to it. end ends the process.
func startConn(role string) (conn net.Conn, end func() error, err error) {
	own, peer, err := helper.SocketPair()
	if err != nil {
		return nil, nil, err
	}
	p, err := helper.Start(role, "", peer)
	_ = peer.Close()
	if err != nil {
		return nil, nil, errors.Join(err, own.Close())
	}
	end = func() error { return helper.End(p) }
	if conn, err = connect(own); err != nil {
		return nil, nil, errors.Join(err, end())
	}
	return conn, end, nil
}

// serving returns the main function of a process that serves its connection.
func serving(serve func(net.Conn) error) func(arg string) error {
	return func(string) error {
		files, err := helper.Attach(1)
		if err != nil {
			return err
		}
		conn, err := connect(files[0])
		if err != nil {
			return err
		}
		return serve(conn)
	}
}

// connect returns the connection of a socket, which it closes.
func connect(f *os.File) (net.Conn, error) {
	conn, err := net.FileConn(f)
	return conn, errors.Join(err, f.Close())
}
