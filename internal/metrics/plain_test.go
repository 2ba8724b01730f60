package metrics

import (
	"slices"
	"testing"
)

func TestPlainLabels(t *testing.T) {
	got := Plain([]Label{{"a.b", "1"}, {"a_b", "2"}, {"a-b", "3"}, {"a_b_2", "4"}, {"9", "5"}, {"__name__", "6"}, {"", "7"}, {"é", "8"}, {"none", ""}})
	want := []Label{{"a_b", "1"}, {"a_b_2", "2"}, {"a_b_3", "3"}, {"a_b_2_2", "4"}, {"x9", "5"}, {"x__name__", "6"}, {"x", "7"}, {"_", "8"}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
