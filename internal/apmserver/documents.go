package apmserver

import (
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

// Documents are those that an apm-server makes of events, in the cluster that it writes
// to.
type Documents struct {
	cluster *elastic.Cluster
	output  Output
}

// indices are where apm-server writes: up to 7 with a version in the name, from 8 on
// data streams.
func indices() []string { return []string{"apm-*", "traces-apm*", "logs-apm*"} }

// OpenDocuments gives those in the cluster of that URL, which may hold user and
// password. It asks the cluster nothing yet.
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

// Output is the cluster, for the server that is to write there.
func (d *Documents) Output() Output { return d.output }

// Close gives the connections back.
func (d *Documents) Close() { d.cluster.Close() }

// Health is the cluster's: green, yellow or red.
func (d *Documents) Health(ctx context.Context) (string, error) {
	h, err := elastic.API(d.cluster).ClusterHealth().Do(ctx)
	if err != nil {
		return "", d.fault(ctx, err)
	}
	return h.Status, nil
}

// Count refreshes the indices and counts the documents of transactions, spans and
// errors. Those in which apm-server tells of itself are not counted.
func (d *Documents) Count(ctx context.Context) (int64, error) {
	if _, err := elastic.API(d.cluster).Refresh(indices()...).Do(ctx); err != nil {
		return 0, d.fault(ctx, err)
	}
	n, err := elastic.API(d.cluster).Count(indices()...).Query(events()).IgnoreUnavailable(true).AllowNoIndices(true).Do(ctx)
	return n, d.fault(ctx, err)
}

// events selects what is counted. Version 6 has the name of the service in context.
func events() client.Query {
	return client.NewBoolQuery().
		Filter(client.NewTermsQuery("processor.event", "transaction", "span", "error")).
		MustNot(client.NewTermQuery("service.name", "apm-server"), client.NewTermQuery("context.service.name", "apm-server"))
}

// Delete deletes the documents that Count counts, and says how many. A cluster without
// deletion by query loses the indices and data streams whole: whole says so.
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

// lacksDelete tells of a cluster whose module for it is not installed: 8 knows no such
// path, 7 takes it for another's, which has no such parameters.
func lacksDelete(err error) bool {
	var e *client.Error
	if !errors.As(err, &e) {
		return false
	}
	unknown := e.Details == nil || strings.Contains(e.Details.Reason, "unrecognized parameters")
	return unknown && (e.Status == http.StatusBadRequest || e.Status == http.StatusMethodNotAllowed)
}

// deleteIndices names each: from version 8 on a cluster refuses to delete by a pattern.
func (d *Documents) deleteIndices(ctx context.Context) error {
	type named struct {
		Name       string `json:"name"`
		DataStream string `json:"data_stream"` // that the index is a part of
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

// fault says which cluster, and what to do.
func (d *Documents) fault(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case client.IsStatusCode(err, http.StatusUnauthorized), client.IsStatusCode(err, http.StatusForbidden):
		return fmt.Errorf("the cluster at %s: %w; give a user that may read and delete in %s", d.cluster.Where, err, strings.Join(indices(), ","))
	}
	return fmt.Errorf("the cluster at %s: %w; is it running, and is the URL right?", d.cluster.Where, err)
}
