package formats

import (
	"time"

	"github.com/taktload/takt/internal/trace/parse"
)

// uwsgiShape is uWSGI's log of requests (core/logging.c there). The time is the start of the
// request, without a zone.
const uwsgiShape = `[pid: $pid|app: $app|req: $of_worker/$of_all] $client ($user) {$vars} [$time] $method $uri => generated $bytes bytes in $taken $unit ($protocol $status) $rest`

func uwsgiPieces(text string) ([]parse.Piece, error) {
	return namedPieces(text, map[string]parse.Variable{
		"client": {Set: parse.Client},
		"time":   {Set: parse.Layout(time.ANSIC, parse.Start), Role: parse.RoleTime},
		"method": {Set: parse.Method},
		"uri":    {Set: parse.URI, Role: parse.RoleRequest},
		"bytes":  {Set: parse.Size(parse.AnswerBytes, false)},
		"taken":  {Set: parse.Latency(time.Millisecond)},
		"unit":   {Set: setUWSGIUnit},
		"status": {Set: parse.Status},
	})
}

// setUWSGIUnit corrects the latency if the unit, behind it, is that of --log-micros.
func setUWSGIUnit(f *parse.Line, v []byte) error {
	switch string(v) {
	case "msecs":
		return nil
	case "micros":
		f.Rec.Latency /= 1000
		return nil
	}
	return parse.ErrTaken
}
