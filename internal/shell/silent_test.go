package shell

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/internal/door"
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
		{"TLS at the end", encrypted, 2 * time.Second, 2*time.Second + endTime},
		{"nothing is read", plain, 0, authTime},
		{"nothing is read at the end", plain, 2 * time.Second, 2*time.Second + endTime},
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
				s := &Server{lobby: newLobby()}
				s.rights.Store(&rights{tokens: door.Tokens{}})
				newSession(s, ctx, one.wrap(conn)).serve()
				if took := time.Since(begun); took != one.want {
					t.Errorf("it took %v, want %v", took, one.want)
				}
			})
		})
	}
}

// A command that hangs gives its place back, also if it does not hear SIGINT.
func TestHangs(t *testing.T) {
	for deaf, want := range map[bool]time.Duration{false: immediateTime, true: immediateTime + immediateGrace} {
		synctest.Test(t, func(t *testing.T) {
			s := &Server{lobby: newLobby(), immediate: make(chan struct{}, 1)}
			s.host.Run = func(ctx context.Context, abort <-chan struct{}, _ Call) int {
				if !deaf {
					<-ctx.Done()
				} else {
					<-abort
				}
				return 130
			}
			client, conn := net.Pipe()
			defer client.Close()
			said := make(chan string, 1)
			go func() {
				b := make([]byte, 200)
				n, _ := client.Read(b)
				said <- string(b[:n])
			}()
			c := newSession(s, t.Context(), conn)
			c.user = &user{}
			begun := time.Now()
			c.run([]string{"runs"}, Plan{})
			if took, text := time.Since(begun), <-said; took != want || text != "error: it took longer than 2m0s and was ended; does its store answer?\r\n" || len(s.immediate) != 0 {
				t.Errorf("deaf %t: it took %v, want %v: %q", deaf, took, want, text)
			}
		})
	}
}
