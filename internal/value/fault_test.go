package value

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
)

func TestFaultf(t *testing.T) {
	for _, test := range []struct {
		err   error
		text  string
		flags []string
	}{
		{Faultf("--repeat is %d; give --more", 0), "--repeat is 0; give --more", []string{"repeat"}},
		{Faultf("both -d and --body-file %q are given; keep one", "--rate"), `both -d and --body-file "--rate" are given; keep one`, []string{"d", "body-file"}},
		{Faultf("%d%% of --%s are %d", 5, "loops", 7), "5% of --loops are 7", []string{"loops"}},
		{Faultf("cannot read it: %w; check --targets", io.EOF), "cannot read it: EOF; check --targets", []string{"targets"}},
		{Faultf("the command after -- is well-known"), "the command after -- is well-known", nil},
		{About(io.EOF, "-D", "--targets", "key"), "EOF", []string{"D", "targets", "key"}},
		{Bad("assert", "p1", io.EOF), "EOF", []string{"assert"}},
	} {
		var f *Fault
		if err := fmt.Errorf("%w", test.err); !errors.As(err, &f) || err.Error() != test.text || !slices.Equal(f.Flags, test.flags) {
			t.Errorf("%v, %v; want %s, %v", test.err, f.Flags, test.text, test.flags)
		}
	}
	if Bad("assert", "p99<1s", nil) != nil {
		t.Error("nothing is a fault")
	}
	if !errors.Is(Faultf("%w; check --targets", io.EOF), io.EOF) {
		t.Error("the cause is lost")
	}
}
