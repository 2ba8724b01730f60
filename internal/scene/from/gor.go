package from

import (
	"bytes"
	"fmt"

	"github.com/taktload/takt/internal/scene"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/reader"
)

const gorName = "gor"

func looksGor(text []byte) bool { return bytes.Contains(text, []byte("\n🐵🙈🙉")) }

// readGor reads what GoReplay recorded.
func readGor(text []byte) (*Taken, error) {
	r, err := reader.New("", bytes.NewReader(text), reader.Options{Format: gorName})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	t := new(Taken)
	t.left("", "the requests of all users are one journey, in their order; takt replay sends each at its time, and apart by user")
	err = trace.Each(r, func(rec *trace.Record) error {
		t.Steps = append(t.Steps, t.recorded(rec))
		if len(t.Steps) > maxSteps {
			return fmt.Errorf("more than %d requests; takt replay sends such a file", maxSteps)
		}
		return nil
	})
	counts := r.Counts()
	for _, why := range counts.Left.Reasons(trace.NoRequest, trace.Bad, trace.NotSent, trace.Without) {
		t.left(atLine(why.Line), "%s, %d times: %s", why.Kind, why.Count, why.Why)
	}
	return t, err
}

func (t *Taken) recorded(rec *trace.Record) scene.Step {
	s := scene.Step{Method: string(rec.Method), URL: scene.URLText(string(rec.URI)), Body: scene.Literal(string(rec.Body))}
	if len(rec.Host) > 0 {
		s.URL = scene.URLText("http://"+string(rec.Host)) + s.URL
	}
	rec.Fields(func(name, value string) { t.header(atLine(rec.Line), &s, name, scene.Literal(value)) })
	return s
}
