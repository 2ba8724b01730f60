package embedded

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// No warning that a benchmark can have advises a flag of takt, which it does not have.
func TestWarningsAreInOurWords(t *testing.T) {
	said := regexp.MustCompile(`(?:Warn\(|warner\([^"]*\)\(|Invalidate\(r, )"(\w+)",\s*"([^"]*)"`)
	found := 0
	for _, path := range []string{"../verdict/judge.go", "../verdict/host.go", "../engine/report.go"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range said.FindAllStringSubmatch(string(text), -1) {
			found++
			if s := inOurWords.Replace(m[2]); strings.Contains(s, "--") && m[1] != "no_loop" && !strings.Contains(s, "a loop worked") {
				t.Errorf("%s: %s", m[1], s)
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d warnings were found", found)
	}
}
