package schedule_test

import (
	"fmt"
	"time"

	"github.com/taktload/takt/pkg/schedule"
	"github.com/taktload/takt/pkg/takt"
)

func Example() {
	src, err := schedule.Constant(3, time.Second).Source()
	if err != nil {
		fmt.Println(err)
		return
	}
	for op := (takt.Op{}); src.Next(&op); {
		fmt.Println(op.Seq, op.Due)
	}
	fmt.Println("end", src.End())
	// Output:
	// 0 0s
	// 1 333.333333ms
	// 2 666.666666ms
	// end 1s
}

func ExampleSpec() {
	spec := schedule.Spec{Warmup: time.Second, Poisson: true, Seed: 42}
	spec.Stages, _ = schedule.ParseStages("1m@0/s..2k/s,30s@2k/s")
	src, err := spec.Source()
	if err != nil {
		fmt.Println(err)
		return
	}
	d := spec.Describe()
	fmt.Println(d.Profile, d.Arrivals, src.End())
	// Output: steps poisson 1m31s
}

func ExampleSplit() {
	for k := range uint64(2) {
		src, err := schedule.Constant(4, time.Second).Source()
		if err != nil {
			fmt.Println(err)
			return
		}
		part := schedule.Split(src, k, 2)
		for op := (takt.Op{}); part.Next(&op); {
			fmt.Println("part", k, "operation", op.Seq, op.Due)
		}
	}
	// Output:
	// part 0 operation 0 0s
	// part 0 operation 2 500ms
	// part 1 operation 1 250ms
	// part 1 operation 3 750ms
}

func ExampleParseRate() {
	for _, s := range []string{"30/m", "1.5k/s", "max", "5m/s"} {
		fmt.Println(schedule.ParseRate(s))
	}
	// Output:
	// 0.5 <nil>
	// 1500 <nil>
	// +Inf <nil>
	// 0 rate "5m/s": the letter m is no factor; give M for a million, or /m for a minute
}

func ExampleSource() {
	replay := func() schedule.Schedule { return &instants{0, 5 * time.Millisecond, 5 * time.Millisecond} }
	src := schedule.Source(replay)
	fmt.Println(src.(takt.Counter).DueBefore(time.Millisecond), src.End())
	// Output: 1 6ms
}

// instants is a schedule of one's own: a list.
type instants []time.Duration

func (l *instants) End() time.Duration { return 6 * time.Millisecond }

func (l *instants) Next() (time.Duration, bool) {
	if len(*l) == 0 {
		return 0, false
	}
	due := (*l)[0]
	*l = (*l)[1:]
	return due, true
}
