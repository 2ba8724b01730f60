package document

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/taktload/takt/internal/warn"
	"github.com/taktload/takt/pkg/takt"
)

const (
	maxDepth = 32 // largest depth of a driver's own section; stops at cycles, which encoding/json then refuses
	maxNamed = 5  // largest number of paths in the warning
)

// Finite returns encode(r). JSON has no NaN and no infinity, and a report with one of them (from a driver's own
// section, say) is better than none after an hour's run. If JSON cannot represent a number of r, it returns encode of a
// copy in which NaN and infinity are 0, or null where the type permits it, and a warning names
// them. The error is that of encode.
func Finite(r *takt.Report, encode func(*takt.Report) ([]byte, error)) ([]byte, error) {
	b, err := encode(r)
	if _, odd := err.(*json.UnsupportedValueError); odd {
		return encode(copyOf(r))
	}
	return b, err
}

func copyOf(r *takt.Report) *takt.Report {
	var f finite
	fixed := f.copy(reflect.ValueOf(*r), "", 0).Interface().(takt.Report)
	names := strings.Join(f.paths[:min(len(f.paths), maxNamed)], ", ")
	fixed.Warn(warn.NotFinite, "%d numbers were not finite and are written as 0 or null, this is a fault of takt: %s", takt.Number("numbers", len(f.paths)), names)
	return &fixed
}

// finite copies values without NaN and infinity, and records their paths.
type finite struct{ paths []string }

func (f *finite) copy(v reflect.Value, path string, depth int) reflect.Value {
	if depth > maxDepth {
		return v
	}
	switch v.Kind() {
	case reflect.Float32, reflect.Float64:
		return f.number(v, path)
	case reflect.Interface:
		return f.boxed(v, path, depth)
	case reflect.Pointer:
		return f.pointer(v, path, depth)
	case reflect.Struct:
		return f.object(v, path, depth)
	case reflect.Map:
		return f.dict(v, path, depth)
	case reflect.Slice:
		return f.list(v, path, depth)
	default:
		return v
	}
}

func odd(v reflect.Value) bool {
	return v.CanFloat() && (math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0))
}

func (f *finite) number(v reflect.Value, path string) reflect.Value {
	if !odd(v) {
		return v
	}
	f.paths = append(f.paths, strings.TrimPrefix(path, "."))
	return reflect.Zero(v.Type())
}

// boxed copies a value of type any, in which null can replace a number.
func (f *finite) boxed(v reflect.Value, path string, depth int) reflect.Value {
	if v.IsNil() {
		return v
	}
	inner := f.copy(v.Elem(), path, depth+1)
	if odd(v.Elem()) {
		return reflect.Zero(v.Type())
	}
	return inner
}

func (f *finite) pointer(v reflect.Value, path string, depth int) reflect.Value {
	if v.IsNil() {
		return v
	}
	out := reflect.New(v.Type().Elem())
	out.Elem().Set(f.copy(v.Elem(), path, depth+1))
	return out
}

func (f *finite) object(v reflect.Value, path string, depth int) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	for i := range v.NumField() {
		if field := v.Type().Field(i); field.IsExported() {
			out.Field(i).Set(f.copy(v.Field(i), path+"."+jsonName(field), depth+1))
		}
	}
	return out
}

// jsonName is the field's name in JSON.
func jsonName(field reflect.StructField) string {
	if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
		return name
	}
	return field.Name
}

func (f *finite) dict(v reflect.Value, path string, depth int) reflect.Value {
	if v.IsNil() {
		return v
	}
	out := reflect.MakeMapWithSize(v.Type(), v.Len())
	for _, key := range v.MapKeys() {
		out.SetMapIndex(key, f.copy(v.MapIndex(key), path+"."+fmt.Sprint(key), depth+1))
	}
	return out
}

func (f *finite) list(v reflect.Value, path string, depth int) reflect.Value {
	if v.IsNil() {
		return v
	}
	out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
	for i := range v.Len() {
		out.Index(i).Set(f.copy(v.Index(i), fmt.Sprintf("%s.%d", path, i), depth+1))
	}
	return out
}
