package cli

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// The labels that name the thing under test.
const (
	labelBranch       = "branch"
	labelRevision     = "revision"
	labelRevisionDate = "revision_date" // RFC 3339
)

// ciNames are the variables in which systems for continuous integration say what is
// built. The first that is set counts: of a pull request the branch that it is from.
var ciNames = []struct{ label, variable string }{
	{labelBranch, "GITHUB_HEAD_REF"},
	{labelBranch, "GITHUB_REF_NAME"},
	{labelRevision, "GITHUB_SHA"},
	{labelBranch, "CI_COMMIT_REF_NAME"}, // GitLab
	{labelRevision, "CI_COMMIT_SHA"},
	{labelRevisionDate, "CI_COMMIT_TIMESTAMP"},
	{labelBranch, "CHANGE_BRANCH"}, // Jenkins
	{labelBranch, "GIT_BRANCH"},
	{labelRevision, "GIT_COMMIT"},
	{labelBranch, "BUILDKITE_BRANCH"},
	{labelRevision, "BUILDKITE_COMMIT"},
	{labelBranch, "CIRCLE_BRANCH"},
	{labelRevision, "CIRCLE_SHA1"},
	{labelBranch, "BUILD_SOURCEBRANCHNAME"}, // Azure Pipelines
	{labelRevision, "BUILD_SOURCEVERSION"},
}

// thing is what the user, the checkout or CI says of the thing under test. What is
// said by --label goes before --git, and that before CI.
type thing struct {
	labels labels
	git    string // folder of the checkout; "": none
}

func (t *thing) addFlags(fs *goFlagSet) {
	fs.Var(&t.labels, "label", "`NAME=VALUE` of the thing under test, kept in the report; repeatable; branch, revision and revision_date are what verify goes by")
	fs.StringVar(&t.git, "git", "", "take the labels branch, revision and revision_date from the git checkout in `FOLDER`; . is here")
}

// values are the labels of a report.
func (t *thing) values(ctx context.Context, env Env) (map[string]string, error) {
	all := map[string]string{}
	for _, n := range ciNames {
		if v := cmp.Or(all[n.label], env.Getenv(n.variable)); v != "" {
			all[n.label] = v
		}
	}
	if t.git != "" {
		if err := fromGit(ctx, t.git, all); err != nil {
			return nil, err
		}
	}
	for name, value := range t.labels {
		all[name] = value
	}
	return all, nil
}

// fromGit sets the labels of the checkout. What is not committed makes another thing:
// its revision ends with -dirty.
func fromGit(ctx context.Context, folder string, all map[string]string) error {
	for _, ask := range []struct {
		label string
		args  []string
	}{
		{labelBranch, []string{"rev-parse", "--abbrev-ref", "HEAD"}},
		{labelRevision, []string{"rev-parse", "HEAD"}},
		{labelRevisionDate, []string{"show", "-s", "--format=%cI", "HEAD"}},
	} {
		out, err := git(ctx, folder, ask.args...)
		if err != nil {
			return err
		}
		all[ask.label] = out
	}
	changed, err := git(ctx, folder, "status", "--porcelain", "--untracked-files=no")
	if err == nil && changed != "" {
		all[labelRevision] += "-dirty"
	}
	return err
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
