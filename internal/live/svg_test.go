package live

import (
	"fmt"
	"html"
	"os"
	"strings"
	"testing"
)

// The picture of the README is the golden screen with its colours, and the page has its text.
func TestPictures(t *testing.T) {
	s := after(head(), 47)
	golden(t, "../../docs/pictures/live.svg", svg(s.picture(moment(47), 100, 32)))
	screen := strings.Join(s.View(moment(47), 80, 24, Mono), "\n") + "\n"
	const path = "../../docs/live.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(page), "```text view\n")
	old, end, found := strings.Cut(rest, "```\n")
	if !found {
		t.Fatalf("%s has no block \"text view\"", path)
	}
	if *update {
		if err := os.WriteFile(path, []byte(before+"```text view\n"+screen+"```\n"+end), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if old != screen {
		t.Errorf("the picture in %s is old; run go test ./internal/live -update", path)
	}
}

// inks are the colours of the styles on a dark screen.
func inks(s style) string {
	return [styles]string{
		plain: "#d8dee9", dim: "#8a93a3", bold: "#ffffff", green: "#7fd17f", yellow: "#e8c547", red: "#ff6b6b", cyan: "#5fc9d8",
		heat1: "#2a6f9e", heat2: "#2f96b4", heat3: "#33b28e", heat4: "#a8d15a", heat5: "#fff27a",
	}[s]
}

const (
	cellWidth  = 8
	cellHeight = 17
	margin     = 12
)

// svg draws a grid as a picture: a text element for each run of one style, and shapes for blocks,
// because fonts leave gaps between them.
func svg(g *grid) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="13">`+"\n",
		g.width*cellWidth+2*margin, g.height*cellHeight+2*margin)
	b.WriteString("<title>takt http in a terminal: rates, percentiles and a heat map of each second</title>\n")
	b.WriteString(`<rect width="100%" height="100%" rx="8" fill="#14181f"/>` + "\n")
	for y := range g.height {
		line := g.cells[y*g.width : (y+1)*g.width]
		for x := 0; x < len(line); {
			end := x + 1
			for end < len(line) && line[end].style == line[x].style && block(line[end].r) == block(line[x].r) && (!block(line[x].r) || line[end].r == line[x].r) {
				end++
			}
			b.WriteString(piece(line[x:end], x, y))
			x = end
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func block(r rune) bool { return strings.ContainsRune(eighths+"░▒▓", r) }

// piece draws neighbours of one style.
func piece(cells []cell, x, y int) string {
	left, top, ink := margin+x*cellWidth, margin+y*cellHeight, inks(cells[0].style)
	if r := cells[0].r; block(r) {
		height, opacity := cellHeight, ""
		if i := strings.IndexRune(eighths, r); i >= 0 {
			height = (i/len("▁") + 1) * cellHeight / 8
		} else {
			opacity = ` fill-opacity="` + map[rune]string{'░': ".45", '▒': ".65", '▓': ".85"}[r] + `"`
		}
		return fmt.Sprintf(`<rect x="%d" y="%d" width="%d" height="%d" fill="%s"%s/>`+"\n", left, top+cellHeight-height, len(cells)*cellWidth, height, ink, opacity)
	}
	var text strings.Builder
	for _, c := range cells {
		if c.r == 0 {
			c.r = ' '
		}
		text.WriteRune(c.r)
	}
	words := strings.TrimRight(text.String(), " ")
	start := len(words) - len(strings.TrimLeft(words, " "))
	if words = words[start:]; words == "" {
		return ""
	}
	return fmt.Sprintf(`<text x="%d" y="%d" fill="%s" xml:space="preserve" textLength="%d">%s</text>`+"\n",
		left+start*cellWidth, top+cellHeight-4, ink, len([]rune(words))*cellWidth, html.EscapeString(words))
}
