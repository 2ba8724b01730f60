package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// NOTICE has exactly the modules that are linked into the binary, with their versions.
func TestNotice(t *testing.T) {
	all, err := modules("../..")
	if err != nil {
		t.Fatal(err)
	}
	want, err := notice(all)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../NOTICE")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("NOTICE is not up to date; run go run ./scripts/notice. It should be:\n%s", want)
	}
}

func TestKind(t *testing.T) {
	for text, want := range map[string]string{
		"Apache License\nVersion 2.0":                                  "Apache-2.0",
		"Permission is hereby\ngranted, free of charge, to any person": "MIT",
		"Redistributions in binary form must … Neither the\nname of the copyright holder may be used to endorse or promote products": "BSD-3-Clause",
		"Redistributions in binary form must reproduce the above copyright notice":                                                   "BSD-2-Clause",
		"Apache License, and for some files: Permission is hereby granted, free of charge":                                           "Apache-2.0 and MIT",
		"All rights reserved.": "",
		"Redistributions in binary form … The name may not be used. Names may be used to endorse or promote products no": "BSD-3-Clause",
	} {
		m := module{Path: "x", Dir: t.TempDir()}
		if err := os.WriteFile(filepath.Join(m.Dir, "LICENSE.md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := m.kind(); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %s, %v; want %s", text, got, err, want)
		}
	}
	if _, err := (module{Path: "x", Dir: t.TempDir()}).kind(); err == nil {
		t.Error("a module without a licence passes")
	}
}

// Every licence goes into the folder, and a module that is not there is an error.
func TestCopyLicences(t *testing.T) {
	m, to := module{Path: "example.com/x", Dir: t.TempDir()}, t.TempDir()
	for _, name := range []string{"LICENSE", "NOTICE.txt", "README"} {
		if err := os.WriteFile(filepath.Join(m.Dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := copyLicences([]module{m}, to); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Join(to, "example.com/x"))
	if err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
	if err := copyLicences([]module{{Path: "gone"}}, to); err == nil {
		t.Error("a module that is not on this machine passes")
	}
}
