package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	kraftv1 "loadgen/kraftv1"
)

// Calls that wait to be sent are taken together into one message, at most this many.
const coalesce = 256

type kraftTarget struct {
	connection *grpc.ClientConn
	prefix     string
	calls      chan *kraftv1.Call

	mutex   sync.Mutex
	next    uint64
	waiting map[uint64]chan *kraftv1.CreateTopicsResponse
	broken  error
}

func openKraft(address, prefix string) (Target, error) {
	connection, err := grpc.NewClient(address, append(fixedWindows(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(16<<20)))...)
	if err != nil {
		return nil, err
	}
	stream, err := kraftv1.NewControllerClient(connection).Session(context.Background())
	if err != nil {
		return nil, err
	}
	t := &kraftTarget{
		connection: connection, prefix: prefix, calls: make(chan *kraftv1.Call, 4096),
		waiting: make(map[uint64]chan *kraftv1.CreateTopicsResponse),
	}
	go t.send(stream)
	go t.receive(stream)
	return t, nil
}

func (t *kraftTarget) send(stream kraftv1.Controller_SessionClient) {
	for call := range t.calls {
		calls := []*kraftv1.Call{call}
		runtime.Gosched() // an answer wakes many clients at once: let them all ask before this is sent
	more:
		for len(calls) < coalesce {
			select {
			case another := <-t.calls:
				calls = append(calls, another)
			default:
				break more
			}
		}
		if err := stream.Send(&kraftv1.SessionRequest{Calls: calls}); err != nil {
			t.fail(err)
			return
		}
	}
}

func (t *kraftTarget) receive(stream kraftv1.Controller_SessionClient) {
	for {
		message, err := stream.Recv()
		if err != nil {
			t.fail(err)
			return
		}
		t.mutex.Lock()
		for _, answer := range message.GetAnswers() {
			if waiter, known := t.waiting[answer.GetRequestId()]; known {
				waiter <- answer.GetCreateTopics()
				delete(t.waiting, answer.GetRequestId())
			}
		}
		t.mutex.Unlock()
	}
}

func (t *kraftTarget) fail(err error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.broken == nil {
		t.broken = err
	}
	for id, waiter := range t.waiting {
		close(waiter)
		delete(t.waiting, id)
	}
}

func (t *kraftTarget) Write(ctx context.Context, _ int, sequence uint64, batch int) error {
	one := int32(1)
	topics := make([]*kraftv1.CreatableTopic, batch)
	for i := range batch {
		name := fmt.Sprintf("%s-%d-%d", t.prefix, sequence, i)
		topics[i] = &kraftv1.CreatableTopic{Name: name, NumPartitions: &one, ReplicationFactor: &one}
	}
	waiter := make(chan *kraftv1.CreateTopicsResponse, 1)
	t.mutex.Lock()
	if t.broken != nil {
		t.mutex.Unlock()
		return t.broken
	}
	t.next++
	id := t.next
	t.waiting[id] = waiter
	t.mutex.Unlock()
	t.calls <- &kraftv1.Call{
		RequestId: id, TimeoutMs: 30000,
		Request: &kraftv1.Call_CreateTopics{CreateTopics: &kraftv1.CreateTopicsRequest{Topics: topics}},
	}
	var answer *kraftv1.CreateTopicsResponse
	var open bool
	select {
	case answer, open = <-waiter:
	case <-ctx.Done():
		t.mutex.Lock()
		delete(t.waiting, id)
		t.mutex.Unlock()
		return ctx.Err()
	}
	if !open {
		return t.broken
	}
	if code := answer.GetOutcome().GetErrorCode(); code != 0 {
		return fmt.Errorf("refused with %d: %s", code, answer.GetOutcome().GetErrorMessage())
	}
	for _, topic := range answer.GetTopics() {
		if topic.GetErrorCode() != 0 {
			return fmt.Errorf("%s: error %d: %s", topic.GetName(), topic.GetErrorCode(), topic.GetErrorMessage())
		}
	}
	return nil
}

func (t *kraftTarget) Close() { t.connection.Close() }
