package engine

import "time"

const (
	// napLeast is the shortest nap: below it a nap costs more than it saves.
	napLeast = 20 * time.Microsecond
	// napOver is how much longer than asked a sleep may be.
	napOver = 40 * time.Microsecond
	// answersWindow is how long answers are counted for the distance between two.
	answersWindow = 500 * time.Microsecond
)

// answerPace measures how far apart answers come, and parts of large ones over HTTP/2.
type answerPace struct {
	n     uint64 // answers so far
	at    time.Duration
	atN   uint64 // n at the instant at
	apart time.Duration
}

func (p *answerPace) look(now time.Duration) {
	if now-p.at < answersWindow {
		return
	}
	if got := p.n - p.atN; got > 0 {
		p.apart = (now - p.at) / time.Duration(got)
	}
	p.at, p.atN = now, p.n
}

// nap is how long a closed loop may sleep before it reads answers, while its target has more than
// half of the connections; 0: not at all. The kernel stamps the answers, so the sleep is in no
// latency. With what it may take longer, a nap lasts at most a quarter of the time that the target
// needs for what it has, so the target does not become idle: with half of that time and 20
// connections, an nginx that answers in 8 µs lost a quarter of its rate. Over TLS and with 50
// connections naps save 15 % of takt's CPU, which spun between two answers.
func (l *loop) nap(now time.Duration) time.Duration {
	if !l.closed || !l.stampsAll() {
		return 0
	}
	l.answers.look(now)
	if 2*l.flight.n <= l.max || l.dialing.n > 0 || l.partial > 0 || l.answers.apart > gatherTimeSlow {
		return 0 // of a target that slow, a nap would hardly gather two answers
	}
	part := 4
	if l.most > 0 {
		part = 3 // a target gets many requests at once, and works on them for longer
	}
	if d := min(gatherTimeSlow, l.answers.apart*time.Duration(l.flight.n/part)-napOver); d >= napLeast {
		return d
	}
	return 0
}
