// Package door decides who may connect to a server of takt: addresses, users of this machine, tokens,
// private files, and how many connections there may be.
package door

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"github.com/taktload/takt/internal/files"
)

// Certificate reads a certificate and its key. It refuses a key that others can read or change.
func Certificate(certFile, keyFile string) (tls.Certificate, error) {
	cert, err := files.ReadOwn(certFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := ReadPrivate(keyFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(cert, key)
}

// ListenUnix creates a socket that nobody else can open at any moment: it sets the mode in
// a private folder and then moves the socket. It replaces a socket that a killed server left.
func ListenUnix(path string) (net.Listener, error) {
	if c, err := net.Dial("unix", path); err == nil {
		_ = c.Close()
		return nil, fmt.Errorf("another server listens on %s", path)
	} else if info, missing := os.Lstat(path); missing == nil && (info.Mode().Type() != os.ModeSocket || !errors.Is(err, syscall.ECONNREFUSED)) {
		return nil, fmt.Errorf("%s exists and is not a socket of takt: %w", path, err)
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".takt-")
	if err != nil {
		return nil, fmt.Errorf("%w", err)
	}
	defer os.RemoveAll(dir)
	hidden := filepath.Join(dir, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: hidden, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("%w", err)
	}
	l.SetUnlinkOnClose(false)
	err = os.Chmod(hidden, 0o600)
	if err == nil {
		err = os.Rename(hidden, path)
	}
	if err != nil {
		_ = l.Close()
		return nil, err
	}
	return &UnixListener{l, path}, nil
}

// UnixListener removes its socket when it closes.
type UnixListener struct {
	net.Listener
	Path string
}

func (l *UnixListener) Close() error {
	_ = os.Remove(l.Path) // fails at a second Close
	return l.Listener.Close()
}
