package part

import (
	"strings"
	"unicode/utf8"

	"github.com/taktload/takt/internal/format/page"
)

// CommandLine is a command as a line for a shell.
func CommandLine(words []string) string {
	var line []string
	for _, word := range words {
		line = append(line, quote(page.Visible(word)))
	}
	return strings.Join(line, " ")
}

// commandLines are words of a command in lines that can be pasted into a shell.
func commandLines(words []string) (lines []string) {
	for _, word := range words {
		word = quote(page.Visible(word))
		last := len(lines) - 1
		if last >= 0 && utf8.RuneCountInString(lines[last]+word) < page.Width-page.LabelWidth-len("   \\") {
			lines[last] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	for i := range lines {
		if i > 0 {
			lines[i] = "  " + lines[i]
		}
		if i < len(lines)-1 {
			lines[i] += " \\"
		}
	}
	return lines
}

// quote protects what a shell would take apart.
func quote(arg string) string {
	if arg != "" && !strings.ContainsAny(arg, " \"'\\$`&|;<>()*?[]{}#~!") {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}
