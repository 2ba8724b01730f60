package format

import "strings"

// codeSpan shows s literally on one line, without links, images or mentions. Its fence is
// longer than any run of backticks in s.
func codeSpan(s string) string {
	s = clean(s)
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

// cell is a codeSpan for a table, in which a bar ends the cell even within code.
func cell(s string) string { return strings.ReplaceAll(codeSpan(s), "|", `\|`) }

// escape shows s literally as text. Mentions and issue numbers, which GitHub links in plain
// text, cannot be escaped; a zero-width space breaks them.
func escape(s string) string {
	return strings.NewReplacer(
		`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`, ">", `\>`,
		"|", `\|`, "~", `\~`, "&", `\&`, "@", "@\u200b", "#", "#\u200b",
	).Replace(s)
}

// markdownRow is a row of a table.
func markdownRow(cells []string) string {
	var b strings.Builder
	for _, c := range cells {
		b.WriteString("| " + escape(clean(c)) + " ")
	}
	return b.String() + "|\n"
}
