package loadcmd

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/judge/stored"
	"github.com/taktload/takt/internal/value"
)

// builds are the environment variables in which CI systems name the branch and the revision.
// The first system with a variable set applies.
var builds = []struct {
	branch         []string // the first one set applies; the source branch of a pull request comes first
	revision, date string
}{
	{[]string{"GITHUB_HEAD_REF", "GITHUB_REF_NAME"}, "GITHUB_SHA", ""},
	{[]string{"CI_COMMIT_REF_NAME"}, "CI_COMMIT_SHA", "CI_COMMIT_TIMESTAMP"}, // GitLab
	{[]string{"CHANGE_BRANCH", "GIT_BRANCH"}, "GIT_COMMIT", ""},              // Jenkins
	{[]string{"BUILDKITE_BRANCH"}, "BUILDKITE_COMMIT", ""},
	{[]string{"CIRCLE_BRANCH"}, "CIRCLE_SHA1", ""},
	{[]string{"BUILD_SOURCEBRANCHNAME"}, "BUILD_SOURCEVERSION", ""}, // Azure Pipelines
}

// labelFlags describes the system under test. Labels come from --label, the checkout of --git, and
// CI; the earlier one wins.
type labelFlags struct {
	labels labels
	git    string // folder of the checkout; "": none
}

func (t *labelFlags) addFlags(fs *pflag.FlagSet) {
	value.Declare(fs, value.GroupStorage, t.declare)
}

func (t *labelFlags) declare(fs *pflag.FlagSet) {
	fs.Var(value.Repeated(&t.labels), "label", "label of the system under test, `NAME=VALUE`, kept in the report; repeatable; verify uses branch, revision and revision_date")
	fs.Var(value.Starting(value.OwnedPath(&t.git, "git opens its folder itself; give --label revision=NAME")), "git", "take the labels branch, revision and revision_date from the git checkout in `FOLDER`; . is here")
}

// validate checks the label revision_date, by which verify and collate sort revisions.
func (t *labelFlags) validate() error {
	date, ok := t.labels[stored.LabelRevisionDate]
	if !ok {
		return nil
	}
	_, err := stored.ParseRevisionDate(date)
	return value.Bad("label", stored.LabelRevisionDate+"="+date, err)
}

// values returns the labels of the report. A revision from --label drops a revision_date from
// git or CI, which belongs to another revision.
func (t *labelFlags) values(ctx context.Context, env core.Env) (map[string]string, error) {
	all := fromBuild(env)
	if t.git != "" {
		checkout, err := fromGit(ctx, t.git)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, checkout)
	}
	if _, ok := t.labels[stored.LabelRevision]; ok {
		delete(all, stored.LabelRevisionDate)
	}
	maps.Copy(all, t.labels)
	return all, nil
}

// fromBuild returns the labels from CI. It ignores a malformed date, which the user could not
// correct.
func fromBuild(env core.Env) map[string]string {
	all := map[string]string{}
	for _, b := range builds {
		for _, name := range b.branch {
			put(all, stored.LabelBranch, cmp.Or(all[stored.LabelBranch], env.Getenv(name)))
		}
		put(all, stored.LabelRevision, env.Getenv(b.revision))
		if date := env.Getenv(b.date); b.date != "" && all[stored.LabelRevision] != "" {
			if _, err := stored.ParseRevisionDate(date); err == nil {
				all[stored.LabelRevisionDate] = date
			}
		}
		if len(all) > 0 {
			break
		}
	}
	return all
}

// put sets the label, unless value is "".
func put(all map[string]string, label, value string) {
	if value != "" {
		all[label] = value
	}
}

// fromGit returns the labels of the checkout. A detached HEAD has no branch. With uncommitted
// changes, the revision ends with -dirty, because it is not the committed code.
func fromGit(ctx context.Context, folder string) (map[string]string, error) {
	all := map[string]string{}
	for _, ask := range []struct {
		label string
		args  []string
	}{
		{stored.LabelBranch, []string{"rev-parse", "--abbrev-ref", "HEAD"}},
		{stored.LabelRevision, []string{"rev-parse", "HEAD"}},
		{stored.LabelRevisionDate, []string{"show", "-s", "--format=%cI", "HEAD"}},
	} {
		out, err := git(ctx, folder, ask.args...)
		if err != nil {
			return nil, err
		}
		all[ask.label] = out
	}
	if all[stored.LabelBranch] == "HEAD" {
		delete(all, stored.LabelBranch)
	}
	changed, err := git(ctx, folder, "status", "--porcelain", "--untracked-files=no")
	if changed != "" {
		all[stored.LabelRevision] += "-dirty"
	}
	return all, err
}

func git(ctx context.Context, folder string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", folder}, args...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		why := cmp.Or(strings.TrimSpace(stderr.String()), err.Error())
		return "", value.Faultf("--git %s cannot be read: %s; give the folder of a checkout with a commit, or --label", folder, why)
	}
	return strings.TrimSpace(string(out)), nil
}

// labels is the value of a repeatable flag NAME=VALUE.
type labels map[string]string

func (l *labels) Set(s string) error {
	name, value, ok := strings.Cut(s, "=")
	if !ok || name == "" {
		return fmt.Errorf("label %q has no name; write it as name=value", s)
	}
	if *l == nil {
		*l = labels{}
	}
	(*l)[name] = value
	return nil
}

func (l *labels) String() string {
	var parts []string
	for name, value := range *l {
		parts = append(parts, name+"="+value)
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}
