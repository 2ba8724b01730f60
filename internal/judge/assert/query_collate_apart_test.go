package assert_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/taktload/takt/internal/judge/query"
	"github.com/taktload/takt/internal/judge/stored"
)

// apart collates rows of six runs each, whose p99 differs by chance, and returns the row that stands
// out, negative for none.
func apart(t *testing.T, random *rand.Rand, factors ...float64) (int, *query.Apart) {
	t.Helper()
	var list []stored.Run
	for row, factor := range factors {
		for i := range 6 {
			r := runsOf(setup{variables: map[string]any{"workers": row}, p99: 1e6 * factor * (1 + 0.03*random.NormFloat64())})[0]
			r.ID = fmt.Sprintf("%d/%d", row, i)
			list = append(list, r)
		}
	}
	got, err := query.Collate(list, options(t, "workers", "workers"), each(list))
	if err != nil {
		t.Fatal(err)
	}
	for i := range got.Groups[0].Rows {
		if r := &got.Groups[0].Rows[i]; r.Apart != nil {
			return int(r.Value.(float64)), r.Apart
		}
	}
	return -1, nil
}

// A row that is 48 % worse is marked with an interval around that, and rows that differ only by
// chance are marked in at most 5 % of all groups.
func TestCollateApart(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 5 {
		row, a := apart(t, random, 1, 1, 1, 1.48, 1)
		if row != 3 || !a.Worse || a.Low < 38 || a.High > 58 || a.Percent < a.Low || a.Percent > a.High {
			t.Errorf("row %d: %+v", row, a)
		}
	}
	if row, a := apart(t, random, 1, 0.7, 1, 1); row != 1 || a.Worse || a.Percent > -25 {
		t.Errorf("row %d: %+v", row, a)
	}
	wrong := 0
	for range 40 {
		if _, a := apart(t, random, 1, 1, 1, 1); a != nil {
			wrong++
		}
	}
	if wrong > 6 { // 2 expected at most
		t.Errorf("%d of 40 groups have a mark", wrong)
	}
	if row, _ := apart(t, random, 1, 2); row >= 0 {
		t.Error("two rows have no rest")
	}
}
