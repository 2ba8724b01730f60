package checkout

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/proc"
	"github.com/taktload/takt/internal/process"
)

// mostBuilds is the number of builds of a repository that stay in the cache.
const mostBuilds = 20

// Built is a commit that is checked out and built.
type Built struct {
	Folder string        // where its commands run: the user's folder in the checkout
	Log    string        // the file with the output of the build
	Took   time.Duration // 0: it was in the cache

	guard *guard
	tree  string // the checkout
}

// Close lets other processes remove the build.
func (b *Built) Close() { b.guard.close() }

// BuildError means that the build command failed.
type BuildError struct {
	Log  string         // the file with its output
	Tail []process.Line // the end of the output
	Err  error
}

// Error implements error.
func (e *BuildError) Error() string {
	return fmt.Sprintf("the build failed (%v); its output is in %s", e.Err, e.Log)
}

// Unwrap implements errors.Unwrap.
func (e *BuildError) Unwrap() error { return e.Err }

// Build checks out the commit in the cache and runs the command there, for at most this time. "": there is
// nothing to build. The same files and command are built once.
func (r *Repository) Build(ctx context.Context, c Commit, command string, most time.Duration) (*Built, error) {
	place := filepath.Join(r.cache, "builds", c.Tree[:12]+"-"+short(command+"\x00"+r.prefix))
	if err := os.MkdirAll(place, 0o755); err != nil {
		return nil, cacheFault(err)
	}
	g, err := openGuard(filepath.Join(place, "lock"))
	if err != nil {
		return nil, cacheFault(err)
	}
	tree := filepath.Join(place, "tree")
	b := &Built{Folder: filepath.Join(tree, filepath.FromSlash(r.prefix)), Log: filepath.Join(place, "build.log"), guard: g, tree: tree}
	if err := r.make(ctx, c, command, most, place, b); err != nil {
		b.Close()
		return nil, err
	}
	r.trim()
	return b, nil
}

// make builds unless the mark built says that this is done.
func (r *Repository) make(ctx context.Context, c Commit, command string, most time.Duration, place string, b *Built) error {
	mark := filepath.Join(place, "built")
	if err := b.guard.share(ctx); err != nil || exists(mark) {
		return err
	}
	if err := b.guard.own(ctx); err != nil || exists(mark) { // another process may have built it meanwhile
		return err
	}
	began, tree := time.Now(), filepath.Join(place, "tree")
	if err := removeAll(tree); err != nil {
		return cacheFault(err)
	}
	if err := r.clone(ctx, c, tree); err != nil {
		return err
	}
	if !exists(b.Folder) {
		return fmt.Errorf("the commit has no folder %s, in which the commands would run; run takt in a folder that both commits have", r.prefix)
	}
	if err := run(ctx, command, most, b); err != nil {
		return err
	}
	b.Took = time.Since(began)
	if err := os.WriteFile(mark, []byte(c.Hash+"\n"), 0o644); err != nil {
		return cacheFault(err)
	}
	return b.guard.share(ctx)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// run runs the command, with its output in the log.
func run(ctx context.Context, command string, most time.Duration, b *Built) error {
	f, err := os.Create(b.Log)
	if err != nil {
		return cacheFault(err)
	}
	defer f.Close()
	if command == "" {
		return nil
	}
	last := process.NewLog()
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir, cmd.Env = b.Folder, Environment(cmd.Environ())
	cmd.Stdout = &tee{file: f, last: last}
	cmd.Stderr = cmd.Stdout
	child, err := process.LaunchFenced(cmd, nil)
	if err != nil {
		return err
	}
	failed := func(err error) error { return &BuildError{Log: b.Log, Tail: last.Tail(tailLines, ""), Err: err} }
	late := time.NewTimer(most)
	defer late.Stop()
	select {
	case <-child.Done():
	case <-ctx.Done():
		child.Stop(stopTime)
		return cmp.Or(context.Cause(ctx), ctx.Err())
	case <-late.C:
		child.Stop(stopTime)
		return failed(&slowError{most})
	}
	child.Release() // a build may leave a daemon for the next one
	if err := child.Err(); err != nil {
		return failed(err)
	}
	return nil
}

// slowError is the end of a build that had not ended by itself.
type slowError struct{ most time.Duration }

// Error implements error.
func (e *slowError) Error() string {
	return fmt.Sprintf("not finished after %v; raise --build-timeout, or find what it waits for", e.most)
}

const (
	stopTime  = 2 * time.Second // for a build that is cancelled
	tailLines = 20
)

// mostLog is the part of a build's output that goes to the file, bytes.
const mostLog = 64 << 20

// tee writes to a log in memory even if the disk is full, and to the file up to mostLog.
type tee struct {
	file *os.File
	last *process.Log
	n    int
}

// Write never fails: a build whose output is not read would stop without a reason.
func (t *tee) Write(p []byte) (int, error) {
	_, _ = t.last.Write(p)
	part := p[:min(len(p), max(0, mostLog-t.n))]
	_, _ = t.file.Write(part)
	if len(part) < len(p) && t.n <= mostLog {
		_, _ = t.file.WriteString("\n… takt writes no more than 64 MiB of the output\n")
	}
	t.n += len(p)
	return len(p), nil
}

// Environment is that of the commands of a checkout: without takt's settings, and without git's variables,
// which name the user's repository.
func Environment(all []string) []string {
	return slices.DeleteFunc(proc.WithoutSettings(all), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(localVariables, name)
	})
}

// trim removes the builds that were used least recently.
func (r *Repository) trim() {
	places, _ := filepath.Glob(filepath.Join(escaped(r.cache), "builds", "*"))
	used := map[string]time.Time{}
	for _, place := range places {
		if info, err := os.Stat(filepath.Join(place, "lock")); err == nil {
			used[place] = info.ModTime()
		}
	}
	slices.SortFunc(places, func(a, b string) int { return used[b].Compare(used[a]) })
	for _, place := range places[min(mostBuilds, len(places)):] {
		remove(place)
	}
}

// remove removes a build unless a process uses it.
func remove(place string) {
	g, err := openGuard(filepath.Join(place, "lock"))
	if err != nil {
		return
	}
	defer g.close()
	now, cancel := context.WithTimeout(context.Background(), 0)
	defer cancel()
	if g.own(now) == nil {
		_ = removeAll(place)
	}
}

// removeAll removes a folder, also one with read-only folders, such as Go's module cache.
func removeAll(path string) error {
	err := os.RemoveAll(path)
	if err == nil {
		return nil
	}
	_ = filepath.WalkDir(path, func(p string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(p, 0o700)
		}
		return nil
	})
	return os.RemoveAll(path)
}

// escaped is a path in which no letter is a pattern of filepath.Glob.
func escaped(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// short is a short hash of a text.
func short(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}

// cacheFault says where takt keeps builds; nil for nil.
func cacheFault(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w; takt checks out and builds below XDG_CACHE_HOME, which needs space and must be writable", err)
}
