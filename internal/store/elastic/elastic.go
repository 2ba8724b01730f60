// Package elastic keeps reports in an Elasticsearch or OpenSearch cluster, which many
// may share.
package elastic

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	client "github.com/olivere/elastic/v7"

	"github.com/taktload/takt/internal/document"
	"github.com/taktload/takt/internal/elastic"
	"github.com/taktload/takt/internal/store/fault"
	"github.com/taktload/takt/pkg/takt"
)

// Store keeps reports in one index.
type Store struct {
	cluster *elastic.Cluster
	index   string

	// ready is full once the index template is known to be there. A channel, not a
	// mutex: it is held while the cluster answers.
	ready chan bool
}

// Bounds of one request: a server refuses bodies above 100 MB (http.max_content_length).
const (
	bulkBytes = 8 << 20
	bulkCount = 1000
	loadCount = 10 // reports; gzip and base64 together leave their size as it is: see elastic.MaxAnswer
)

// Save keeps the reports. They are listed once it returns. A cluster has no
// transactions: of reports that do not fit into one request, about 8 MB, the first may
// be kept although there is an error; to save all of them again does no harm.
func (s *Store) Save(ctx context.Context, reports ...*takt.Report) error {
	all, err := document.Pack(reports...)
	if err != nil {
		return err
	}
	var requests []client.BulkableRequest
	for i := range all {
		doc, err := newDoc(&all[i])
		if err != nil {
			return err
		}
		text, err := json.Marshal(doc)
		if err != nil {
			return err
		}
		requests = append(requests, client.NewBulkIndexRequest().Id(all[i].Run.ID).Doc(json.RawMessage(text)))
	}
	if len(requests) == 0 {
		return ctx.Err()
	}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	return s.bulk(ctx, requests)
}

// bulk makes the requests. What is to be deleted and is not there is no fault.
func (s *Store) bulk(ctx context.Context, requests []client.BulkableRequest) error {
	for len(requests) > 0 {
		b := elastic.API(s.cluster).Bulk().Index(s.index).Refresh("true") // not wait_for: that waits up to a second
		for b.NumberOfActions() < min(len(requests), bulkCount) && b.EstimatedSizeInBytes() < bulkBytes {
			b.Add(requests[b.NumberOfActions()])
		}
		asked := b.NumberOfActions()
		answer, err := b.Do(ctx)
		if err != nil {
			return s.fault(ctx, err)
		}
		if len(answer.Items) != asked {
			return s.alien()
		}
		requests = requests[asked:]
		for _, item := range answer.Items {
			if err := failed(item); err != nil {
				return s.fault(ctx, err)
			}
		}
	}
	return nil
}

// failed is the error in the answer to one request of a bulk.
func failed(item map[string]*client.BulkResponseItem) error {
	for action, answer := range item {
		absent := action == "delete" && answer.Status == http.StatusNotFound // the document, or the index
		if answer.Error != nil && !absent {
			return &client.Error{Status: answer.Status, Details: answer.Error}
		}
	}
	return nil
}

// Load gives the reports whole, in the order of ids. It asks for fewer at once if their answer is too large.
func (s *Store) Load(ctx context.Context, ids ...string) ([]*takt.Report, error) {
	reports := make([]*takt.Report, 0, len(ids))
	for most := loadCount; len(reports) < len(ids); {
		some := ids[len(reports):min(len(reports)+most, len(ids))]
		found, err := s.documents(ctx, some)
		if tooLarge(err) && len(some) > 1 {
			most = len(some) / 2
			continue
		}
		if err != nil {
			return nil, s.fault(ctx, err)
		}
		if len(found) != len(some) {
			return nil, s.alien()
		}
		for i, d := range found {
			r, err := s.unpack(some[i], d)
			if err != nil {
				return nil, err
			}
			reports = append(reports, r)
		}
	}
	return reports, nil
}

// tooLarge reports whether an answer for fewer runs may be short enough.
func tooLarge(err error) bool {
	large := (*http.MaxBytesError)(nil)
	return errors.As(err, &large)
}

// documents asks for the documents of the runs. Its error is the client's.
func (s *Store) documents(ctx context.Context, ids []string) ([]*client.GetResult, error) {
	get := elastic.API(s.cluster).MultiGet()
	for _, id := range ids {
		get.Add(client.NewMultiGetItem().Index(s.index).Id(id).FetchSource(client.NewFetchSourceContext(true).Include("report")))
	}
	answer, err := get.Do(ctx)
	if err != nil {
		return nil, err
	}
	return answer.Docs, nil
}

// unpack is the report of a document.
func (s *Store) unpack(id string, found *client.GetResult) (*takt.Report, error) {
	if !found.Found { // the document, or the index
		return nil, &fault.Error{Kind: fault.ErrNotFound, Store: id}
	}
	var d doc
	if err := json.Unmarshal(found.Source, &d); err != nil {
		return nil, s.damaged(found.Id, err)
	}
	return document.Unpack(d.Report, s.cluster.Where)
}

// Delete forgets the runs.
func (s *Store) Delete(ctx context.Context, ids ...string) error {
	var requests []client.BulkableRequest
	for _, id := range ids { // to delete from no index does not make it
		requests = append(requests, client.NewBulkDeleteRequest().Id(id))
	}
	return s.bulk(ctx, requests)
}

// Close gives the connections back.
func (s *Store) Close() error {
	s.cluster.Close()
	return nil
}
