package apmserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	client "github.com/olivere/elastic/v7"

	"github.com/taktload/takt/internal/elastic"
	"github.com/taktload/takt/pkg/takt"
)

// Documents are an apm-server's documents in its cluster.
type Documents struct {
	cluster *elastic.Cluster
	output  Output
}

// indices are apm-server's indices: up to 7 with the version in the name, from 8 on data
// streams.
func indices() []string { return []string{"apm-*", "traces-apm*", "logs-apm*"} }

// OpenDocuments returns the Documents of the cluster at that URL, which may contain user and
// password. It does not contact the cluster yet.
func OpenDocuments(o Output) (*Documents, error) {
	if u, err := url.Parse(o.URL); err == nil && u.User != nil {
		password, _ := u.User.Password()
		o.User, o.Password = u.User.Username(), takt.Secret(password)
	}
	c, err := elastic.Connect(o.URL, elastic.Options{User: o.User, Password: string(o.Password)})
	if err != nil {
		return nil, err
	}
	o.URL = c.Address
	return &Documents{cluster: c, output: o}, nil
}

// Output is the cluster for the server's output.
func (d *Documents) Output() Output { return d.output }

// Close closes the connections.
func (d *Documents) Close() { d.cluster.Close() }

// Health is the cluster's state: green, yellow or red.
func (d *Documents) Health(ctx context.Context) (string, error) {
	h, err := elastic.API(d.cluster).ClusterHealth().Do(ctx)
	if err != nil {
		return "", d.fault(ctx, err)
	}
	return h.Status, nil
}

// Count refreshes the indices and counts the documents of transactions, spans and errors. It
// does not count apm-server's own documents.
func (d *Documents) Count(ctx context.Context) (int64, error) {
	if _, err := elastic.API(d.cluster).Refresh(indices()...).Do(ctx); err != nil {
		return 0, d.fault(ctx, err)
	}
	n, err := elastic.API(d.cluster).Count(indices()...).Query(events()).IgnoreUnavailable(true).AllowNoIndices(true).Do(ctx)
	return n, d.fault(ctx, err)
}

// events selects the counted documents. Older servers write the kind of a document;
// for those with apm-data the cluster adds it, if it has the templates of the APM integration.
// Without them the data stream tells the kind. Version 6 has the service's name in context.
func events() client.Query {
	kind := client.NewTermsQuery("processor.event", "transaction", "span", "error")
	stream := client.NewBoolQuery().
		MustNot(client.NewExistsQuery("processor.event")).
		Filter(client.NewTermsQuery("data_stream.dataset", "apm", "apm.rum", "apm.error"))
	return client.NewBoolQuery().
		Filter(client.NewBoolQuery().Should(kind, stream)).
		MustNot(client.NewTermQuery("service.name", "apm-server"), client.NewTermQuery("context.service.name", "apm-server"))
}

// Delete deletes the documents that Count counts, and returns their number. A cluster without
// delete-by-query loses whole indices and data streams; then whole is true.
func (d *Documents) Delete(ctx context.Context) (n int64, whole bool, err error) {
	n, err = d.Count(ctx)
	if err != nil || n == 0 {
		return n, false, err
	}
	answer, err := elastic.API(d.cluster).DeleteByQuery(indices()...).Query(events()).
		IgnoreUnavailable(true).AllowNoIndices(true).ProceedOnVersionConflict().Refresh("true").Do(ctx)
	switch {
	case err == nil:
		return answer.Deleted, false, nil
	case lacksDelete(err):
		return n, true, d.deleteIndices(ctx)
	}
	return 0, false, d.fault(ctx, err)
}

// lacksDelete reports whether the cluster lacks the module for delete-by-query. Version 8
// then has no such path; version 7 takes it for another path without such parameters.
func lacksDelete(err error) bool {
	var e *client.Error
	if !errors.As(err, &e) {
		return false
	}
	unknown := e.Details == nil || strings.Contains(e.Details.Reason, "unrecognized parameters")
	return unknown && (e.Status == http.StatusBadRequest || e.Status == http.StatusMethodNotAllowed)
}

// deleteIndices names each index: from version 8 on a cluster refuses to delete by pattern.
func (d *Documents) deleteIndices(ctx context.Context) error {
	type named struct {
		Name       string `json:"name"`
		DataStream string `json:"data_stream"` // data stream of the index
	}
	var there struct {
		Indices []named `json:"indices"`
		Streams []named `json:"data_streams"`
	}
	answer, err := elastic.API(d.cluster).PerformRequest(ctx, client.PerformRequestOptions{Method: http.MethodGet, Path: "/_resolve/index/" + strings.Join(indices(), ",")})
	if err == nil {
		err = json.Unmarshal(answer.Body, &there)
	}
	for _, index := range there.Indices {
		if err == nil && index.DataStream == "" {
			_, err = elastic.API(d.cluster).DeleteIndex(index.Name).Do(ctx)
		}
	}
	for _, stream := range there.Streams {
		if err == nil {
			_, err = elastic.API(d.cluster).PerformRequest(ctx, client.PerformRequestOptions{Method: http.MethodDelete, Path: "/_data_stream/" + stream.Name})
		}
	}
	return d.fault(ctx, err)
}

// fault adds the cluster and the remedy.
func (d *Documents) fault(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	said, hint := d.cluster.Said(err)
	if client.IsStatusCode(err, http.StatusUnauthorized) || client.IsStatusCode(err, http.StatusForbidden) {
		hint = "give a user that may read and delete in " + strings.Join(indices(), ",")
	}
	return fmt.Errorf("the cluster at %s: %w; %s", d.cluster.Where, said, cmp.Or(hint, "is it running, and is the URL right?"))
}
