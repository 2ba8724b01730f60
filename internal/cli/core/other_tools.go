package core

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/taktload/takt/internal/driver"
	"github.com/taktload/takt/internal/files"
)

// OtherToolsFile is the fault of the first word that is a file of another load generator; nil: there is
// none.
func OtherToolsFile(words []string) error {
	for _, word := range words {
		for _, f := range driver.OtherToolsFiles() {
			if strings.HasSuffix(word, f.Ends) && isFile(word) {
				return fmt.Errorf("%s is %s; %s", word, f.Is, f.Advice)
			}
		}
	}
	return nil
}

// isFile reports whether a word is rather the name of a file than a host without a scheme: example.com/a.js
// is a host with a path.
func isFile(word string) bool {
	if _, err := files.Stat(word); err == nil {
		return true
	}
	folder, name := filepath.Split(word)
	return strings.Count(name, ".") == 1 && !strings.Contains(strings.TrimLeft(folder, "./"), ".") && !strings.Contains(word, "://")
}
