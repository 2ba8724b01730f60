package html

import (
	"html/template"
	"io"
	"strings"

	"github.com/taktload/takt/internal/format/answer"
	"github.com/taktload/takt/internal/judge/generators"
)

// Honesty writes the page of judge.
func Honesty(w io.Writer, a generators.Answer) error {
	d, err := (*Frame)(nil).answered(answer.Honesty(a), a, nil)
	if err != nil {
		return err
	}
	return d.write(w)
}

// honestyChart draws all trials, as the picture does that can be shared.
func honestyChart(c answer.HonestyChart) ([]block, error) {
	var b strings.Builder
	if err := answer.HonestySVG(&b, answer.HonestyPicture(c.Answer)); err != nil {
		return nil, err
	}
	return []block{{Picture: template.HTML(b.String()), Help: "Green is right, red is wrong, dark red is silent, yellow is wrong and admitted, grey is not printed or unclear."}}, nil
}
