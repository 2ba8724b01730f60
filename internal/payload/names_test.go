package payload

import (
	"fmt"
	"testing"

	"github.com/taktload/takt/internal/value"
)

// What a template reads is what its parser opens, however the placeholder is written.
func TestNames(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "[]",
		"plain {{uuid}} {{.Seq}}":          "[]",
		"{{file \"a\"}} and {{file `b`}}":  "[{0 a} {0 b}]",
		"{{ file\t`c d.csv`\n2 }}":         "[{0 c d.csv}]",
		"{{file \"\\x2fetc/passwd\"}}":     "[{0 /etc/passwd}]", // as the parser reads it
		"{{nothing}} {{file \"a\"}}":       "[{0 a}]",
		"{{\"{{\"}}file `a`}}":             "[]", // literal braces
		"{{file a}} {{file}} {{file \"a\"": "[]",
	} {
		if got := fmt.Sprint(Names(text)); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	var texts []string
	f := value.Naming(value.List(&texts), Names)
	if _, ok := f.(value.Repeater); !ok || fmt.Sprint(f.Names("{{file `a`}}")) != "[{0 a}]" {
		t.Error("a repeatable flag with placeholders is not repeatable, or names nothing")
	}
}
