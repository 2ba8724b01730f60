package takt

// Secret is a flag.Value that never shows its content.
type Secret string

// Set implements flag.Value.
func (s *Secret) Set(v string) error {
	*s = Secret(v)
	return nil
}

// String implements flag.Value and fmt.Stringer without revealing the secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return Redacted
}

// Secrets implements Secretive.
func (s Secret) Secrets() []string {
	if s == "" {
		return nil
	}
	return []string{string(s)}
}

// Redacted replaces a secret.
const Redacted = "xxxxx"

// Secretive is implemented by flag values and option sets with secrets. takt removes the
// returned secrets from commands, error samples, bodies and logs.
type Secretive interface{ Secrets() []string }
