package shell

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/taktload/takt/internal/door"
)

// greet identifies the user, says hello, and reports whether the session may begin.
// release frees the session's seat.
func (c *session) greet() (release func(), ok bool) {
	// With TLS this deadline limits the handshake too: the first write waits for the client.
	_ = c.conn.SetReadDeadline(time.Now().Add(authTime)) // fails only on a closed connection
	name, address, err := c.identify()
	if err == nil {
		if err = c.server.seats.take(address); err != nil {
			c.noteStranger(address, err)
		}
	}
	if err != nil {
		c.failUnlessSilent(err)
		return nil, false
	}
	if c.user, err = c.server.state.user(name); err != nil {
		c.fail(err)
	}
	c.recent.lines = c.user.history()
	c.say("takt " + c.server.host.Version + ": type 'help' for help")
	c.sayShared()
	_ = c.conn.SetReadDeadline(time.Time{})
	_ = c.note(eventSession, 0, "", "begins") // if this fails, allow refuses commands that change something
	return func() {
		_ = c.note(eventSession, 0, "", "ends")
		c.server.seats.give(address)
	}, !c.broken.Load()
}

// errSilent ends a session without an answer: the client is a browser, or gone.
var errSilent = errors.New("")

func (c *session) failUnlessSilent(err error) {
	if !errors.Is(err, errSilent) {
		c.fail(err)
	}
}

// localUser is the user of a server without tokens.
const localUser = "local"

// identify returns the user's name and the address that the limits per address apply to.
// Without tokens there is one user, so address is "".
func (c *session) identify() (name, address string, err error) {
	if c.server.tokenList() == nil {
		return localUser, "", c.admitLocal()
	}
	address = door.AddressOf(c.conn.RemoteAddr())
	g := c.server.lobby.Enter(address, func() { _ = c.conn.SetReadDeadline(time.Now()) })
	name, err = c.authenticate(address)
	if c.server.lobby.Leave(g) {
		err = errors.New("too many sessions wait to give their token; connect again and give it at once")
	}
	if err != nil && !errors.Is(err, errUnknown) { // admit has logged a wrong token
		c.noteStranger(address, err)
	}
	return name, address, err
}

// admitLocal decides who may use a server without tokens. Only this machine can reach
// such a server, but the machine may have other users.
func (c *session) admitLocal() error {
	peer := c.server.peer
	if v, ok := c.conn.(*door.Visitor); ok {
		peer = func(net.Conn) door.Peer { return v.Peer(c.server.peer) }
	}
	switch peer(c.conn) {
	case door.PeerSelf:
		c.own = true
	case door.PeerStranger:
		err := denied("this server is for the user that runs it; others need a token, which its owner gives with --token-file")
		c.noteStranger(string(door.PeerStranger), err)
		return err
	}
	return nil
}

// authenticate reads the first line, which must be auth TOKEN.
func (c *session) authenticate(address string) (name string, err error) {
	if _, plain := c.conn.(*net.TCPConn); plain && !c.server.options.local() {
		c.say("warning: this connection is not encrypted: others on the network can read your token and everything you type")
	}
	c.say("takt: say auth TOKEN")
	line, err := c.telnet.line()
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "", fmt.Errorf("there was no auth TOKEN within %v", authTime)
	case err != nil || isHTTP(line):
		return "", errSilent
	}
	text, said := strings.CutPrefix(strings.TrimSpace(line), "auth ")
	if !said {
		text = "" // is not a token
	}
	return c.admit(strings.TrimSpace(text), address)
}

// noteStranger logs a session that does not begin: maxTries lines a minute, address and reason, because
// strangers must not fill the disk. The next line, and the last one of the server, say how many are
// left out.
func (c *session) noteStranger(address string, err error) {
	c.noteOneOf(address+" "+err.Error(), err)
}

// noteOneOf is noteStranger for a reason that quotes the request. Then key says which refusals are alike, of which
// there must be few kinds for an address.
func (c *session) noteOneOf(key string, err error) {
	if !c.server.strangers.Take(key, time.Now()) {
		c.server.audit.leaveOut()
		return
	}
	_ = c.note(eventSession, 0, "", "refused: "+cmp.Or(err.Error(), "no token"))
}

var (
	errTries   = errors.New("too many wrong tokens; wait for a minute")
	errUnknown = errors.New("unknown token; ask the server's owner for one")
)

// admit gives the session the role of a token, and returns the token's user.
func (c *session) admit(text, address string) (name string, err error) {
	token, ok := c.server.tries.Check(address, func() *door.Token { return c.server.tokenList().Find(text) })
	if !ok {
		return "", errTries
	}
	if token == nil {
		_ = c.note(eventSession, 0, "", "refused: wrong token") // at most maxTries a minute per address
		return "", errUnknown
	}
	c.role, c.token = token.Role, token
	return token.User, nil
}

// webLine matches the first line of HTTP. A web page can send a browser here, and put
// commands into the lines that follow.
var webLine = regexp.MustCompile(`^(?:[A-Z]+ \S+ HTTP/\d|(?i)host:)`)

func isHTTP(line string) bool { return webLine.MatchString(line) }
