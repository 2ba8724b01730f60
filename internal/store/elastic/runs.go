package elastic

import (
	"context"
	"encoding/json"
	"iter"

	client "github.com/olivere/elastic/v7"

	"github.com/taktload/takt/internal/document"
	"github.com/taktload/takt/internal/elastic"
	"github.com/taktload/takt/internal/judge/stored"
)

// page is how many runs a request asks for; a server gives 10 000 at most.
const page = 1000

// Runs gives the runs that q selects, newest first. They are asked for page by page,
// each from where the last one ended, so a run that is deleted meanwhile moves nothing.
func (s *Store) Runs(ctx context.Context, q stored.Query) iter.Seq2[stored.Run, error] {
	return func(yield func(stored.Run, error) bool) {
		if err := s.each(ctx, q, func(r stored.Run) bool { return yield(r, nil) }); err != nil {
			yield(stored.Run{}, err)
		}
	}
}

// each calls f with the runs until it says false.
func (s *Store) each(ctx context.Context, q stored.Query, f func(stored.Run) bool) error {
	known := map[string]*stored.Settings{}
	size := page
	if q.Match == nil && q.Limit > 0 {
		size = min(size, q.Limit)
	}
	var after []any
	for n := 0; ; {
		hits, err := s.page(ctx, q, after, size)
		if tooLarge(err) && size > 1 {
			size /= 2
			continue
		}
		if err != nil {
			return err
		}
		for _, hit := range hits {
			run, err := runOf(hit, known)
			if err != nil {
				return s.damaged(hit.Id, err)
			}
			if !document.Selects(q, &run) {
				continue
			}
			n++
			if !f(run) || n == q.Limit {
				return nil
			}
		}
		if len(hits) < size {
			return nil
		}
		after = hits[len(hits)-1].Sort
	}
}

func runOf(hit *client.SearchHit, known map[string]*stored.Settings) (run stored.Run, err error) {
	var d doc
	var l listed
	if err := json.Unmarshal(hit.Source, &d); err != nil {
		return run, err
	}
	if err := json.Unmarshal([]byte(d.Run), &l); err != nil {
		return run, err
	}
	return l.run(known)
}

func (s *Store) page(ctx context.Context, q stored.Query, after []any, size int) ([]*client.SearchHit, error) {
	search := elastic.API(s.cluster).Search(s.index).IgnoreUnavailable(true).TrackTotalHits(false).
		Query(queryOf(q)).FetchSourceContext(client.NewFetchSourceContext(true).Include("run")).
		Sort("order", false).Size(size)
	if after != nil {
		search.SearchAfter(after...)
	}
	answer, err := search.Do(ctx)
	if err != nil {
		return nil, s.fault(ctx, err)
	}
	if answer.Shards != nil && answer.Shards.Failed > 0 {
		return nil, s.incomplete(answer.Shards)
	}
	if answer.Hits == nil {
		return nil, s.alien()
	}
	return answer.Hits.Hits, nil
}

// query is what the cluster can say of q.
func queryOf(q stored.Query) client.Query {
	b := client.NewBoolQuery()
	if len(q.IDs) > 0 {
		b.Filter(client.NewIdsQuery().Ids(q.IDs...))
	}
	if q.Kind != "" {
		b.Filter(client.NewTermQuery("kind", q.Kind))
	}
	if !q.Since.IsZero() {
		b.Filter(client.NewRangeQuery("order").Gte(document.Stamp(q.Since)))
	}
	for name, value := range q.Labels {
		if term := name + "=" + value; len(term) <= longest { // longer ones are not searched
			b.Filter(client.NewTermQuery("labels", term))
		}
	}
	return b
}
