// Package pages reads documents for the tests that compare them with takt.
package pages

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ComingFrom is docs/coming-from.md with its pages, each as a section "## NAME". root is the folder of the
// repository. Every page must be linked.
func ComingFrom(t *testing.T, root string) string {
	t.Helper()
	index, err := os.ReadFile(filepath.Join(root, "docs/coming-from.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(index)
	paths, _ := filepath.Glob(filepath.Join(root, "docs/coming-from/*.md")) // the pattern is well-formed
	for _, path := range paths {
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		body, ok := strings.CutPrefix(string(page), "# Coming from ")
		if !ok {
			t.Errorf("%s does not begin with # Coming from", path)
		}
		name, _, _ := strings.Cut(body, "\n")
		if !strings.Contains(string(index), "["+name+"](coming-from/"+filepath.Base(path)+")") {
			t.Errorf("docs/coming-from.md does not link %s as %s", filepath.Base(path), name)
		}
		text += "\n## " + body
	}
	return text
}
