package formats

import (
	"time"

	"github.com/taktload/takt/internal/trace/fill"
	"github.com/taktload/takt/internal/trace/pattern"
)

// uwsgiShape is uWSGI's log of requests (core/logging.c there). The time is the start of the
// request, without a zone.
const uwsgiShape = `[pid: $pid|app: $app|req: $of_worker/$of_all] $client ($user) {$vars} [$time] $method $uri => generated $bytes bytes in $taken $unit ($protocol $status) $rest`

func uwsgiPieces(text string) ([]pattern.Piece, error) {
	return namedPieces(text, map[string]pattern.Variable{
		"client": {Set: fill.Client},
		"time":   {Set: fill.Layout(time.ANSIC, fill.Start), Role: pattern.Time},
		"method": {Set: fill.Method},
		"uri":    {Set: fill.URI, Role: pattern.Request},
		"bytes":  {Set: fill.Size(fill.AnswerBytes, false)},
		"taken":  {Set: fill.Latency(time.Millisecond)},
		"unit":   {Set: setUWSGIUnit},
		"status": {Set: fill.Status},
	})
}

// setUWSGIUnit corrects the latency if the unit, behind it, is that of --log-micros.
func setUWSGIUnit(f *fill.Line, v []byte) error {
	switch string(v) {
	case "msecs":
		return nil
	case "micros":
		f.Rec.Latency /= 1000
		return nil
	}
	return fill.ErrTaken
}
