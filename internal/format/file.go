package format

import (
	"fmt"
	"os"
	"path/filepath"
)

// CheckPaths finds paths that several outputs share: only one output would survive. The null
// device is permitted.
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
