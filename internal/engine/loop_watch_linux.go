package engine

import "time"

// unwatchAfter is how long a closed loop must not have waited in its poller before it removes
// its sockets. Removing and adding 50 sockets takes 50 µs. Tests change it.
var unwatchAfter = 20 * time.Millisecond

// unwatch removes the sockets of a closed loop from a poller in which it does not wait.
// Whoever sends to a watched socket pays for notifying the poller: 3 % of a server's cost of
// a request. Then the loop reads only the oldest in flight, until they have no bytes for a
// while.
func (l *loop) unwatch(now time.Duration) {
	if !l.closed || l.unwatched || now-l.waited < unwatchAfter || l.dialing.n > 0 || l.partial > 0 || len(l.conns) > blindMost {
		return
	}
	l.unwatched = true
	for _, c := range l.conns {
		if c.fd >= 0 {
			l.sys.Remove(c.fd)
		}
	}
}

// watch adds the sockets again. lost: the poller refused a socket, whose connection is
// closed.
func (l *loop) watch() (lost bool) {
	if !l.unwatched {
		return false
	}
	l.unwatched, l.waited = false, l.now()
	for _, c := range l.conns {
		if c.fd < 0 {
			continue
		}
		err := l.sys.Add(c.fd, c.token, false)
		if err == nil {
			continue
		}
		if lost = true; c.mux != nil || c.own.state == pbusy {
			l.fail(c, err, false)
		} else {
			l.drop(c)
		}
	}
	return lost
}
