package html

import (
	"github.com/taktload/takt/internal/format/text"
	"github.com/taktload/takt/pkg/takt"
)

// shownShards is the largest number of shards in the table: a page has at most 500 KB.
const shownShards = 50

// shards is the section with the shards of a merged report.
func shards(r *takt.Report) []section {
	list := text.Shards(r)
	if len(list) == 0 {
		return nil
	}
	rows, words := text.ShardTable(list, shownShards)
	t := &table{
		ID: "shard-table", Caption: "Shards, the worst first: invalid ones, then by schedule lag, then by response time.",
		Head: rows[0], Rows: rows[1:], Words: words, Tail: 1,
	}
	s := section{ID: "shards", Title: "Shards", Blocks: []block{{Table: t}}}
	if len(list) > shownShards {
		s.Lead = capital(text.ShardsShown(len(list), shownShards)) + "; the report as JSON has all."
	}
	return []section{s}
}
