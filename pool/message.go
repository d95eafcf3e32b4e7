package pool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
)

// The messages between a pool and a worker that is not Go, as JSON. Lanes in this process send none,
// because they hand over the values themselves. Every message carries the id of its call. A worker
// sends that back as it came.

// Request is the message to a worker: {"id":7,"data":...}. Data is the argument of a call to a single
// task, or a [TaskData].
type Request struct {
	ID   uint64 `json:"id"` // of the call, unique while that is under way
	Data any    `json:"data"`
}

// TaskData is the data of a [Request] to one of several tasks:
// {"type":"add","payload":...}.
type TaskData struct {
	Type    string `json:"type"`    // the name of the task
	Payload any    `json:"payload"` // its argument
}

// Response is the answer to a [Request] that has succeeded: {"callbackId":7,"result":...}.
type Response struct {
	CallbackID uint64 `json:"callbackId"` // the ID of the request
	Result     any    `json:"result"`     // what the task returned
}

// ErrorResponse is the answer to a [Request] that has failed. With a text alone it is
// {"callbackId":7,"error":"no such file"}. With more it is
// {"callbackId":7,"error":{"message":"no such file","type":"*fs.PathError"}}. A message with the
// member error is an ErrorResponse, whatever the value of that.
type ErrorResponse struct {
	CallbackID uint64       `json:"callbackId"` // the ID of the request
	Error      *RemoteError `json:"error"`      // not nil
}

// ErrMessage reports bytes that are no answer.
var ErrMessage = errors.New("pool: malformed message")

// Answer returns the message that reports the outcome of a call: a [Response] if err is
// nil, and otherwise an [ErrorResponse].
func Answer(id uint64, result any, err error) any {
	if err == nil {
		return Response{id, result}
	}
	return ErrorResponse{id, remoteError(err)}
}

// ParseAnswer reads the outcome of a call from its message. The error is a [*RemoteError] if the call
// has failed. It is [ErrMessage] if data is no answer. Numbers, arrays and objects come as
// encoding/json reads them.
func ParseAnswer(data []byte) (Response, error) {
	var m struct {
		CallbackID *uint64         `json:"callbackId"`
		Result     any             `json:"result"`
		Error      json.RawMessage `json:"error"` // null stays what it is
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return Response{}, fmt.Errorf("%w: %w", ErrMessage, err)
	}
	if m.CallbackID == nil {
		return Response{}, fmt.Errorf("%w: no callbackId", ErrMessage)
	}
	r := Response{CallbackID: *m.CallbackID}
	if m.Error != nil {
		remote := new(RemoteError)
		if err := remote.UnmarshalJSON(m.Error); err != nil {
			return Response{}, fmt.Errorf("%w: %w", ErrMessage, err)
		}
		return r, remote
	}
	r.Result = m.Result
	return r, nil
}

// MarshalJSON returns the message as a string if there is nothing else. Otherwise it returns an object
// with "message", "type" and "stack". The members of Fields that have other names come with them.
func (e *RemoteError) MarshalJSON() ([]byte, error) {
	if e.Type == "" && e.Stack == "" && len(e.Fields) == 0 {
		return json.Marshal(e.Message)
	}
	members := maps.Clone(e.Fields)
	if members == nil {
		members = map[string]any{}
	}
	members["message"] = e.Message
	for name, text := range map[string]string{"type": e.Type, "stack": e.Stack} {
		if text != "" {
			members[name] = text
		}
	}
	return json.Marshal(members)
}

// UnmarshalJSON reads all that MarshalJSON writes or a worker may send. An empty string is an error
// without a text. A number or null is one with its digits or "null" as the text. Members that are
// not those of a RemoteError go to Fields.
func (e *RemoteError) UnmarshalJSON(data []byte) error {
	if n := bytes.TrimSpace(data); len(n) > 0 && bytes.IndexByte([]byte("-0123456789"), n[0]) >= 0 && json.Valid(n) {
		*e = RemoteError{Message: string(n)} // which may be more than a float64 can be
		return nil
	}
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return err
	}
	*e = RemoteError{}
	switch v := value.(type) {
	case string:
		e.Message = v
	case map[string]any:
		for name, to := range map[string]*string{"message": &e.Message, "type": &e.Type, "stack": &e.Stack} {
			if text, ok := v[name].(string); ok {
				*to = text
				delete(v, name)
			}
		}
		if len(v) > 0 {
			e.Fields = v
		}
	default:
		e.Message = string(data)
	}
	return nil
}
