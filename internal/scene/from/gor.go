package from

import (
	"bytes"
	"fmt"

	"github.com/taktload/takt/internal/scene"
	"github.com/taktload/takt/internal/scene/from/taken"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/reader"
)

const gorName = "gor"

func looksGor(text []byte) bool { return bytes.Contains(text, []byte("\n🐵🙈🙉")) }

// readGor reads what GoReplay recorded.
func readGor(text []byte) (*taken.Taken, error) {
	r, err := reader.New("", bytes.NewReader(text), reader.Options{Format: gorName})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	t := new(taken.Taken)
	t.Omit("", "the requests of all users are one journey, in their order; takt replay sends each at its time, and apart by user")
	err = trace.Each(r, func(rec *trace.Record) error {
		t.Steps = append(t.Steps, recorded(t, rec))
		if len(t.Steps) > taken.MaxSteps {
			return fmt.Errorf("more than %d requests; takt replay sends such a file", taken.MaxSteps)
		}
		return nil
	})
	counts := r.Counts()
	for _, why := range counts.Left.Reasons(trace.NoRequest, trace.Bad, trace.NotSent, trace.Without) {
		t.Omit(taken.AtLine(why.Line), "%s, %d times: %s", why.Kind, why.Count, why.Why)
	}
	return t, err
}

func recorded(t *taken.Taken, rec *trace.Record) scene.Step {
	s := scene.Step{Method: string(rec.Method), URL: scene.URLText(string(rec.URI)), Body: scene.Literal(string(rec.Body))}
	if len(rec.Host) > 0 {
		s.URL = t.OnHost(taken.AtLine(rec.Line), scene.Literal("http://"+string(rec.Host))+s.URL, len(t.Left))
	}
	rec.Fields(func(name, value string) { t.Header(taken.AtLine(rec.Line), &s, name, scene.Literal(value)) })
	return s
}
