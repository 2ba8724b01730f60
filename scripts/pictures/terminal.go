package main

import (
	"fmt"
	"html"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"
)

// What a character and a line need in a picture of a terminal, in pixels.
const (
	charWidth  = 8
	lineHeight = 17
	margin     = 12
)

// control are the colours of a terminal, which the picture does not have.
var control = regexp.MustCompile(`\x1b\[[0-9;]*[A-Za-z]`)

// terminal writes a picture of the text in a file, as an SVG with a title.
func terminal(from, title, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, []byte(drawn(string(text), title)), 0o644)
}

// drawn is a text as an SVG.
func drawn(text, title string) string {
	lines := strings.Split(strings.TrimRight(control.ReplaceAllString(text, ""), "\n"), "\n")
	widest := 0
	for _, line := range lines {
		widest = max(widest, utf8.RuneCountInString(line))
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="13">`+"\n",
		widest*charWidth+2*margin, len(lines)*lineHeight+2*margin)
	fmt.Fprintf(&b, "<title>%s</title>\n<rect width=\"100%%\" height=\"100%%\" rx=\"8\" fill=\"#14181f\"/>\n", html.EscapeString(title))
	for i, line := range lines {
		if line == "" {
			continue
		}
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\" fill=\"%s\" xml:space=\"preserve\">%s</text>\n", margin, margin+i*lineHeight+13, colour(line), html.EscapeString(line))
	}
	return b.String() + "</svg>\n"
}

// colour is that of a line: commands, failures and what is good are easy to find.
func colour(line string) string {
	lower := strings.ToLower(line)
	switch {
	case strings.HasPrefix(line, "$ "):
		return "#ffffff"
	case strings.Contains(lower, "regressed"), strings.Contains(line, "✗"), strings.Contains(line, "FAIL"), strings.Contains(line, "::error"):
		return "#ef8a80"
	case strings.Contains(line, "✓"):
		return "#7fd17f"
	}
	return "#d8dee9"
}
