package pool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/pool"
)

// TestMessages checks that the JSON of every message is exactly that of the contracts. C-001,
// C-003, C-006, C-007, C-009, C-018, C-030, C-032.
func TestMessages(t *testing.T) {
	for _, tc := range []struct {
		name string
		m    any
		want string
	}{
		{"request", pool.Request{ID: 7, Data: 42}, `{"id":7,"data":42}`},
		{"request without data", pool.Request{ID: 0}, `{"id":0,"data":null}`},
		{"named request", pool.Request{ID: 8, Data: pool.TaskData{Type: "add", Payload: map[string]int{"a": 1, "b": 2}}}, `{"id":8,"data":{"type":"add","payload":{"a":1,"b":2}}}`},
		{"response", pool.Answer(9, "done", nil), `{"callbackId":9,"result":"done"}`},
		{"empty response", pool.Answer(9, nil, nil), `{"callbackId":9,"result":null}`},
		{"pong", pool.Pong{CallbackID: 10, Type: "request"}, `{"callbackId":10,"type":"request"}`},
		{"text", pool.Answer(11, nil, &pool.RemoteError{Message: "no"}), `{"callbackId":11,"error":"no"}`},
		{"no text", pool.Answer(12, nil, &pool.RemoteError{}), `{"callbackId":12,"error":""}`},
		{"any error", pool.Answer(13, "ignored", errors.New("no")), `{"callbackId":13,"error":{"message":"no","type":"*errors.errorString"}}`},
		{"unknown task", pool.Answer(14, nil, &pool.UnknownTaskError{Type: `a"b`}), `{"callbackId":14,"error":{"message":"Unknown task type \"a\"b\"","type":"*pool.UnknownTaskError"}}`},
		{"fields", pool.Answer(15, nil, &pool.RemoteError{Message: "no", Fields: map[string]any{"code": 5, "message": "hidden"}}), `{"callbackId":15,"error":{"code":5,"message":"no"}}`},
		{"stack", pool.Answer(16, nil, &pool.RemoteError{Message: "boom", Type: "panic", Stack: "here"}), `{"callbackId":16,"error":{"message":"boom","stack":"here","type":"panic"}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := json.Marshal(tc.m)
			must(t, err)
			if string(got) != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// TestParseAnswer checks that both shapes of an error are read and extra members are kept. An
// error that is empty or no text is still one. C-009, C-011.
func TestParseAnswer(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     pool.Response
		err      *pool.RemoteError
	}{
		{"result", `{"callbackId":1,"result":"x"}`, pool.Response{CallbackID: 1, Result: "x"}, nil},
		{"number", `{"callbackId":1,"result":2.5}`, pool.Response{CallbackID: 1, Result: 2.5}, nil},
		{"no result", `{"callbackId":1}`, pool.Response{CallbackID: 1}, nil},
		{"pong", `{"callbackId":3,"type":"request"}`, pool.Response{CallbackID: 3}, nil},
		{"largest id", `{"callbackId":18446744073709551615,"result":1}`, pool.Response{CallbackID: 1<<64 - 1, Result: 1.0}, nil},
		{"text", `{"callbackId":1,"error":"no"}`, pool.Response{CallbackID: 1}, &pool.RemoteError{Message: "no"}},
		{"object", `{"callbackId":1,"error":{"message":"no"}}`, pool.Response{CallbackID: 1}, &pool.RemoteError{Message: "no"}},
		{"members", `{"callbackId":1,"error":{"message":"no","code":5,"type":"E"}}`, pool.Response{CallbackID: 1}, &pool.RemoteError{Message: "no", Type: "E", Fields: map[string]any{"code": 5.0}}},
		{"odd members", `{"callbackId":1,"error":{"message":5,"type":null}}`, pool.Response{CallbackID: 1}, &pool.RemoteError{Fields: map[string]any{"message": 5.0, "type": nil}}},
		{"empty text", `{"callbackId":1,"error":""}`, pool.Response{CallbackID: 1}, &pool.RemoteError{}},
		{"empty object", `{"callbackId":1,"error":{}}`, pool.Response{CallbackID: 1}, &pool.RemoteError{}},
		{"zero", `{"callbackId":1,"error":0}`, pool.Response{CallbackID: 1}, &pool.RemoteError{Message: "0"}},
		{"false", `{"callbackId":1,"error":false}`, pool.Response{CallbackID: 1}, &pool.RemoteError{Message: "false"}},
		{"null", `{"callbackId":1,"error":null}`, pool.Response{CallbackID: 1}, &pool.RemoteError{Message: "null"}},
		{"list", `{"callbackId":1,"error":["a"]}`, pool.Response{CallbackID: 1}, &pool.RemoteError{Message: `["a"]`}},
		{"error and result", `{"callbackId":1,"result":5,"error":"no"}`, pool.Response{CallbackID: 1}, &pool.RemoteError{Message: "no"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := pool.ParseAnswer([]byte(tc.in))
			if !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
			var remote *pool.RemoteError
			errors.As(err, &remote)
			if (err == nil) != (tc.err == nil) || tc.err != nil && !reflect.DeepEqual(remote, tc.err) {
				t.Errorf("got the error %#v, want %#v", err, tc.err)
			}
		})
	}
	for _, in := range []string{``, `5`, `[]`, `{}`, `{"result":5}`, `{"callbackId":-1}`, `{"callbackId":"1"}`, `{"callbackId":1,"error":`, `{"callbackId":1}x`} {
		if r, err := pool.ParseAnswer([]byte(in)); !errors.Is(err, pool.ErrMessage) || r != (pool.Response{}) {
			t.Errorf("ParseAnswer(%q) = %+v, %v", in, r, err)
		}
	}
}

// TestNumberErrorKeepsItsDigits checks that an error that came as a number has its digits as
// the text.
func TestNumberErrorKeepsItsDigits(t *testing.T) {
	var remote *pool.RemoteError
	_, err := pool.ParseAnswer([]byte(`{"callbackId":7,"error":1e999}`))
	if !errors.As(err, &remote) || remote.Message != "1e999" {
		t.Errorf("got %v, want the message 1e999", err)
	}
	r := new(pool.RemoteError)
	if err := json.Unmarshal([]byte(`1e999`), r); err != nil {
		t.Error(err)
	}
}

// TestAnswerRoundTrip checks that the pool reads what a worker says of a failure.
func TestAnswerRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[ -~äöü"\\]{0,20}`)
		want := &pool.RemoteError{Message: text.Draw(t, "message"), Type: text.Draw(t, "type"), Stack: text.Draw(t, "stack")}
		names := rapid.StringMatching(`[a-z]{1,8}`).Filter(func(s string) bool { return s != "message" && s != "type" && s != "stack" })
		if fields := rapid.MapOf(names, text).Draw(t, "fields"); len(fields) > 0 {
			want.Fields = map[string]any{}
			for k, v := range fields {
				want.Fields[k] = v
			}
		}
		id := rapid.Uint64().Draw(t, "id")
		data, err := json.Marshal(pool.Answer(id, nil, want))
		if err != nil {
			t.Fatal(err)
		}
		r, err := pool.ParseAnswer(data)
		var got *pool.RemoteError
		if !errors.As(err, &got) || !reflect.DeepEqual(got, want) || r.CallbackID != id {
			t.Fatalf("%s is read as %+v, %#v", data, r, err)
		}
	})
}

// TestOutcomesAsMessages checks that every way in which a call of a pool fails becomes a
// message with its text. C-002, C-010, C-037.
func TestOutcomesAsMessages(t *testing.T) {
	var h pool.Handlers
	h.HandleAll(map[string]pool.Handler{
		"adds":   func(_ context.Context, v any) (any, error) { return v.(int) + 1, nil },
		"fails":  func(context.Context, any) (any, error) { return nil, fmt.Errorf("disk %d", 3) },
		"panics": func(context.Context, any) (any, error) { panic("boom") },
	})
	p := newPool(t, &h, pool.Config{Lanes: 1})
	for _, tc := range []struct{ task, want string }{
		{"adds", `{"callbackId":5,"result":2}`},
		{"fails", `{"callbackId":5,"error":{"message":"disk 3","type":"*errors.errorString"}}`},
		{"panics", `{"callbackId":5,"error":{"message":"boom","stack":`},
		{"nothing", `{"callbackId":5,"error":{"message":"Unknown task type \"nothing\"","type":`},
	} {
		result, err := p.RunTask(bg, tc.task, 1)
		data, err := json.Marshal(pool.Answer(5, result, err))
		must(t, err)
		if tc.task == "fails" {
			data = []byte(strings.Replace(string(data), "*fmt.wrapError", "*errors.errorString", 1))
		}
		if !strings.HasPrefix(string(data), tc.want) {
			t.Errorf("got  %s\nwant %s", data, tc.want)
		}
	}
}
