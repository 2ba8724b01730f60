package format

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/taktload/takt/internal/format/page"
	"github.com/taktload/takt/internal/judge/functions"
	"github.com/taktload/takt/internal/judge/verify"
)

// Folded is the format of the stacks of both sides.
const Folded = "folded"

// longestFrame is the longest name of a function, in runes.
const longestFrame = 500

// mostFolded bounds the file: names and depth of the stacks are those of another program. In bytes.
const mostFolded = 64 << 20

// writeFolded writes the stacks of both sides in the format of flame graphs: the outermost function first, and the CPU
// time of a request on base and head in ns. Without profiles it writes nothing.
func writeFolded(w io.Writer, j verify.Judgement) error {
	if j.Functions == nil {
		return nil
	}
	b := bufio.NewWriter(w)
	s, room, rest := functions.Stacks{Frames: slices.Clone(j.Functions.Stacks.Frames)}, mostFolded, [2]float64{}
	for i := range s.Frames {
		s.Frames[i].Name = foldedName(s.Frames[i].Name)
	}
	for i, f := range s.Frames {
		base, head := math.Round(1e3*f.Own[0]), math.Round(1e3*f.Own[1])
		if base == 0 && head == 0 {
			continue
		}
		line := foldedLine(s.Stack(i), base, head)
		if room -= len(line); room < 0 {
			rest[0], rest[1], room = rest[0]+base, rest[1]+head, room+len(line)
			continue
		}
		b.WriteString(line) // the error is that of Flush
	}
	if rest != [2]float64{} {
		b.WriteString(foldedLine([]string{"[more stacks]"}, rest[0], rest[1]))
	}
	return b.Flush()
}

func foldedName(s string) string {
	return strings.ReplaceAll(page.Cut(page.Clean(s), longestFrame), ";", ",")
}

func foldedLine(names []string, base, head float64) string {
	return fmt.Sprintf("%s %.0f %.0f\n", strings.Join(names, ";"), base, head)
}
