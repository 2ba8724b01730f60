package kept

import (
	"errors"
	"testing"

	"github.com/taktload/takt/internal/store/spool"
)

func FuzzRecover(f *testing.F) {
	f.Add([]byte(`{"journal_version":1,"run":{"report":{"schema_version":1,"id":"R1"},"config":{"Window":5000000000}}}`),
		[]byte(`{"record":{"at":1000000000,"scheduled":5,"counted":{"counts":{"ok":5},"histograms":["","","","","","","",""]},"open":[{"due":5,"n":3}],"backlog":7}}`))
	f.Add([]byte(`{"journal_version":1,"run":{"closed":true,"report":{"schema_version":1,"id":"R1"},"config":{"Window":-1,"Warmup":1000}}}`),
		[]byte(`{"all":{"at":1000000000,"held":1,"growing":{},"counted":{"histograms":["","","","","","","",""]}},"record":{"at":2000000000,"counted":{"course":[[3,1,1,1]],"histograms":["","","","","","","",""]}}}`))
	f.Fuzz(func(t *testing.T, head, second []byte) {
		h, err := readHead(head)
		if err != nil || len(second) == 0 {
			return
		}
		s := spool.Open(t.TempDir())
		j, err := s.Begin("R1", head)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(j.Append(second), j.Close()); err != nil {
			t.Fatal(err)
		}
		for o, err := range s.Orphans() {
			if err != nil {
				t.Fatal(err)
			}
			_, _, _ = Left{o, h}.report()
			_ = o.Close()
		}
	})
}
