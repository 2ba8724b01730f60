package sqlite

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/taktload/takt/internal/judge/stored"
)

// The shards of a run are found without a look at other runs.
func TestGroupHasAnIndex(t *testing.T) {
	s := at(t, filepath.Join(t.TempDir(), "runs.db"))
	where, args := conditions(stored.Query{Group: "nightly"})
	rows, err := s.db.Query("EXPLAIN QUERY PLAN SELECT id FROM runs WHERE "+where+" ORDER BY started_at DESC, id DESC", args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	plan := ""
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		plan += detail
	}
	if !strings.Contains(plan, "runs_group") || strings.Contains(plan, "TEMP B-TREE") {
		t.Error(plan)
	}
}
