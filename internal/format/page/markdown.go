package page

import "strings"

// CodeSpan shows s literally on one line, without links, images or mentions. Its fence is
// longer than any run of backticks in s.
func CodeSpan(s string) string {
	s = Clean(s)
	if s == "" {
		return ""
	}
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " " // GitHub does not show these spaces
	}
	return fence + s + fence
}

// Cell is a CodeSpan for a table, in which a bar ends the cell even within code.
func Cell(s string) string { return strings.ReplaceAll(CodeSpan(s), "|", `\|`) }

// Escape shows s literally as text. Mentions and issue numbers, which GitHub links in plain
// text, cannot be escaped; a zero-width space breaks them.
func Escape(s string) string {
	return strings.NewReplacer(
		`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`, ">", `\>`,
		"|", `\|`, "~", `\~`, "&", `\&`, "@", "@\u200b", "#", "#\u200b",
	).Replace(s)
}
