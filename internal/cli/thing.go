package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os/exec"
	"strings"

	"github.com/spf13/pflag"

	"github.com/taktload/takt/internal/analysis"
	"github.com/taktload/takt/internal/value"
)

// builds are the variables in which systems for continuous integration say what is
// built. The first that says something counts.
var builds = []struct {
	branch         []string // the first that is set: of a pull request the branch that it is from
	revision, date string
}{
	{[]string{"GITHUB_HEAD_REF", "GITHUB_REF_NAME"}, "GITHUB_SHA", ""},
	{[]string{"CI_COMMIT_REF_NAME"}, "CI_COMMIT_SHA", "CI_COMMIT_TIMESTAMP"}, // GitLab
	{[]string{"CHANGE_BRANCH", "GIT_BRANCH"}, "GIT_COMMIT", ""},              // Jenkins
	{[]string{"BUILDKITE_BRANCH"}, "BUILDKITE_COMMIT", ""},
	{[]string{"CIRCLE_BRANCH"}, "CIRCLE_SHA1", ""},
	{[]string{"BUILD_SOURCEBRANCHNAME"}, "BUILD_SOURCEVERSION", ""}, // Azure Pipelines
}

// thing is what the user, the checkout or CI says of the thing under test. What is
// said by --label goes before --git, and that before CI.
type thing struct {
	labels labels
	git    string // folder of the checkout; "": none
}

func (t *thing) addFlags(fs *pflag.FlagSet) {
	fs.Var(value.Plain(&t.labels), "label", "label of the system under test, `NAME=VALUE`, kept in the report; repeatable; verify uses branch, revision and revision_date")
	fs.Var(value.InFile(&t.git), "git", "take the labels branch, revision and revision_date from the git checkout in `FOLDER`; . is here")
}

// validate checks what verify and collate go by.
func (t *thing) validate() error {
	date, ok := t.labels[analysis.LabelRevisionDate]
	if !ok {
		return nil
	}
	_, err := analysis.ParseRevisionDate(date)
	return err
}

// values are the labels of a report. A date counts if who named the revision gave it, or
// the user.
func (t *thing) values(ctx context.Context, env Env) (map[string]string, error) {
	all := fromBuild(env)
	if t.git != "" {
		checkout, err := fromGit(ctx, t.git)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, checkout)
	}
	if _, ok := t.labels[analysis.LabelRevision]; ok {
		delete(all, analysis.LabelRevisionDate)
	}
	maps.Copy(all, t.labels)
	return all, nil
}

// fromBuild are the labels that CI gives. A date that is none is left out: nobody could
// mend it.
func fromBuild(env Env) map[string]string {
	all := map[string]string{}
	for _, b := range builds {
		for _, name := range b.branch {
			put(all, analysis.LabelBranch, cmp.Or(all[analysis.LabelBranch], env.Getenv(name)))
		}
		put(all, analysis.LabelRevision, env.Getenv(b.revision))
		if date := env.Getenv(b.date); b.date != "" && all[analysis.LabelRevision] != "" {
			if _, err := analysis.ParseRevisionDate(date); err == nil {
				all[analysis.LabelRevisionDate] = date
			}
		}
		if len(all) > 0 {
			break
		}
	}
	return all
}

// put sets the label, unless there is nothing to set.
func put(all map[string]string, label, value string) {
	if value != "" {
		all[label] = value
	}
}

// fromGit are the labels of the checkout; one that is detached is on no branch. What is
// not committed makes another thing: its revision ends with -dirty.
func fromGit(ctx context.Context, folder string) (map[string]string, error) {
	all := map[string]string{}
	for _, ask := range []struct {
		label string
		args  []string
	}{
		{analysis.LabelBranch, []string{"rev-parse", "--abbrev-ref", "HEAD"}},
		{analysis.LabelRevision, []string{"rev-parse", "HEAD"}},
		{analysis.LabelRevisionDate, []string{"show", "-s", "--format=%cI", "HEAD"}},
	} {
		out, err := git(ctx, folder, ask.args...)
		if err != nil {
			return nil, err
		}
		all[ask.label] = out
	}
	if all[analysis.LabelBranch] == "HEAD" {
		delete(all, analysis.LabelBranch)
	}
	changed, err := git(ctx, folder, "status", "--porcelain", "--untracked-files=no")
	if changed != "" {
		all[analysis.LabelRevision] += "-dirty"
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
		return "", fmt.Errorf("--git %s cannot be read: %s; give the folder of a checkout with a commit, or --label", folder, why)
	}
	return strings.TrimSpace(string(out)), nil
}
