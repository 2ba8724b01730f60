package door

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"testing"
)

// A new guest is let in at all times, and the oldest of the address that has too many
// goes for it; from many addresses, the oldest of the one that has most.
func TestLobby(t *testing.T) {
	const most, mostOf = 128, 32
	l := &Lobby{Most: most, MostOf: mostOf}
	var ended []string
	enter := func(address, name string) *Guest {
		return l.Enter(address, func() { ended = append(ended, name) })
	}
	honest := enter("192.0.2.1", "honest")
	var flood []*Guest
	for i := range 1000 {
		flood = append(flood, enter("198.51.100.9", fmt.Sprint(i)))
	}
	if l.Len() != 1+mostOf || len(ended) != 1000-mostOf || ended[0] != "0" || slices.Contains(ended, "honest") {
		t.Errorf("%d wait, %d ended, %v first", l.Len(), len(ended), ended[0])
	}
	if !l.Leave(flood[0]) || l.Leave(flood[999]) || l.Leave(honest) {
		t.Error("who left early has to hear of it, and nobody else")
	}
	ended = nil
	honest = enter("192.0.2.1", "honest")
	for a := range 10 {
		for i := range mostOf {
			enter(fmt.Sprint("flood ", a), fmt.Sprint(a, ".", i))
		}
	}
	if l.Len() != most || slices.Contains(ended, "honest") || l.Leave(honest) {
		t.Errorf("%d wait; %v", l.Len(), ended)
	}
	l, ended = &Lobby{Most: most, MostOf: mostOf}, nil
	for i := range most + 3 {
		enter(fmt.Sprint(i), fmt.Sprint(i))
	}
	if !slices.Equal(ended, []string{"0", "1", "2"}) {
		t.Errorf("of one from each address %v ended", ended)
	}
}

// Who has shown who it is stays, however many come; where all others have, the newest goes.
func TestLobbyWelcome(t *testing.T) {
	l := &Lobby{Most: 8, MostOf: 4}
	var ended []string
	enter := func(address, name string) *Guest {
		return l.Enter(address, func() { ended = append(ended, name) })
	}
	known := enter("192.0.2.1", "known")
	l.Welcome(known)
	for i := range 100 {
		enter("192.0.2.1", fmt.Sprint(i))
	}
	if l.Len() != 4 || slices.Contains(ended, "known") || l.Leave(known) {
		t.Errorf("%d are there, %v ended", l.Len(), ended)
	}
	l, ended = &Lobby{Most: 8, MostOf: 4}, nil
	for range 4 {
		l.Welcome(enter("192.0.2.1", "known"))
	}
	enter("192.0.2.1", "new")
	for range 4 {
		l.Welcome(enter("192.0.2.2", "known"))
	}
	enter("192.0.2.3", "other")
	if !slices.Equal(ended, []string{"new", "other"}) {
		t.Errorf("%v ended", ended)
	}
}

// Those that are refused go before others of their address.
func TestLobbyRefuses(t *testing.T) {
	var ended []string
	l := &Lobby{Most: 4, MostOf: 4}
	enter := func(name string) *Guest {
		return l.Enter("192.0.2.1", func() { ended = append(ended, name) })
	}
	for _, name := range []string{"first", "bad", "worse", "last", "new", "newer"} {
		if g := enter(name); name == "bad" || name == "worse" {
			l.Refuse(g)
		}
	}
	if !slices.Equal(ended, []string{"bad", "worse"}) {
		t.Errorf("%v ended", ended)
	}
}

// net/http answers nothing by itself that the handler would refuse, and a visitor that was welcome
// keeps its place.
func TestServeHTTP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/known" {
			VisitorOf(r).Welcome()
		}
		w.WriteHeader(http.StatusTeapot)
	})}
	done := make(chan struct{})
	ctx := t.Context()
	go func() {
		defer close(done)
		_ = ServeHTTP(ctx, h, Limited(l, 8), 0) // "context canceled"
	}()
	t.Cleanup(func() { <-done })
	open := func(request string) net.Conn {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		fmt.Fprint(conn, request)
		return conn
	}
	answer := func(conn net.Conn) string {
		b := make([]byte, 12)
		_, _ = conn.Read(b) // no answer has no status
		return string(b)
	}
	known := open("OPTIONS /known HTTP/1.1\r\nHost: x\r\n\r\n")
	in := bufio.NewReader(known)
	again := func() error { // reads a whole answer of the known visitor
		got, err := http.ReadResponse(in, nil)
		if err == nil {
			_, err = io.Copy(io.Discard, got.Body)
		}
		if err == nil && got.StatusCode != http.StatusTeapot {
			err = errors.New(got.Status)
		}
		return err
	}
	if err := again(); err != nil {
		t.Error(err)
	}
	if got := answer(open("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n")); got != "HTTP/1.1 418" {
		t.Errorf("%q", got)
	}
	for range 20 { // strangers that say nothing: more than there are places
		open("")
	}
	if got := answer(open("GET / HTTP/1.1\r\nHost: x\r\n\r\n")); got != "HTTP/1.1 418" {
		t.Errorf("a new visitor: %q", got)
	}
	fmt.Fprint(known, "GET /again HTTP/1.1\r\nHost: x\r\n\r\n")
	if err := again(); err != nil {
		t.Errorf("the known visitor: %v", err)
	}
}
