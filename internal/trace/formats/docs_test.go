package formats

import (
	"os"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/trace/convert"
	"github.com/taktload/takt/internal/trace/parse"
)

// docs/traces.md names every format, field and token.
func TestDocs(t *testing.T) {
	page, err := os.ReadFile("../../../docs/traces.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range Table() {
		names = append(names, f.Name)
	}
	names = append(names, parse.FieldNames()...)
	for name := range nginxVariables() {
		if name != "server_name" && name != "document_uri" && name != "query_string" { // other names for the same, or not read
			names = append(names, "$"+name)
		}
	}
	for _, name := range names {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("%s is not in docs/traces.md", name)
		}
	}
	if !strings.Contains(string(page), strings.TrimSuffix(convert.LoadHead, "\n")) {
		t.Error("the head of the load format is another one")
	}
}
