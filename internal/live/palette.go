package live

import "strings"

// style is how a cell looks.
type style uint8

// The styles. heat1 to heat5 are the shades of the heat map, few operations to many.
const (
	plain style = iota
	dim
	bold
	green
	yellow
	red
	cyan
	heat1
	heat2
	heat3
	heat4
	heat5
	styles
)

// Palette says which colours the reader sees.
type Palette int

// The palettes.
const (
	Mono  Palette = iota // no escape sequences within a line
	Basic                // the 16 colours that every terminal has
	Rich                 // 256 colours
)

// sgr are the parameters of the escape sequences, "" for none.
func (p Palette) sgr(s style) string {
	if p == Mono {
		return ""
	}
	if p == Rich && s >= heat1 {
		return [...]string{"38;5;24", "38;5;31", "38;5;36", "38;5;149", "38;5;227"}[s-heat1]
	}
	return [styles]string{dim: "2", bold: "1", green: "32", yellow: "33", red: "1;31", cyan: "36", heat1: "34", heat2: "36", heat3: "36", heat4: "33", heat5: "1;33"}[s]
}

func (p Palette) paint(s style, text string) string {
	if sgr := p.sgr(s); sgr != "" && text != "" {
		return "\x1b[" + sgr + "m" + text + "\x1b[0m"
	}
	return text
}

// PaletteOf chooses by the terminal's variables.
func PaletteOf(term, colorterm string) Palette {
	if strings.Contains(term, "256color") || strings.Contains(term, "direct") || colorterm != "" {
		return Rich
	}
	return Basic
}
