package users

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/pkg/schedule"
	"github.com/taktload/takt/pkg/takt"
)

func steps(think ...time.Duration) Steps {
	return Steps{Think: think, Data: func(round uint64, step int, last bool) any { return fmt.Sprint(round, "/", step, " ", last) }}
}

// Rounds overlap, no operation of the schedule is lost, and the last round may be short.
func TestRounds(t *testing.T) {
	base, err := schedule.Constant(10, 800*time.Millisecond).Source()
	if err != nil {
		t.Fatal(err)
	}
	src := NewRounds(base, steps(0, 500*time.Millisecond, 0))
	var got []string
	var seen []uint64
	var op takt.Op
	for src.Next(&op) {
		got = append(got, fmt.Sprint(op.Data, " ", op.Due))
		seen = append(seen, op.Seq)
	}
	want := "0/0 false 0s, 3/0 false 300ms, 0/1 false 500ms, 0/2 true 500ms, 6/0 false 600ms, 3/1 false 800ms, 3/2 true 800ms, 6/1 true 1.1s"
	if text := strings.Join(got, ", "); text != want || src.End() != 1300*time.Millisecond {
		t.Errorf("%s; %v", text, src.End())
	}
	if slices.Sort(seen); !slices.Equal(seen, []uint64{0, 1, 2, 3, 4, 5, 6, 7}) {
		t.Error(seen)
	}
}

// A user begins its next round when the last has ended, and not before.
func TestCircles(t *testing.T) {
	src := NewCircles(&asap{}, steps(0, 0), 2)
	var op takt.Op
	next := func() string {
		if !src.Next(&op) {
			return fmt.Sprint("none ", src.Starved())
		}
		return fmt.Sprint(op.Data)
	}
	now := time.Now()
	got := []string{next(), next(), next()}
	src.Ended(0, 0, false, now, 0)
	got = append(got, next(), next())
	src.Ended(1, 0, true, now, 0)
	got = append(got, next())
	src.Ended(0, 1, false, now, time.Hour)
	got = append(got, next())
	want := []string{"0/0 false", "1/0 false", "none true", "0/1 true", "none true", "3/0 false", "none true"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// asap is the schedule of a closed loop.
type asap struct{ seq uint64 }

func (a *asap) Next(op *takt.Op) bool {
	op.Seq, op.Due = a.seq, takt.Asap
	a.seq++
	return true
}

func (a *asap) End() time.Duration { return -1 }
