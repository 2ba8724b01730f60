package target

import (
	"fmt"
	"strings"
	"time"

	"github.com/taktload/takt/pkg/schedule"
)

// Freeze is a periodic standstill: the last For of every period Every, counted
// from the first request. 1s/10s freezes from 9 s to 10 s, from 19 s to 20 s and
// so on. At the end of the period, so that a run begins with a server that
// works. The zero Freeze never freezes.
type Freeze struct{ For, Every time.Duration }

// parseFreeze reads DURATION/PERIOD such as 1s/10s; "" and "0" are no freeze.
func parseFreeze(s string) (Freeze, error) {
	if s == "" || s == "0" {
		return Freeze{}, nil
	}
	length, period, _ := strings.Cut(s, "/")
	d, err1 := schedule.ParseDuration(length)
	p, err2 := schedule.ParseDuration(period)
	f := Freeze{For: d, Every: p}
	if err1 != nil || err2 != nil || !f.possible() {
		return Freeze{}, fmt.Errorf("%q is not a freeze; write DURATION/PERIOD such as 1s/10s, both parts of the period at least 1ms, at most 99%% frozen, at most 24h", s)
	}
	return f, nil
}

// possible bounds the freezes that one service can meet: 1 h of it in steps of
// 1 ms are 3.6 million, 20 ms of computing.
func (f Freeze) possible() bool {
	rest := f.Every - f.For
	return f.For >= time.Millisecond && rest >= time.Millisecond && rest >= f.Every/100 && f.Every <= 24*time.Hour
}

// Windows are the freezes that begin before until, in order; the last one may
// end later.
func (f Freeze) Windows(until time.Duration) []Window {
	ws := []Window{}
	if f.For <= 0 {
		return ws
	}
	for start := f.Every - f.For; start < until; start += f.Every {
		ws = append(ws, Window{start, start + f.For})
	}
	return ws
}

// next is f's calendar. Every period ends with a freeze, so the one of t's own
// period is the first that ends after t.
func (f Freeze) next(t time.Duration) (Window, bool) {
	if f.For <= 0 {
		return Window{}, false
	}
	end := t - t%f.Every + f.Every
	return Window{end - f.For, end}, true
}
