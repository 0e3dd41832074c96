package main

import "github.com/anishathalye/porcupine"

// Operation is one line of a history; see tests/chaos/history.py.
type Operation struct {
	Client   int    `json:"client"`
	Kind     string `json:"kind"`
	Name     string `json:"name"`
	Called   int64  `json:"called"`
	Returned int64  `json:"returned"`
	Outcome  string `json:"outcome"`
	TopicID  string `json:"topic_id"`
}

// One name is in one of these states: absent, there under an id that nobody has told yet, or there under a known id.
const (
	absent  = ""
	untold  = "?"
	ok      = "ok"
	unknown = "unknown"
)

// Told says which ids were told to whoever created the topic: an untold one cannot be among them.
type Told map[string]bool

// step gives the states that may follow; none, if the operation cannot have ended so from this state.
func (told Told) step(state string, op Operation) []interface{} {
	switch op.Kind {
	case "create":
		return created(state, op)
	case "delete":
		return told.deleted(state, op)
	default:
		return told.read(state, op)
	}
}

func created(state string, op Operation) []interface{} {
	switch {
	case op.Outcome == ok && state == absent:
		return states(op.TopicID)
	case op.Outcome == "exists" && state != absent:
		return states(state)
	case op.Outcome == unknown && state == absent:
		return states(absent, untold)
	case op.Outcome == unknown:
		return states(state)
	}
	return nil
}

func (told Told) deleted(state string, op Operation) []interface{} {
	switch {
	case op.Outcome == ok && told.isThere(state, op.TopicID):
		return states(absent)
	case op.Outcome == "absent" && state == absent:
		return states(absent)
	case op.Outcome == unknown && state == absent:
		return states(absent)
	case op.Outcome == unknown:
		return states(state, absent)
	}
	return nil
}

func (told Told) read(state string, op Operation) []interface{} {
	switch {
	case op.Outcome == ok && told.isThere(state, op.TopicID):
		return states(op.TopicID)
	case op.Outcome == "absent" && state == absent:
		return states(absent)
	}
	return nil
}

// isThere says whether the topic of a name in this state can have this id.
func (told Told) isThere(state, id string) bool {
	return state == id || (state == untold && !told[id])
}

func states(all ...string) []interface{} {
	out := make([]interface{}, len(all))
	for i, state := range all {
		out[i] = state
	}
	return out
}

// model is the specification of one topic name.
func (told Told) model() porcupine.Model {
	nondeterministic := porcupine.NondeterministicModel{
		Init: func() []interface{} { return states(absent) },
		Step: func(state, input, output interface{}) []interface{} {
			return told.step(state.(string), input.(Operation))
		},
		Equal: func(one, other interface{}) bool { return one == other },
		DescribeOperation: func(input, output interface{}) string {
			op := input.(Operation)
			text := op.Kind + " " + op.Name + ": " + op.Outcome
			if op.TopicID != "" {
				text += " " + op.TopicID
			}
			return text
		},
	}
	return nondeterministic.ToModel()
}
