package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// prepare numbers the mutants of the first one's target and writes the files that contain all of
// them. A mutant outside of functions, such as that of a constant, has its own build and the number 0.
func (r *runner) prepare(mutants []*mutant, harmless *equivalents) error {
	r.limits, r.together, r.first = map[string]time.Duration{}, map[string]string{}, map[string]guard{}
	r.overlay = filepath.Join(r.dir, "all.json")
	byFile := map[string][]*mutant{}
	for i, m := range mutants {
		if m.target == mutants[0].target && m.routine != nil && !harmless.has(m) {
			m.number = i + 1
			byFile[m.file] = append(byFile[m.file], m)
		}
	}
	changed := map[string][]byte{}
	for file, all := range byFile {
		source, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, source, parser.PackageClauseOnly)
		if err != nil {
			return err
		}
		changed[file] = withAll(source, all)
		changed[path.Join(path.Dir(file), "mutant_in_use.go")] = fmt.Appendf(nil, selector, tree.Name)
	}
	return r.writeOverlay(r.overlay, changed)
}

// writeOverlay writes the file that makes go compile other sources instead of the real ones.
func (r *runner) writeOverlay(overlay string, changed map[string][]byte) error {
	replace := map[string]string{}
	for file, source := range changed {
		real, err := filepath.Abs(file)
		if err != nil {
			return err
		}
		replace[real] = overlay + "_" + strings.ReplaceAll(file, "/", "_")
		if err := os.WriteFile(replace[real], source, 0o600); err != nil {
			return err
		}
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	return os.WriteFile(overlay, b, 0o600)
}

// binary returns the test binary of a folder in which the mutant is, or "" if the mutant does not
// compile. All mutants of functions are in one binary; m = nil: the binary with these.
func (r *runner) binary(folder string, m *mutant) (string, error) {
	if m != nil && m.number == 0 {
		file, overlay := filepath.Join(r.dir, "one.test"), filepath.Join(r.dir, "one.json")
		if err := r.writeOverlay(overlay, map[string][]byte{m.file: m.source}); err != nil {
			return "", err
		}
		out, err := r.build(folder, overlay, file)
		if err != nil && bytes.HasPrefix(out, []byte("# ")) {
			return "", nil
		} else if err != nil {
			return "", fmt.Errorf("go test -c %s: %w\n%s", folder, err, out)
		}
		return file, nil
	}
	if r.together[folder] == "" {
		file := filepath.Join(r.dir, strings.ReplaceAll(folder, "/", "_")+".test")
		if out, err := r.build(folder, r.overlay, file); err != nil {
			return "", fmt.Errorf("go test -c %s: %w\n%s", folder, err, out)
		}
		r.together[folder] = file
	}
	return r.together[folder], nil
}

func (r *runner) build(folder, overlay, file string) ([]byte, error) {
	return exec.CommandContext(r.ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", file, "./"+folder).CombinedOutput()
}
