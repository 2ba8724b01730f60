package shell

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// Who connects and says nothing, also not TLS's hello, holds a place for a bounded time,
// and the end of the server for a second.
func TestSilent(t *testing.T) {
	encrypted := func(c net.Conn) net.Conn { return tls.Server(c, &tls.Config{}) }
	plain := func(c net.Conn) net.Conn { return c }
	for _, one := range []struct {
		name string
		wrap func(net.Conn) net.Conn
		ends time.Duration // the server; 0: not before the session
		want time.Duration
	}{
		{"TLS", encrypted, 0, authTime},
		{"TLS at the end", encrypted, 5 * time.Second, 5*time.Second + endTime},
		{"nothing is read", plain, 0, writeTime},
		{"nothing is read at the end", plain, 5 * time.Second, 5*time.Second + endTime},
	} {
		t.Run(one.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if one.ends > 0 {
					time.AfterFunc(one.ends, func() { cancel(errors.New("ends")) })
				}
				client, conn := net.Pipe()
				defer client.Close()
				begun := time.Now()
				newSession(&Server{tokens: tokens{}}, ctx, one.wrap(conn)).serve()
				if took := time.Since(begun); took != one.want {
					t.Errorf("it took %v, want %v", took, one.want)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		client, conn := net.Pipe()
		defer client.Close()
		turnAway(encrypted(conn))
	})
}
