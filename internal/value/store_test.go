package value

import "testing"

// A store called none is a mistake of who wants no store.
func TestStoreNone(t *testing.T) {
	var where string
	f := Store(&where)
	if err := f.Set("none"); err == nil || where != "" {
		t.Errorf("%v, %q", err, where)
	}
	if err := f.Set("./none"); err != nil || where != "./none" {
		t.Errorf("%v, %q", err, where)
	}
}
