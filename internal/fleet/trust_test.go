package fleet

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/internal/door"
)

// Without a token, both sides talk only to a process of their own user. With one, it does not matter who
// brings the bytes.
func TestTrust(t *testing.T) {
	for who, want := range map[door.Peer]string{
		door.PeerSelf:     "",
		door.PeerStranger: "it belongs to another user of this machine",
		door.PeerUnknown:  "takt cannot find out which user it belongs to",
	} {
		for _, token := range []Token{"", NewToken()} {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				w := newWorld(t, Options{Shards: 1, Token: token, Peer: func(net.Conn) door.Peer { asked++; return who }})
				m, _, err := w.join(Join{Token: token})
				refused := (*RefusedError)(nil)
				switch welcome := token != "" || want == ""; {
				case welcome && err != nil, token != "" && asked > 0:
					t.Errorf("%s, token %.3q: %v, asked %d times", who, token, err, asked)
				case !welcome && (!errors.As(err, &refused) || !strings.Contains(refused.Reason, want) || !strings.Contains(refused.Reason, MakeToken)):
					t.Errorf("%s: %v, want %q", who, err, want)
				case !welcome && !strings.Contains(w.told(), want):
					t.Errorf("%s: the user was told %q", who, w.told())
				}
				w.end(0)
				if m != nil {
					<-m.gone
				}
			})
		}
		synctest.Test(t, func(t *testing.T) {
			mine, its := net.Pipe()
			heard := make(chan []byte)
			go func() {
				_ = its.SetReadDeadline(time.Now().Add(time.Second))
				b, _ := io.ReadAll(its) // until the member closes, or says no more
				heard <- b
				its.Close()
			}()
			_, err := Dial(t.Context(), Join{
				Address: "127.0.0.1:8400", Hello: Hello{Host: "h"},
				Dial: func(context.Context) (net.Conn, error) { return mine, nil },
				Peer: func(context.Context, net.Conn) (door.Peer, error) { return who, nil },
			})
			stranger, said := (*StrangerError)(nil), <-heard
			if spoke := len(said) > 0; spoke != (want == "") || errors.As(err, &stranger) == spoke {
				t.Errorf("%s: said %q, %v", who, said, err)
			}
			if stranger != nil && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), MakeToken) || !strings.Contains(err.Error(), "127.0.0.1:8400")) {
				t.Errorf("%s: %v, want %q", who, err, want)
			}
		})
	}
}

// A shard of another content learns which setting differs, and not what is right.
func TestNoDigests(t *testing.T) {
	e := &OtherLoadError{Setting: "body_sha256", Here: `"1234"`, Asked: `"5678"`, Files: []string{"body.json"}}
	if text := e.Error(); strings.Contains(text, "1234") || strings.Contains(text, "5678") || !strings.Contains(text, "body_sha256 is another there") || !strings.Contains(text, "body.json") {
		t.Error(text)
	}
	e = &OtherLoadError{Setting: "seed", Here: "1", Asked: "2"}
	if text := e.Error(); !strings.Contains(text, "seed is 1 there, not 2") {
		t.Error(text)
	}
}
