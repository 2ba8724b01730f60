package shell

import (
	"errors"
	"net"
	"regexp"
	"strings"
	"time"
)

// greet says hello, learns who it is, and reports whether the session may begin.
func (c *session) greet() bool {
	// Of TLS the first write waits for the client's part of the handshake.
	_ = c.conn.SetReadDeadline(time.Now().Add(authTime)) // fails only on a connection that is closed
	name := localUser
	if c.server.tokens != nil {
		var ok bool
		if name, ok = c.authenticate(); !ok {
			return false
		}
	}
	var err error
	if c.user, err = c.server.state.user(name); err != nil {
		c.fail(err)
	}
	c.recent.lines = c.user.history()
	c.say("takt " + c.server.host.Version + ": type 'help' for help")
	_ = c.conn.SetReadDeadline(time.Time{})
	return !c.broken.Load()
}

// authenticate wants auth TOKEN as the first line.
func (c *session) authenticate() (name string, ok bool) {
	if _, plain := c.conn.(*net.TCPConn); plain && !c.server.options.local() {
		c.say("warning: this connection is not encrypted: your token and all you type can be read on the way")
	}
	c.say("takt: say auth TOKEN")
	line, err := c.telnet.line()
	if err != nil || isHTTP(line) {
		return "", false
	}
	address, _, _ := net.SplitHostPort(c.conn.RemoteAddr().String()) // "" of a unix socket: one address for all
	if !c.server.tries.take(address, time.Now()) {
		c.fail(errors.New("too many wrong tokens; wait for a minute"))
		return "", false
	}
	token, said := strings.CutPrefix(strings.TrimSpace(line), "auth ")
	name = c.server.tokens.user(strings.TrimSpace(token))
	if !said || name == "" {
		c.fail(errors.New("no token of anybody; the server's owner has them"))
		return "", false
	}
	c.server.tries.forgive(address)
	return name, true
}

// The first line of HTTP: a browser that some page has sent here, which may have commands
// in the lines that follow.
var foreign = regexp.MustCompile(`^(?:[A-Z]+ \S+ HTTP/\d|(?i)host:)`)

func isHTTP(line string) bool { return foreign.MatchString(line) }
