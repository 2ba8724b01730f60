package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
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

// All threads of the process are pinned, also those that begin later, until restore.
func TestPin(t *testing.T) {
	all := allowed()
	last := all[len(all)-1:]
	restore, err := Pin(last)
	if err != nil {
		t.Fatal(err)
	}
	var begun, end sync.WaitGroup
	release := make(chan struct{})
	for range 4 {
		begun.Add(1)
		end.Go(func() { runtime.LockOSThread(); begun.Done(); <-release }) // the thread ends with it
	}
	begun.Wait()
	if list := CPUList(allowed()); list != CPUList(last) || Usable() != 1 {
		t.Error(list)
	}
	for _, list := range threads(t) {
		if list != CPUList(last) {
			t.Errorf("a thread may use %s", list)
		}
	}
	close(release)
	end.Wait()
	if _, err := Pin([]int{mostCPU}); err == nil {
		t.Error("a CPU that does not exist")
	}
	restore()
	for _, list := range threads(t) {
		if list != CPUList(all) {
			t.Errorf("after restore, a thread may use %s", list)
		}
	}
}

// threads are the CPUs that each thread may use.
func threads(t *testing.T) (list []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue // it has ended
		}
		_, after, _ := strings.Cut(string(text), "Cpus_allowed_list:")
		line, _, _ := strings.Cut(after, "\n")
		list = append(list, strings.TrimSpace(line))
	}
	return list
}
