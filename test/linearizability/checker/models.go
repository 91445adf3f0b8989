package main

import "github.com/anishathalye/porcupine"

// The sequential models of one object each. A step says whether the object could have given that answer, and
// what it is afterwards. An operation without an answer may have taken effect at any time after its call, or
// never: its step is always possible, and it may come last.

// modelOf has a model for each kind of object.
var modelOf = map[string]porcupine.Model{
	"secret":     model(secret{}, stepSecret),
	"credential": model(credential{}, stepCredential),
	"budget":     model(0, stepBudget),
	"bound":      model(0, stepBound),
}

func model[S comparable](start S, step func(S, Input, *Output) (bool, S)) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return start },
		Step: func(state, input, output any) (bool, any) {
			return step(state.(S), input.(Input), output.(*Output))
		},
		DescribeOperation: describe,
	}
}

// A secret of one name: a register that can be absent. Each write has a value of its own.
type secret struct {
	version int    // 0: there is none
	id      string // "": not known, since the answer to its creation was lost
	value   string
}

// has says whether the secret of this id is there. One without a known id may be it.
func (s secret) has(id string) bool {
	return s.version > 0 && (id == "" || s.id == "" || s.id == id)
}

// lacks says whether the secret of this id may be absent.
func (s secret) lacks(id string) bool {
	return s.version == 0 || (id != "" && s.id != id)
}

// meets says whether the version is the one that a request requires with If-Match.
func (s secret) meets(in Input) bool {
	return in.Version == 0 || in.Version == s.version
}

func stepSecret(s secret, in Input, out *Output) (bool, secret) {
	if out == nil {
		return true, afterUnknown(s, in)
	}
	switch out.Status {
	case 404:
		return s.lacks(in.ID), s
	case 409: // a name that is taken
		return s.version > 0, s
	case 412:
		return s.has(in.ID) && !s.meets(in), s
	case 201:
		return s.version == 0 && out.Version == 1, secret{1, out.ID, in.Value}
	}
	switch in.Op {
	case "read":
		ok := s.has(out.ID) && s.has(in.ID) && s.version == out.Version && s.value == out.Value
		return ok, s.known(out.ID)
	case "put", "patch":
		ok := s.has(out.ID) && s.has(in.ID) && s.meets(in) && out.Version == s.version+1
		return ok, secret{s.version + 1, s.known(out.ID).id, in.Value}
	case "delete":
		return s.has(in.ID) && s.meets(in), secret{}
	}
	return false, s
}

// known is the secret with the id that an answer gave.
func (s secret) known(id string) secret {
	if id != "" {
		s.id = id
	}
	return s
}

func afterUnknown(s secret, in Input) secret {
	switch {
	case s.version == 0 && (in.Op == "create" || in.Op == "put"):
		return secret{1, "", in.Value}
	case (in.Op == "put" || in.Op == "patch") && s.has(in.ID) && s.meets(in):
		return secret{s.version + 1, s.known(in.ID).id, in.Value}
	case in.Op == "delete" && s.has(in.ID) && s.meets(in):
		return secret{}
	}
	return s
}

// A credential is live until it is revoked, and never again. So is its session token, which ends with it.
type credential struct {
	isRevoked bool
	hasEnded  bool // the session token, by itself
}

func stepCredential(c credential, in Input, out *Output) (bool, credential) {
	isOfSession := in.ID == "session"
	if in.Op == "revoke" {
		return true, credential{c.isRevoked || !isOfSession, c.hasEnded || isOfSession}
	}
	isOver := c.isRevoked || (isOfSession && c.hasEnded)
	return isOver == (out.Status == 401), c
}

// A budget is a number of uses: it admits exactly so many, and refuses from then on.
func stepBudget(used int, in Input, out *Output) (bool, int) {
	if out == nil {
		return true, min(used+1, in.Limit)
	}
	if out.Status != 200 {
		return used == in.Limit, used
	}
	ok := used < in.Limit && (out.Remaining == nil || *out.Remaining == in.Limit-used-1)
	return ok, used + 1
}

// A bound is a budget that may refuse below it: what replicas held when they ended counts as used for a minute.
func stepBound(used int, in Input, out *Output) (bool, int) {
	if out != nil && out.Status != 200 {
		return true, used
	}
	if out == nil {
		return true, min(used+1, in.Limit)
	}
	return used < in.Limit, used + 1
}
