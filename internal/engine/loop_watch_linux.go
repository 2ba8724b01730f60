package engine

import "time"

// unwatchAfter is how long a closed loop must not have waited in its poller before it does
// without: that takes 50 µs for 50 connections, there and back. Tests change it.
var unwatchAfter = 20 * time.Millisecond

// unwatch takes the sockets out of the poller of a closed loop that does not wait there:
// whoever sends to a socket pays for telling its poller, 3 % of what a request costs a
// server. Only the oldest in flight are read then, until those have nothing for a while.
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

// watch puts them back. One that the poller does not take is given up, and lost is true.
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
		if lost = true; c.state == lbusy {
			l.fail(c, err, false)
		} else {
			l.drop(c)
		}
	}
	return lost
}
