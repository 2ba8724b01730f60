package layers

import (
	"slices"
	"strings"
	"testing"
)

// What is below internal/test is for tests: takt and the faces of pkg never have it in them.
func TestOnlyTestsImportTest(t *testing.T) {
	imports := imports(t)
	if !slices.Contains(imports["internal/test/exampletest"], "pkg/drivertest") {
		t.Fatal("the imports of internal/test/exampletest were not read")
	}
	for pkg, all := range imports {
		for _, imported := range all {
			if isTest(imported) && !isTest(pkg) {
				t.Errorf("%s imports %s, which is for tests only", pkg, imported)
			}
		}
	}
}

func isTest(pkg string) bool { return strings.HasPrefix(pkg, "internal/test/") }
