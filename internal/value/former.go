package value

import (
	"fmt"

	"github.com/spf13/pflag"
)

// Former is a flag of a predecessor that means what a flag of takt means. It is set before anything is checked, and
// has no other effect.
type Former struct {
	Of    string                   // the predecessor, as docs/coming-from.md calls it
	Name  string                   // of its flag, without dashes
	Flag  string                   // takt's
	Means func(text string) string // the value of takt's flag; "": the text sets nothing. A nil Means: the same text
	Unset string                   // the predecessor's default
	Usage string                   // for help
}

// AddFormer adds flags of predecessors to fs, which also gets those of takt, as members of a group.
func AddFormer(fs *pflag.FlagSet, group Group, rows ...Former) {
	Declare(fs, group, func(part *pflag.FlagSet) {
		for _, r := range rows {
			part.Var(&former{Former: r, fs: fs, text: r.Unset}, r.Name, r.Usage)
		}
	})
}

// FormerOf is the row of a predecessor's flag that means one of takt's.
func FormerOf(f *pflag.Flag) (r Former, ok bool) {
	v, ok := f.Value.(*former)
	if ok {
		r = v.Former
	}
	return r, ok
}

// Meant is the flag and the text that text means for f. Most flags mean themselves.
func Meant(f *pflag.Flag, text string) (*pflag.Flag, string) {
	v, ok := f.Value.(*former)
	if !ok {
		return f, text
	}
	to, meant := v.meant(text)
	if to == nil || meant == "" {
		return f, text
	}
	return to, meant
}

type former struct {
	Former
	fs   *pflag.FlagSet
	text string
}

func (f *former) meant(text string) (to *pflag.Flag, meant string) {
	if f.Means != nil {
		text = f.Means(text)
	}
	return f.fs.Lookup(f.Flag), text
}

// Set implements pflag.Value.
func (f *former) Set(text string) error {
	to, meant := f.meant(text)
	switch {
	case to == nil:
		return fmt.Errorf("there is no --%s, which it means", f.Flag)
	case meant == "":
		return nil
	}
	f.text, to.Changed = text, true
	return to.Value.Set(meant)
}

// String implements pflag.Value.
func (f *former) String() string { return f.text }

// Type implements pflag.Value.
func (f *former) Type() string { return "value" }

// Names implements Flag: those of takt's flag.
func (f *former) Names(text string) []Name {
	to, meant := f.meant(text)
	if to == nil {
		return nil
	}
	if v, ok := to.Value.(Flag); ok {
		return v.Names(meant)
	}
	return nil
}
