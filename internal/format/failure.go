package format

import (
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/taktload/takt/internal/format/page"
)

// Failure writes, in the format of that name, that a command ended without what the output would
// contain. So nobody reads an older file as its result. command is such as takt verify, why is one line.
func Failure(w io.Writer, name, command, why string) error {
	command, why = page.Clean(command), page.Clean(why)
	switch name {
	case "json", "ndjson":
		return encode(w, map[string]any{"command": strings.Fields(command), "error": why}, map[string]string{"json": "  "}[name])
	case "junit":
		suite := junitSuite{Name: command}
		suite.count(junitCase{Class: command, Name: "ended with a result", Error: &junitWhat{"error", why}})
		return suite.write(w)
	case "markdown", markdownShort:
		_, err := fmt.Fprintf(w, "### %s failed\n\n%s\n", page.Escape(command), page.Escape(why))
		return err
	case "html":
		_, err := fmt.Fprintf(w, "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>%[1]s failed</title>\n<h1>%[1]s failed</h1>\n<p>%[2]s</p>\n</html>\n", html.EscapeString(command), html.EscapeString(why))
		return err
	case "svg", "card":
		_, err := fmt.Fprintf(w, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 800 60\"><text x=\"10\" y=\"25\">%s failed</text><text x=\"10\" y=\"45\">%s</text></svg>\n", html.EscapeString(command), html.EscapeString(why))
		return err
	}
	_, err := fmt.Fprintf(w, "# %s failed: %s\n", command, strings.TrimSpace(why))
	return err
}
