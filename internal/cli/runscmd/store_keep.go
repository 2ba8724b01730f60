package runscmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/cli/kept"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/store"
	"github.com/taktload/takt/internal/value"
)

// protecting is the command that protects runs from the limit of the store.
type protecting struct {
	env   core.Env
	store kept.Storing
	undo  bool
}

func newStoreKeep(env core.Env) *cobra.Command {
	k := &protecting{env: env}
	c := &cobra.Command{
		Annotations: core.TakesRuns(),
		Use:         "keep RUN…",
		Short:       "protect runs: neither the limit of the store nor takt store prune deletes them",
		Long: `The store has the mark beside the report: a report does not change after its run.
--label keep=yes or --label baseline=NAME protects a run from its start.`,
		Example: `  takt store keep @-1
  takt store keep 01JD3 --undo`,
	}
	flags := func(fs *pflag.FlagSet) {
		k.store.AddFlags(fs)
		value.Declare(fs, value.GroupStorage, func(fs *pflag.FlagSet) {
			fs.BoolVar(&k.undo, "undo", false, "end the protection by this command; labels still protect")
		})
	}
	return core.Define(c, flags, k.validate, k.run)
}

func (k *protecting) validate(args []string) (faults []error) {
	if len(args) == 0 {
		faults = append(faults, errors.New("takt store keep needs a run: give an id, or @-1 for the newest"))
	}
	return core.AppendError(faults, kept.NoEmpty(args))
}

func (k *protecting) run(ctx context.Context, args []string) error {
	return k.store.Reading(ctx, k.env, func(st store.Store) error {
		limited, ok := st.(store.Limited)
		if !ok {
			return errors.New("a cluster has no limit of runs, and no marks; protect a run from takt store prune with --label keep=yes when you make it")
		}
		runs, err := kept.FindRuns(ctx, st, args)
		if err != nil {
			return err
		}
		for i := range runs {
			if err := limited.Mark(ctx, runs[i].ID, !k.undo); err != nil {
				return err
			}
			k.tell(&runs[i])
		}
		return nil
	})
}

func (k *protecting) tell(r *stored.Run) {
	said := "is protected"
	if name := stored.LastingLabel(r.Labels); k.undo && name != "" {
		said = "is still protected, by its label " + name
	} else if k.undo {
		said = "is not protected any more"
	}
	fmt.Fprintf(k.env.Stderr, "takt store: the run %s %s\n", r.ID, said)
}
