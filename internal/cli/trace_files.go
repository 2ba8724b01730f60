package cli

import (
	"bufio"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/outfile"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/convert"
	"github.com/taktload/takt/internal/value"
)

// traceFiles is the command that creates the files that a log requests, like mkLoadTestFiles.
type traceFiles struct {
	tracing
	root   string
	making convert.Making
}

func newTraceFiles(env core.Env) *cobra.Command {
	f := &traceFiles{tracing: newTracing(env), root: ".", making: convert.Making{Limit: 10 << 30}}
	c := &cobra.Command{
		Use:   "files LOG…",
		Short: "create the files that a log requests, each with the recorded size",
		Long:  "For each created file, takt writes a row of the load format to standard output.",
		Example: `  takt trace files load.csv --root /var/www/html
  takt trace files access.log --root html --zero --for 1000`,
		Annotations: map[string]string{core.LegacyFlags: "from for zero"},
	}
	return f.command(c, f.addFlags, func() []error {
		if f.making.Limit < 1 {
			return []error{fmt.Errorf("--limit is %d; give bytes above 0", f.making.Limit)}
		}
		return nil
	}, f.write)
}

func (f *traceFiles) addFlags(fs *pflag.FlagSet) {
	value.Declare(fs, value.GroupOutput, func(fs *pflag.FlagSet) {
		fs.Var(value.OutFile(&f.root), "root", "create the files below `FOLDER`, and never outside it; takt creates FOLDER, too")
		fs.BoolVar(&f.making.Zero, "zero", false, "create sparse files: the same sizes, but all bytes are 0 and occupy no disk space")
		fs.Var(value.Size(&f.making.Limit), "limit", "create at most `BYTES`; files of --zero do not count")
	})
}

func (f *traceFiles) write(src trace.Stream) error {
	to, err := outfile.Follow(f.root)
	if err == nil {
		err = os.MkdirAll(to, 0o755)
	}
	if err != nil {
		return fmt.Errorf("%w; check --root", err)
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return fmt.Errorf("%w; check --root", err)
	}
	defer root.Close()
	rows := bufio.NewWriter(f.env.Stdout)
	m, err := convert.Files(root, src, f.making, rows)
	err = errors.Join(err, rows.Flush())
	fmt.Fprintf(f.env.Stderr, "takt trace: %d files made with %d bytes; %d were there, %d requests need none, %d cannot be made\n",
		m.Files, m.Bytes, m.Present, m.Skipped, m.Impossible)
	return err
}
