package proc

import (
	"fmt"
	"slices"
	"testing"
)

func TestCores(t *testing.T) {
	files := map[string]string{}
	for cpu, siblings := range []string{"0,4", "1,5", "2,6", "3,7", "0,4", "1,5", "2,6", "3,7"} {
		files[fmt.Sprintf("cpu%d/topology/thread_siblings_list", cpu)] = siblings + "\n"
	}
	root := tree(t, files)
	for _, test := range []struct {
		cpus []int
		want string
	}{
		{[]int{0, 1, 2, 3, 4, 5, 6, 7}, "[[0 4] [1 5] [2 6] [3 7]]"},
		{[]int{1, 2, 6}, "[[1] [2 6]]"}, // by taskset
		{[]int{0, 4, 8}, "[[0 4] [8]]"}, // the kernel does not say
	} {
		if got := fmt.Sprint(coresOf(root, test.cpus)); got != test.want {
			t.Errorf("%v: %s", test.cpus, got)
		}
	}
	if list := slices.Concat(Cores()...); len(list) == 0 {
		t.Error("this process may use no CPU")
	}
}
