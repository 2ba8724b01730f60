package proc

import (
	"slices"
	"testing"
)

func TestCPUs(t *testing.T) {
	for text, want := range map[string][]int{"0": {0}, "2-3": {2, 3}, "0-1,8,4-5": {0, 1, 4, 5, 8}, "3,3,2": {2, 3}} {
		got, err := ParseCPUs(text)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
		if again, err := ParseCPUs(CPUList(got)); err != nil || !slices.Equal(again, want) {
			t.Errorf("%s: %s", text, CPUList(got))
		}
	}
	for _, text := range []string{"", "a", "3-2", "-1", "1-", "0-1024", "1,,2"} {
		if got, err := ParseCPUs(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
	if got := CPUList([]int{0, 1, 2, 5, 7, 8}); got != "0-2,5,7-8" {
		t.Error(got)
	}
}

// A core is not shared by the server and its load.
func TestLaterHalf(t *testing.T) {
	for _, test := range []struct {
		cores [][]int
		want  []int
	}{
		{nil, nil},
		{[][]int{{0}, {1}, {2}}, nil},
		{[][]int{{0, 1, 2, 3}}, nil},
		{[][]int{{0}, {1}, {2}, {3}}, []int{2, 3}},
		{[][]int{{0, 4}, {1, 5}, {2, 6}, {3, 7}}, []int{2, 3, 6, 7}},
		{[][]int{{0, 1}, {2, 3}}, []int{2, 3}},
		{[][]int{{0}, {1}, {2}, {3}, {4}}, []int{3, 4}},
	} {
		if got, ok := LaterHalf(test.cores); !slices.Equal(got, test.want) || ok != (test.want != nil) {
			t.Errorf("%v: %v", test.cores, got)
		}
	}
}
