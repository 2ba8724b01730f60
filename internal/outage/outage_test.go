package outage

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/takt"
)

const s = time.Second

var errCut = errors.New("cut")

func described(t *testing.T, l *Log, lost bool, n int) []takt.Outage {
	t.Helper()
	r := &takt.Report{}
	l.Describe(r, lost)
	if len(r.Outages) != n {
		t.Fatalf("%d outages, want %d: %+v", len(r.Outages), n, r.Outages)
	}
	return r.Outages
}

// An outage begins with the first lost part and ends when each part has worked; between them is the
// first success.
func TestOutage(t *testing.T) {
	l := &Log{}
	a, b, c := l.Part("a"), l.Part("b"), l.Part("c")
	c.Worked(1*s, 1*s)
	a.Lost(10*s, 10*s, errCut)
	a.Lost(11*s, 11*s, errors.New("refused"))
	a.Retried(3)
	b.Lost(12*s, 12*s, errCut)
	b.Failed(2)
	a.Worked(9*s, 14*s)
	b.Retried(1)
	b.Worked(15*s, 16*s)
	b.Failed(5) // for another reason
	a.Lost(20*s, 20*s, errCut)
	list := described(t, l, false, 2)
	o := list[0]
	if o.From != 10 || *o.To != 16 || *o.FirstSuccess != 4 || o.Parts != 2 || o.First != "a" || o.Cause != "cut" || o.Failed != 2 || o.Retried != 4 || o.Lost != nil || o.Doubled != nil {
		t.Errorf("%+v", o)
	}
	if o := list[1]; o.From != 20 || o.To != nil || o.FirstSuccess != nil || o.Parts != 1 {
		t.Errorf("%+v", o)
	}
}

// A part that answers nothing for a second is out, even if nothing breaks; one that has nothing to
// do is not.
func TestSilence(t *testing.T) {
	l := &Log{}
	p := l.Part("p")
	p.Worked(0, s/100)
	p.Worked(s/2, 3*s/2)             // since 0.5 s
	p.Worked(60*s, 60*s+s/100)       // nothing was sent
	p.Worked(60*s+s/50, 61*s)        // 0.98 s
	p.Worked(60*s+s/50, 61*s+s/2)    // the one before worked meanwhile
	p.Worked(60*s+s/50, 62*s+6*s/10) // 1.1 s
	list := described(t, l, false, 2)
	if o := list[0]; o.From != 0.5 || *o.To != 1.5 || *o.FirstSuccess != 1 || o.Cause != "no answer for 1s" {
		t.Errorf("%+v", o)
	}
	if o := list[1]; o.From != 61.5 || *o.To != 62.6 {
		t.Errorf("%+v", o)
	}
}

// A broker that was frozen may refuse what it was sent meanwhile: the outage began with the silence.
func TestSilenceThenError(t *testing.T) {
	l := &Log{}
	p, q := l.Part("p"), l.Part("q")
	p.Worked(s/2, 1*s)
	p.Lost(2*s, 7*s, errCut) // since 2 s
	p.Worked(7*s, 8*s)
	q.Lost(19*s+s/2, 20*s, errCut) // half a second is not a silence
	q.Worked(20*s, 21*s)
	list := described(t, l, false, 2)
	if o := list[0]; o.From != 2 || *o.To != 8 || o.Cause != "cut" {
		t.Errorf("%+v", o)
	}
	if o := list[1]; o.From != 20 {
		t.Errorf("%+v", o)
	}
}

// A silence that is noticed while it lasts has no length until it is over, and an error that comes
// later does not begin another outage.
func TestSilent(t *testing.T) {
	l := &Log{}
	p := l.Part("p")
	if _, ok := l.Newest(); ok {
		t.Error("an outage before the first")
	}
	p.Back(1 * s)
	p.Silent(1 * s)
	p.Lost(1*s, 4*s, errCut)
	if o, ok := l.Newest(); !ok || o.From != 1 || o.To != nil || o.Cause != "no answer until the end" {
		t.Errorf("%+v", o)
	}
	p.Back(6 * s)
	if o, ok := l.Newest(); !ok || *o.To != 6 || o.Cause != "no answer for 5s" {
		t.Errorf("%+v", o)
	}
	p.Lost(8*s, 8*s, errCut)
	if o, ok := l.Newest(); !ok || o.From != 8 || o.To != nil {
		t.Errorf("%+v", o)
	}
	described(t, l, false, 2)
}

// An error says more than silence.
func TestCause(t *testing.T) {
	l := &Log{}
	a, b := l.Part("a"), l.Part("b")
	b.Lost(2*s, 2*s, errCut)
	a.Worked(1*s, 3*s)
	b.Worked(3*s, 3*s)
	if o := described(t, l, false, 1)[0]; o.From != 1 || o.First != "b" || o.Cause != "cut" || o.Parts != 2 {
		t.Errorf("%+v", o)
	}
}

// What a consumer counts belongs to the outage before.
func TestArrivals(t *testing.T) {
	var seen Arrivals
	l := &Log{Arrivals: func() Arrivals { return seen }}
	p := l.Part("p")
	seen = Arrivals{1, 10} // before any outage
	p.Lost(1*s, 1*s, errCut)
	p.Worked(2*s, 2*s)
	seen = Arrivals{3, 15}
	p.Lost(3*s, 3*s, errCut)
	p.Missing(2*s+1, 7)
	p.Missing(1*s, 2)
	p.Worked(4*s, 4*s)
	p.Missing(5*s, 1) // lost without an outage
	seen = Arrivals{4, 15}
	list := described(t, l, true, 2)
	for i, want := range [][3]uint64{{2, 2, 5}, {7, 1, 0}} {
		if o := list[i]; *o.Lost != want[0] || *o.Doubled != want[1] || *o.Reordered != want[2] {
			t.Errorf("%d: %d lost, %d doubled, %d reordered", i, *o.Lost, *o.Doubled, *o.Reordered)
		}
	}
	l.Unordered = true
	r := &takt.Report{}
	if l.Describe(r, false); r.Outages[0].Reordered != nil || r.Outages[0].Doubled == nil || r.Outages[0].Lost != nil {
		t.Errorf("%+v", r.Outages[0])
	}
}

// Outages of shards that overlap are one, in any order.
func TestMerge(t *testing.T) {
	at := func(from, to float64, failed uint64) takt.Outage {
		first, lost := to-from, failed
		return takt.Outage{From: from, To: &to, FirstSuccess: &first, Parts: 1, Cause: "cut", Failed: failed, Lost: &lost}
	}
	open := at(9, 10, 1)
	open.To, open.FirstSuccess, open.Lost = nil, nil, nil
	for _, list := range [][]takt.Outage{
		{at(1, 3, 1), at(2, 4, 2), at(5, 6, 4), open, at(9.5, 9.9, 8)},
		{open, at(9.5, 9.9, 8), at(5, 6, 4), at(2, 4, 2), at(1, 3, 1)},
	} {
		m := Merge(list)
		if len(m) != 3 {
			t.Fatalf("%+v", m)
		}
		if o := m[0]; o.From != 1 || *o.To != 4 || *o.FirstSuccess != 2 || o.Parts != 2 || o.Failed != 3 || *o.Lost != 3 {
			t.Errorf("%+v", o)
		}
		if o := m[2]; o.To != nil || *o.FirstSuccess < 0.89 || *o.FirstSuccess > 0.91 || o.Failed != 9 || o.Lost != nil {
			t.Errorf("%+v", o)
		}
	}
}

// A connection that breaks all the time fills neither the memory nor the report.
func TestMany(t *testing.T) {
	l := &Log{}
	p := l.Part("p")
	for i := range time.Duration(maxSpells + 50) {
		p.Lost(i*s, i*s, errors.New(strings.Repeat("é", maxCause)))
		p.Retried(1)
		p.Worked(i*s, i*s+s/10)
	}
	r := &takt.Report{}
	l.Describe(r, false)
	if len(l.spells) != maxSpells || len(r.Outages) != takt.MaxOutages || !r.Warned("many_outages") || len(r.Outages[0].Cause) > maxCause {
		t.Errorf("%d spells, %d outages, %v", len(l.spells), len(r.Outages), r.Warnings)
	}
}
