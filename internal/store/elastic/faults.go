package elastic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	client "github.com/olivere/elastic/v7"

	"github.com/taktload/takt/internal/store/fault"
)

// fault says what an error of the client means. What ctx ended is the error of ctx too.
func (s *Store) fault(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &fault.Error{Kind: fault.ErrUnreachable, Store: s.cluster.Where, Cause: ctx.Err(), Hint: "it does not answer; try again later"}
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", s.cluster.Where, ctx.Err())
	case isAlien(err):
		return s.alien()
	}
	said, hint := s.cluster.Said(err)
	kind := fault.ErrUnreachable
	if e := (*client.Error)(nil); hint == "" && errors.As(err, &e) {
		hint, kind = answered(e)
	}
	if kind == nil {
		return fmt.Errorf("%s: %w", s.cluster.Where, said)
	}
	return &fault.Error{Kind: kind, Store: s.cluster.Where, Cause: said, Hint: hint}
}

// isAlien tells of an answer that is no JSON, or of another form than the client knows.
func isAlien(err error) bool {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	return errors.As(err, &syntax) || errors.As(err, &kind)
}

// alien is the error of a server that answers something else, and so has kept nothing.
func (s *Store) alien() error {
	return &fault.Error{Kind: fault.ErrUnreachable, Store: s.cluster.Where, Cause: errors.New("it does not answer as Elasticsearch"), Hint: "is the URL right?"}
}

// damaged is the error of a document that somebody else has changed.
func (s *Store) damaged(id string, cause error) error {
	return &fault.Error{Kind: fault.ErrCorrupt, Store: s.cluster.Where, Cause: fmt.Errorf("run %s: %w", id, cause), Hint: "delete that document from the index"}
}

// answered says what an answer with an error means. Blocks are 403, but 429 where the
// server set one because the disk is full.
func answered(e *client.Error) (hint string, kind error) {
	reason := ""
	if e.Details != nil {
		reason = e.Details.Type + " " + e.Details.Reason
	}
	switch blocked := strings.Contains(reason, "cluster_block_exception"); {
	case blocked && strings.Contains(reason, "flood-stage"), e.Status == http.StatusInsufficientStorage:
		return "make room on its disks", fault.ErrFull
	case blocked && e.Status == http.StatusForbidden:
		return "lift the block: set index.blocks.* of the index, and cluster.blocks.* of the cluster, to null", fault.ErrReadOnly
	case e.Status == http.StatusForbidden:
		return "the user or API key may not do this; it needs read, write and create_index on the index, and manage_index_templates once", fault.ErrReadOnly
	case e.Status == http.StatusUnauthorized:
		return "give TAKT_STORE_USER and TAKT_STORE_PASSWORD, or TAKT_STORE_API_KEY", fault.ErrUnreachable
	case strings.Contains(reason, "index_not_found_exception"):
		return "the cluster makes no indices by itself (action.auto_create_index); create this one, empty", fault.ErrUnreachable
	case e.Status == http.StatusNotFound, e.Status == http.StatusMethodNotAllowed:
		return "is it an Elasticsearch from 7.8 on, or an OpenSearch?", fault.ErrUnreachable
	case e.Status == http.StatusTooManyRequests, e.Status >= 500:
		return "it is overloaded or not complete; try again later", fault.ErrUnreachable
	}
	return "", nil
}

// incomplete is the error of a search in which shards are missing.
func (s *Store) incomplete(shards *client.ShardsInfo) error {
	return &fault.Error{
		Kind: fault.ErrUnreachable, Store: s.cluster.Where,
		Cause: fmt.Errorf("%d of %d shards did not answer", shards.Failed, shards.Total), Hint: "look at the health of the cluster",
	}
}
