package door

import (
	"net"
	"sync"
)

// limited limits the connections of a listener, in all and from one address, by a lobby: a connection
// is a guest until its request has shown who sends it.
type limited struct {
	net.Listener
	lobby *Lobby
}

// Limited returns the listener with at most so many connections at once, half of them from one
// address. Its connections are Visitors.
func Limited(l net.Listener, most int) net.Listener {
	return &limited{Listener: l, lobby: &Lobby{Most: most, MostOf: most / 2}}
}

// Accept implements net.Listener.
func (l *limited) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &Visitor{
		Conn: conn, lobby: l.lobby,
		guest: l.lobby.Enter(AddressOf(conn.RemoteAddr()), func() { _ = conn.Close() }), // an error loses nothing
	}, nil
}

// Visitor is a connection of such a listener.
type Visitor struct {
	net.Conn
	lobby *Lobby
	guest *Guest
	once  sync.Once
	peer  Peer
}

// Peer is who find says is at the other end. To find out may cost 10 ms, so each connection is asked
// once.
func (v *Visitor) Peer(find func(net.Conn) Peer) Peer {
	v.once.Do(func() { v.peer = find(v.Conn) })
	return v.peer
}

// Welcome keeps the place of a visitor that has shown who it is.
func (v *Visitor) Welcome() { v.lobby.Welcome(v.guest) }

// Close implements net.Conn.
func (v *Visitor) Close() error {
	v.lobby.Leave(v.guest)
	return v.Conn.Close()
}
