package grpc

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

const (
	// mostScopes is how many scopes a name may stand in: parts of the package, and messages.
	mostScopes = 40
	// mostNames bounds the full names of all declarations, each by the scopes in which others are looked for: 400 KiB of fields, a
	// hundred messages deep, took 17 s and 0.8 GiB.
	mostNames = 512 << 20
	// mostWays bounds how many ways lead through public imports, each of which is walked: two files, on forty levels, took forever.
	mostWays = 1e15
)

// costs refuses descriptors that cost more than their size says.
type costs struct {
	names int     // bytes, each counted once a scope
	ways  float64 // an upper bound: the product of public imports of all files, plus 1 each
}

// add counts a file.
func (c *costs) add(f *descriptorpb.FileDescriptorProto) error {
	c.ways = max(1, c.ways) * float64(1+len(f.GetPublicDependency()))
	s := scope{c, len(f.GetPackage()), 1 + strings.Count(f.GetPackage(), ".")}
	deep := s.deep() || s.messages(f.GetMessageType())
	s.enums(f.GetEnumType())
	s.fields(f.GetExtension())
	for _, service := range f.GetService() {
		in := s.in(service.GetName())
		for _, m := range service.GetMethod() {
			in.in(m.GetName())
		}
	}
	switch {
	case deep:
		return fmt.Errorf("file %s: a declaration is within more than %d packages and messages", quoted(f.GetName()), mostScopes)
	case c.names > mostNames:
		return fmt.Errorf("file %s: there are too many declarations, or their full names are too long", quoted(f.GetName()))
	case c.ways > mostWays:
		return fmt.Errorf("file %s: there are too many public imports", quoted(f.GetName()))
	}
	return nil
}

// scope is a package or a message.
type scope struct {
	of      *costs
	length  int // of its full name
	parents int
}

func (s scope) deep() bool { return s.parents > mostScopes }

// in counts a declaration of that name, and is its scope.
func (s scope) in(name string) scope {
	in := scope{s.of, s.length + 1 + len(name), s.parents + 1}
	s.of.names += in.length * in.parents
	return in
}

// messages reports whether one of them is too deep.
func (s scope) messages(list []*descriptorpb.DescriptorProto) bool {
	for _, m := range list {
		in := s.in(m.GetName())
		if in.deep() || in.messages(m.GetNestedType()) {
			return true
		}
		in.fields(m.GetField())
		in.fields(m.GetExtension())
		in.enums(m.GetEnumType())
		for _, o := range m.GetOneofDecl() {
			in.in(o.GetName())
		}
	}
	return false
}

func (s scope) fields(list []*descriptorpb.FieldDescriptorProto) {
	for _, f := range list {
		s.in(f.GetName())
	}
}

func (s scope) enums(list []*descriptorpb.EnumDescriptorProto) {
	for _, e := range list {
		s.in(e.GetName())
		for _, v := range e.GetValue() {
			s.in(v.GetName()) // beside its enum, by the rules of C++
		}
	}
}

// link makes files of descriptors, unless they cost too much.
func link(set *descriptorpb.FileDescriptorSet) (*protoregistry.Files, error) {
	var c costs
	for _, f := range set.GetFile() {
		if err := c.add(f); err != nil {
			return nil, err
		}
	}
	return protodesc.NewFiles(set)
}
