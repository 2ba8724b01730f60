package elastic

import (
	"context"
	"fmt"

	client "github.com/olivere/elastic/v7"

	"github.com/taktload/takt/internal/elastic"
	"github.com/taktload/takt/internal/store/fault"
	"github.com/taktload/takt/pkg/takt"
)

// version counts the changes to the mapping.
const version = 1

// longest is the length in characters up to which a keyword is searched; Lucene takes
// 32766 bytes.
const longest = 1000

// latencies are those that each run has. Drivers' own are in the report only: their
// names are free, and a cluster bounds the number of fields.
func latencies() []string {
	return []string{takt.LatencyResponse, takt.LatencyResponseOK, takt.LatencyService, takt.LatencySendDelay, takt.LatencyScheduleLag}
}

// object are properties in a mapping; what else a document has is kept and not searched.
type object map[string]any

func ofType(name string) object { return object{"type": name} }

func keyword() object { return object{"type": "keyword", "ignore_above": longest} }

// stored is text that is given back and not searched, so its length does not matter.
func kept() object { return object{"type": "keyword", "index": false, "doc_values": false} }

func properties(p object) object { return object{"dynamic": false, "properties": p} }

// template is that of the index with this name.
func template(index string) object {
	return object{
		"index_patterns": []string{index},
		"priority":       500, // above those of others that say *
		"version":        version,
		"_meta":          object{"description": "runs of takt"},
		"template": object{
			"settings": object{"number_of_shards": 1, "auto_expand_replicas": "0-1"},
			"mappings": mapping(),
		},
	}
}

func mapping() object {
	counts := object{}
	for _, name := range []string{"scheduled", "sent", "ok", "failed", "dropped", "unfinished"} {
		counts[name] = ofType("long")
	}
	latency := object{"count": ofType("long"), "hdr": ofType("binary")}
	for _, name := range []string{"min", "mean", "stdev", "p50", "p75", "p90", "p95", "p99", "p99_9", "p99_99", "max"} {
		latency[name+"_us"] = ofType("double")
	}
	named := object{}
	for _, name := range latencies() {
		named[name] = properties(latency)
	}
	return properties(object{
		"report": ofType("binary"), "run": kept(),
		"order": keyword(), "kind": keyword(), "started_at": ofType("date"),
		"labels": keyword(), "branch": keyword(), "revision": keyword(), "revision_date": keyword(),
		"comparability_key": keyword(), "host_class": keyword(), "verdict": keyword(),
		"duration_s": ofType("double"), "counts": properties(counts),
		"rate_per_s": properties(object{"intended": ofType("double"), "achieved": ofType("double")}),
		"latency":    properties(named),
	})
}

// prepare puts the index template, from which the cluster makes the index at the first
// run. One that is there stays: it may have been made by who may do so.
func (s *Store) prepare(ctx context.Context) error {
	select {
	case done := <-s.ready:
		defer func() { s.ready <- done }()
		if done {
			return nil
		}
		err := s.putTemplate(ctx)
		done = err == nil
		return err
	case <-ctx.Done():
		return s.fault(ctx, ctx.Err())
	}
}

func (s *Store) putTemplate(ctx context.Context) error {
	there, err := elastic.API(s.cluster).IndexGetIndexTemplate(s.index).Do(ctx)
	if err != nil && !client.IsNotFound(err) {
		return s.fault(ctx, err)
	}
	if err == nil {
		if t, ok := there.IndexTemplates.ByName(s.index); ok && t.IndexTemplate != nil {
			if v := t.IndexTemplate.Version; v > version {
				return &fault.Error{Kind: fault.ErrTooNew, Store: s.cluster.Where, Hint: fmt.Sprintf("its index template has version %d, and this takt knows %d; use a newer takt", v, version)}
			}
			return nil
		}
	}
	_, err = elastic.API(s.cluster).IndexPutIndexTemplate(s.index).BodyJson(template(s.index)).Do(ctx)
	return s.fault(ctx, err)
}
