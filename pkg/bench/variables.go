package bench

import "github.com/taktload/takt/internal/program"

// variables are the flags of the program, given or not, for the report.
func (m *mainProgram) variables() map[string]any {
	v := map[string]any{}
	for _, f := range m.own() {
		if !program.Secret(f.Name) {
			v[program.Variable(f.Name)] = f.Value(m.flags.Lookup(f.Name).Value.String())
		}
	}
	return v
}
