package taken

import (
	"bytes"
	"encoding/json"
	"fmt"
	"github.com/taktload/takt/internal/scene"
	"regexp"
	"slices"
	"strings"
	"sync"
)

func HasFile(form []scene.Field) bool {
	return slices.ContainsFunc(form, func(f scene.Field) bool { return f.File != "" })
}

// QuoteJSON is a text in JSON, as a text of a scenario.
func QuoteJSON(s string) string {
	var b bytes.Buffer
	to := json.NewEncoder(&b)
	to.SetEscapeHTML(false)
	_ = to.Encode(s) // a text
	return string(scene.Literal(strings.TrimSuffix(b.String(), "\n")))
}

// CompactJSON is JSON without the blanks between its parts, also if it has variables; another text stays.
func CompactJSON(text string) string {
	var b strings.Builder
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\' && i+1 < len(text):
			b.WriteString(text[i : i+2])
			i++
		case c == '"':
			quoted = !quoted
			b.WriteByte(c)
		case !quoted && (c == '\n' || c == '\r' || c == '\t' || c == ' ' && (i == 0 || strings.IndexByte("\n\r\t ,:{[", text[i-1]) >= 0)):
		case quoted && c == '\n':
			return text // it is no JSON
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// Environment is the placeholder of a variable of the environment.
func Environment(name string) scene.Text { return scene.Text(fmt.Sprintf("{{env %q}}", name)) }

var notInNames = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9_.-]+`) })

var schemeOf = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z]+://`) })
