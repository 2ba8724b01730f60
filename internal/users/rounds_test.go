package users

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/dist"
	"github.com/taktload/takt/pkg/schedule"
	"github.com/taktload/takt/pkg/takt"
)

func steps(think ...time.Duration) Steps {
	var list []dist.Time
	for _, d := range think {
		list = append(list, dist.Fixed(d))
	}
	return Steps{Think: list, Data: func(round uint64, step int, last bool) any { return fmt.Sprint(round, "/", step, " ", last) }}
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
	want := "0/0 false 0s, 1/0 false 300ms, 0/1 false 500ms, 0/2 true 500ms, 2/0 false 600ms, 1/1 false 800ms, 1/2 true 800ms, 2/1 true 1.1s"
	if text := strings.Join(got, ", "); text != want || src.End() != 1300*time.Millisecond {
		t.Errorf("%s; %v", text, src.End())
	}
	if slices.Sort(seen); !slices.Equal(seen, []uint64{0, 1, 2, 3, 4, 5, 6, 7}) {
		t.Error(seen)
	}
}

// Think times that differ are drawn anew for each round, steps come in the order in which they are due, and the end is
// known when the last one is.
func TestThinkTimesThatDiffer(t *testing.T) {
	run := func() (list []time.Duration, ends []time.Duration) {
		base, err := schedule.Constant(100, time.Second).Source()
		if err != nil {
			t.Fatal(err)
		}
		s := steps(0, 0, 0)
		if s.Think[1], err = dist.Parse("10ms..500ms"); err != nil {
			t.Fatal(err)
		}
		src := NewRounds(base, s)
		ends = append(ends, src.End())
		var op takt.Op
		for src.Next(&op) {
			list = append(list, op.Due)
		}
		return list, append(ends, src.End())
	}
	got, ends := run()
	again, _ := run()
	if len(got) != 100 || !slices.IsSorted(got) || !slices.Equal(got, again) {
		t.Errorf("%v, then %v", got, again)
	}
	if ends[0] != 1500*time.Millisecond || ends[1] != got[99]+1 || ends[1] > ends[0] {
		t.Errorf("it ends at %v, the last one is due at %v", ends, got[99])
	}
}

// A user begins its next round when the last has ended, and not before.
func TestCoursesOfUsers(t *testing.T) {
	src := NewCourses(&asap{}, Numbers{}, 2, 0, func(number uint64, _ any) (any, time.Duration) { return fmt.Sprint("round ", number), 0 })
	src.Begin(func() {})
	var op takt.Op
	next := func() string {
		if !src.Next(&op) {
			return fmt.Sprint("none ", src.Starved())
		}
		return fmt.Sprint(op.Data)
	}
	got := []string{next(), next(), next()}
	src.Follow("0/1", 0)
	got = append(got, next(), next())
	src.Over(nil, 0, 0)
	got = append(got, next())
	src.Over(nil, 0, time.Hour)
	got = append(got, next())
	src.Follow("1/1", time.Hour)
	got = append(got, next())
	want := []string{"round 0", "round 1", "none true", "0/1", "none true", "round 2", "none true", "none true"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// As many users as there may be begin before one of them begins again, each goes on with its own rounds, and a user that pauses
// neither begins one nor keeps a run from ending whose operations are used up.
func TestUsersLast(t *testing.T) {
	base, err := schedule.Spec{Stages: schedule.Constant(math.Inf(1), 0).Stages, Limit: 5}.Source()
	if err != nil {
		t.Fatal(err)
	}
	src := NewCourses(base, Numbers{}, 3, 0, func(number uint64, user any) (any, time.Duration) {
		if user == "cat" {
			return "later", time.Hour
		}
		return fmt.Sprint(number, " of ", user), 0
	})
	src.Begin(func() {})
	var op takt.Op
	next := func() string {
		if !src.Next(&op) {
			return fmt.Sprint("none ", src.Starved())
		}
		return fmt.Sprint(op.Data)
	}
	got := []string{next(), next()}
	src.Over("ann", 0, 0)
	got = append(got, next(), next())
	src.Over("bob", 0, time.Hour)
	got = append(got, next())
	src.Over("cat", 0, 0)
	got = append(got, next())
	src.Over("dan", 0, 0)
	got = append(got, next(), next())
	want := []string{"0 of <nil>", "1 of <nil>", "2 of <nil>", "3 of ann", "none true", "none true", "5 of dan", "none false"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// With a schedule, its instants begin rounds, and what follows in them comes when it is due, also if that is before what was
// read already. The end is known when the last round is over.
func TestCoursesOfSchedule(t *testing.T) {
	base, err := schedule.Constant(10, 300*time.Millisecond).Source()
	if err != nil {
		t.Fatal(err)
	}
	src := NewCourses(base, Numbers{}, 0, time.Second, func(number uint64, _ any) (any, time.Duration) { return fmt.Sprint("round ", number), 0 })
	var op takt.Op
	next := func() string {
		if !src.Next(&op) {
			return fmt.Sprint("none ", src.Starved(), " ", src.End())
		}
		return fmt.Sprint(op.Seq, " ", op.Data, " ", op.Due)
	}
	got := []string{next(), next()} // the second is due in 100 ms
	src.Follow("0/1", 50*time.Millisecond)
	src.Sooner(&op)
	got = append(got, fmt.Sprint(op.Data, " ", op.Due), next(), next(), next())
	cut := src.Cut()
	for range 3 {
		src.Over(nil, 0, 0)
	}
	got = append(got, next())
	want := []string{"0 round 0 0s", "1 round 1 100ms", "0/1 50ms", "2 round 1 100ms", "3 round 2 200ms", "none true -1ns", "none false 300ms"}
	if last := src.Last(); !slices.Equal(got, want) || cut != 3 || src.Cut() != 0 || last != 1300*time.Millisecond {
		t.Errorf("%q; %d cut, the last is due at %v", got, cut, last)
	}
}

// An answer wakes the engine if what follows is due before the operation that the engine waits for, or if it waits for
// answers only.
func TestCoursesWake(t *testing.T) {
	base, err := schedule.Constant(10, 200*time.Millisecond).Source()
	if err != nil {
		t.Fatal(err)
	}
	src := NewCourses(base, Numbers{}, 0, 0, func(uint64, any) (any, time.Duration) { return "first", 0 })
	woken := 0
	src.Begin(func() { woken++ })
	var op takt.Op
	var got []int
	seen := func() { got, woken = append(got, woken), 0 }
	src.Next(&op)
	src.Next(&op) // due at 100 ms
	src.Follow("late", 100*time.Millisecond)
	seen()
	src.Follow("soon", 60*time.Millisecond)
	seen()
	src.Sooner(&op)
	src.Follow("later", 70*time.Millisecond)
	src.Over(nil, 0, 0)
	seen()
	for src.Next(&op) { // until nothing is known
	}
	src.Follow("last", time.Hour)
	seen()
	src.Next(&op)
	src.Next(&op)
	src.Over(nil, 0, 0)
	if seen(); !slices.Equal(got, []int{0, 1, 0, 1, 1}) {
		t.Errorf("it woke the engine %v times", got)
	}
}

// The rounds of all processes have each number once, and none begins at the limit: the window ends when it
// would have begun.
func TestNumbersOfRounds(t *testing.T) {
	for _, parts := range []uint64{1, 2, 3} {
		var numbers []string
		for part := range parts {
			base, err := schedule.Constant(10, 6*time.Second).Source() // 60 operations: 20 rounds of 3
			if err != nil {
				t.Fatal(err)
			}
			s := steps(0, 0, time.Second)
			s.Part, s.Parts, s.Limit = part, parts, 10
			src := NewRounds(schedule.Split(base, part, parts), s)
			var op takt.Op
			for src.Next(&op) {
				if text := fmt.Sprint(op.Data); strings.HasSuffix(text, "/0 false") {
					numbers = append(numbers, text)
				}
			}
			if end := src.End(); parts == 1 && end != 4*time.Second { // the eleventh is due at 3 s
				t.Errorf("it ends at %v", end)
			}
		}
		slices.Sort(numbers)
		if n := len(slices.Compact(numbers)); n != 10 || len(numbers) != 10 {
			t.Errorf("%d parts: %q", parts, numbers)
		}
	}
	src := NewCourses(&asap{}, Numbers{Limit: 2}, 5, 0, func(uint64, any) (any, time.Duration) { return 0, 0 })
	src.Begin(func() {})
	var op takt.Op
	n := 0
	for src.Next(&op) {
		n++
	}
	if n != 2 || !src.Starved() || src.Last() >= 0 || src.Cut() > 0 {
		t.Errorf("%d rounds of 2, others may follow: %v", n, src.Starved())
	}
	src.Over(nil, 0, 0)
	src.Over(nil, 0, 0)
	if src.Next(&op) || src.Starved() {
		t.Error("it does not end")
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
