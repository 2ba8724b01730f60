package docker

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The shell of the image that builds apm-server, run in a folder with a go that only says how it
// was called: which Go, with modules or without, and what make sees.
func TestBuildOfAPMServer(t *testing.T) {
	all := stages(t, "apm-server/Dockerfile")[0]
	i := slices.IndexFunc(all, func(line string) bool {
		return strings.HasPrefix(line, "RUN ") && strings.Contains(line, `sh -c "$make"`)
	})
	if i < 0 {
		t.Fatalf("nothing builds in %q", all)
	}
	for name, test := range map[string]struct {
		files   map[string]string
		version string
		want    string // which go, GOTOOLCHAIN and GO111MODULE
	}{
		"6.8":              {map[string]string{".go-version": "1.14.15\n"}, "", "go1.14.15 local off"},
		"7.17":             {map[string]string{".go-version": "1.20.14\n", "go.mod": "module m\n\ngo 1.17\n"}, "", "go1.20.14 local "},
		"8":                {map[string]string{".go-version": "1.22.6\n", "go.mod": "module m\n\ngo 1.22.0\n"}, "", "image auto "},
		"main":             {map[string]string{"go.mod": "module m\n\ngo 1.26.3\n"}, "", "image auto "},
		"as the user says": {map[string]string{".go-version": "1.14.15\n", "go.mod": "module m\n\ngo 1.14\n"}, "1.19.13", "go1.19.13 local "},
		"a merge":          {map[string]string{".go-version": "<<<<<<< HEAD\n1.20.6\n=======\n1.20.7\n>>>>>>> a\n"}, "", "go1.20.7 local off"},
		"hostile":          {map[string]string{".go-version": "1.20; touch struck\n"}, "", "image auto off"},
	} {
		dir := filepath.Join(t.TempDir(), "src")
		test.files["Makefile"] = "GOBUILD_FLAGS?=-i -ldflags x\nall:\n\tgo build -i -o a .\n\tgo build -installsuffix b\n\tsed -i s/a/b/ c\n"
		test.files[".git/HEAD"] = "ref"
		// The go of the image names the folder of the version that it is asked for, which has a go of
		// its own.
		test.files["../bin/go"] = `#!/bin/sh
if [ "$1" = env ]; then [ "$GO111MODULE" != off ] && echo "$ROOTS/$GOTOOLCHAIN"; else echo "image $GOTOOLCHAIN $GO111MODULE" >said; fi
`
		if version, _, old := strings.Cut(test.want, " local"); old {
			test.files["../"+version+"/bin/go"] = "#!/bin/sh\necho \"" + version + " $GOTOOLCHAIN $GO111MODULE\" >said\n"
		}
		for path, text := range test.files {
			path = filepath.Join(dir, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("sh", "-c", strings.TrimPrefix(all[i], "RUN "))
		cmd.Dir = dir
		cmd.Env = []string{"ROOTS=" + filepath.Dir(dir), "PATH=" + filepath.Join(filepath.Dir(dir), "bin") + ":" + os.Getenv("PATH"), "go=" + test.version, "make=cp Makefile made && test -d .git"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", name, err, out)
			continue
		}
		read := func(path string) string {
			text, _ := os.ReadFile(filepath.Join(dir, path))
			return string(text)
		}
		if got := read("said"); got != test.want+"\n" {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
		if got, want := read("made"), "GOBUILD_FLAGS?= -ldflags x\nall:\n\tgo build  -o a .\n\tgo build -installsuffix b\n\tsed -i s/a/b/ c\n"; got != want {
			t.Errorf("%s: make sees %q, want %q", name, got, want)
		}
		if read(".git/HEAD") != "" || read("struck") != "" {
			t.Errorf("%s: .git is in the image, or a command of the file ran", name)
		}
	}
	// A failed build fails the image.
	cmd := exec.Command("sh", "-c", strings.TrimPrefix(all[i], "RUN "))
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GOFLAGS=-mod=mod", "go=", "make=false"}
	if err := os.WriteFile(filepath.Join(cmd.Dir, "go.mod"), []byte("module m\n\ngo 1.21\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Run(); err == nil {
		t.Error("a build that fails makes an image")
	}
}

// The folder that is built is where GOPATH mode finds it, and the one that the image copies.
func TestGOPATHOfAPMServer(t *testing.T) {
	const dir = "/go/src/github.com/elastic/apm-server"
	all := stages(t, "apm-server/Dockerfile")
	if !slices.Contains(all[0], "WORKDIR "+dir) || !slices.Contains(all[1], "COPY --from=build --chown=apm "+dir+" /apm-server") {
		t.Errorf("%q", all)
	}
}
