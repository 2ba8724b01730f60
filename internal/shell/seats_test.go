package shell

import (
	"bufio"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taktload/takt/internal/door"
)

func TestSeats(t *testing.T) {
	s := &seats{}
	for range maxSessionsOfAddress {
		if err := s.take("192.0.2.1"); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.take("192.0.2.1"); err == nil || err.Error() != "there are 64 sessions from 192.0.2.1 already; end some" {
		t.Error(err)
	}
	for i := range maxSessions - maxSessionsOfAddress {
		if err := s.take(map[bool]string{true: "", false: fmt.Sprint(i)}[i < 100]); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.take("192.0.2.2"); err == nil || err.Error() != "there are 256 sessions already; try again later" {
		t.Error(err)
	}
	s.give("192.0.2.1")
	if err := s.take("192.0.2.2"); err != nil {
		t.Error(err)
	}
	for range maxSessionsOfAddress - 1 {
		s.give("192.0.2.1")
	}
	if _, left := s.of["192.0.2.1"]; left {
		t.Error("an address without sessions is remembered")
	}
}

func at(text string) net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(text)) }

// from gives a pipe an address.
type from struct {
	net.Conn
	address string
}

func (f from) RemoteAddr() net.Addr { return at(f.address) }

// 1000 connections that say nothing lock nobody out, from their own address or another
// one, and are gone after 5 s. Each hears why.
func TestFloodOfSilence(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := &Server{lobby: newLobby()}
		s.rights.Store(&rights{tokens: door.Tokens{door.NewToken("ann", door.RoleRun, "correct-horse")}})
		s.options.DumpDir = dir
		s.state, _ = openState("")
		s.queue = newQueue(t.Context(), "", func(savedJobs) error { return nil })
		said := make(chan string, 1000)
		begun := time.Now()
		connect := func(address string) net.Conn {
			client, conn := net.Pipe()
			go newSession(s, t.Context(), from{conn, address}).serve()
			return client
		}
		for range 1000 {
			client := connect("198.51.100.9:1")
			go func() {
				var text strings.Builder
				_, _ = bufio.NewReader(client).WriteTo(&text)
				said <- text.String()
			}()
			synctest.Wait()
		}
		for _, address := range []string{"192.0.2.1:1", "198.51.100.9:2"} {
			client := connect(address)
			in := bufio.NewReader(client)
			expect(t, in, "takt: say auth TOKEN\r\n")
			_, _ = client.Write([]byte("auth correct-horse\r\nquit\r\n"))
			expect(t, in, "takt : type 'help' for help\r\n")
			_ = client.Close()
		}
		if took := time.Since(begun); took != 0 {
			t.Errorf("who has a token waited for %v", took)
		}
		count := map[string]int{}
		for range 1000 {
			text := <-said
			count[text[strings.LastIndex(strings.TrimSpace(text), "\n")+1:]]++
		}
		early, late := count["error: too many sessions wait to give their token; connect again and give it at once\r\n"], count["error: there was no auth TOKEN within 5s\r\n"]
		if took := time.Since(begun); took != authTime || early != 1000-maxGuestsOfAddress+1 || late != maxGuestsOfAddress-1 {
			t.Errorf("after %v: %v", took, count)
		}
		if s.lobby.Len() != 0 || s.seats.all != 0 {
			t.Errorf("%d wait, %d have a seat", s.lobby.Len(), s.seats.all)
		}
	})
}

func expect(t *testing.T, in *bufio.Reader, want string) {
	t.Helper()
	if got, err := in.ReadString('\n'); got != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}
