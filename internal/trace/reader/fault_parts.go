package reader

import (
	"fmt"
	"slices"
	"time"

	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/pkg/hist"
)

const (
	stepBack   = time.Minute // a smaller step back is disorder
	stepLines  = 5           // so many lines after a step back are a step, fewer are stray lines
	leastBreak = time.Second // shorter times without a request are never gaps
	maxParts   = 4096
)

// logPart is a part of a log without a gap or a step.
type logPart struct {
	First, Last trace.Place
	After, N    uint64 // requests of the log before it, and in it
	Alone       bool   // no other part has the same times

	step   bool          // the part begins with a step back
	before time.Duration // gap before it, or size of the step back
	from   trace.Place   // last line of the part before
}

// length is the time from the first to the last request.
func (p logPart) length() time.Duration { return p.Last.At.Sub(p.First.At) }

// flags choose the part: by its times, or by numbers if its times are not unique.
func (p logPart) flags() string {
	if p.Alone {
		return trace.WindowFlag(p.First.At, p.Last.At)
	}
	return fmt.Sprintf("--from %d --for %d", p.After, p.N)
}

// parts divides a log where its clock jumps.
type parts struct {
	list      []logPart
	n         uint64
	distances *hist.Histogram
	floor     time.Duration // smallest gap that divides; grows when there are too many parts
	stray     tally
	back      []trace.Place // lines far before the last part's end: of a step, or stray
}

func (p *parts) note(at trace.Place) {
	p.n++
	if len(p.list) == 0 {
		p.list = append(p.list, logPart{First: at, Last: at, N: 1})
		return
	}
	part := &p.list[len(p.list)-1]
	d := at.At.Sub(part.Last.At)
	if d < -stepBack {
		if p.back = append(p.back, at); len(p.back) == stepLines {
			p.step()
		}
		return
	}
	p.strays()
	p.distances.Record(max(d, 1))
	switch {
	case d <= max(leastBreak, p.floor):
		part.N++
		if d >= 0 {
			part.Last = at
		}
	default:
		p.add(logPart{First: at, Last: at, N: 1, After: p.n - 1, before: d, from: part.Last})
	}
}

// long counts a line far before the part's end if its request went on until about that end. A log with
// stamps of the start has such lines: a server writes the line of a download or a WebSocket at its end.
func (p *parts) long(at trace.Place, latency time.Duration) bool {
	if len(p.list) == 0 || latency <= 0 {
		return false
	}
	part := &p.list[len(p.list)-1]
	back := part.Last.At.Sub(at.At)
	if back <= stepBack || back > latency+stepBack {
		return false
	}
	p.strays()
	p.n++
	part.N++
	return true
}

// strays counts the lines of back as stray: the clock is where it was.
func (p *parts) strays() {
	part := &p.list[len(p.list)-1]
	for _, at := range p.back {
		p.stray.add(at, part.Last.At.Sub(at.At))
		part.N++
	}
	p.back = p.back[:0]
}

// step begins a part with the lines of back. If the part before is short and back continues the part
// before that, the short part was stray.
func (p *parts) step() {
	first, last := p.back[0], p.back[0]
	for _, at := range p.back {
		if at.At.After(last.At) {
			last = at
		}
	}
	n := uint64(len(p.back))
	p.back = p.back[:0]
	k := len(p.list) - 1
	if k > 0 && p.list[k].N < stepLines && !p.list[k].step {
		before := &p.list[k-1]
		if d := first.At.Sub(before.Last.At); d > -stepBack && d < p.list[k].before {
			p.stray.add(p.list[k].First, p.list[k].before)
			before.N += p.list[k].N + n
			if last.At.After(before.Last.At) {
				before.Last = last
			}
			p.list = p.list[:k]
			return
		}
	}
	end := p.list[k].Last
	p.add(logPart{First: first, Last: last, N: n, After: p.n - n, step: true, before: end.At.Sub(first.At), from: end})
}

// add adds a part. If there are too many, the shorter half of the gaps divides no more.
func (p *parts) add(part logPart) {
	if p.list = append(p.list, part); len(p.list) < maxParts {
		return
	}
	var gaps []time.Duration
	for _, x := range p.list[1:] {
		gaps = append(gaps, x.before)
	}
	slices.Sort(gaps)
	p.floor = gaps[len(gaps)/2]
	p.list = joined(p.list, p.floor)
	if len(p.list) > maxParts/2+maxParts/4 { // steps of equal size: the first ones suffice
		p.list = append(p.list[:maxParts/2], p.list[len(p.list)-1])
	}
}

// end decides about the last lines.
func (p *parts) end() {
	if len(p.list) > 0 && len(p.back) > 0 {
		p.strays()
	}
}

// joined returns the parts between gaps longer than limit, and between steps.
func joined(list []logPart, limit time.Duration) []logPart {
	var out []logPart
	for i, part := range list {
		if i > 0 && !part.step && part.before <= limit {
			last := &out[len(out)-1]
			last.Last = part.Last
			last.N += part.N
			continue
		}
		out = append(out, part)
	}
	return out
}

// faults counts gaps above limit, and steps.
func (p *parts) faults(limit time.Duration) (gaps, steps tally) {
	for i, part := range joined(p.list, limit) {
		jump := trace.Gap{From: part.from, To: part.First, Length: part.before}
		switch {
		case i == 0:
		case part.step:
			steps.add(jump, part.before)
		default:
			gaps.add(jump, part.before)
		}
	}
	return gaps, steps
}

// longest is the longest part.
func (p *parts) longest(limit time.Duration) (logPart, bool) {
	list := joined(p.list, limit)
	if len(list) < 2 {
		return logPart{}, false
	}
	best := slices.MaxFunc(list, func(a, b logPart) int { return int(a.length()/1000 - b.length()/1000) })
	best.Alone = p.stray.count == 0
	for _, other := range list {
		if other.After != best.After && !other.First.At.After(best.Last.At) && !other.Last.At.Before(best.First.At) {
			best.Alone = false
		}
	}
	return best, true
}
