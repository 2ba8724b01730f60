package format

import (
	"fmt"
	"os"
	"path/filepath"
)

// OpenFile opens the file of an output before a run, and leaves in it what it holds:
// a run that is not made should not cost an old report.
func OpenFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
}

// Empty empties f when the run has begun; pipes and devices have nothing to lose.
func Empty(f *os.File) error {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	return f.Truncate(0)
}

// CheckPaths finds paths to which more than one output goes, so that one would be
// lost; on the null device that is meant.
func CheckPaths(paths []string) (faults []error) {
	seen := map[string]int{}
	for _, path := range paths {
		place, name := Stdout, "stdout"
		if path != Stdout {
			place, name = path, path
			if abs, err := filepath.Abs(path); err == nil {
				place = abs
			}
		}
		if seen[place]++; seen[place] == 2 && place != os.DevNull {
			faults = append(faults, fmt.Errorf("two outputs go to %s; give each a path of its own, as in json=report.json", name))
		}
	}
	return faults
}
