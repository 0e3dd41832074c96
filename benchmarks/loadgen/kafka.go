package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Kafka works on one request of a connection at a time, so each request under way has one of its own. Connections are
// made one after another: a burst of them overruns the listener's queue.
type kafkaTarget struct {
	address, prefix string
	partitions      int32       // of each topic
	broker          *fakeBroker // who asks for producer ids; where nil, topics are created
	dialing         sync.Mutex
	mutex           sync.Mutex
	idle            []*kafkaConnection
}

type kafkaConnection struct {
	net.Conn
	formatter *kmsg.RequestFormatter
	sequence  int32
}

const kafkaAnswerLimit = 64 << 20

func openKafka(address, prefix string, partitions int32, isProducerIDs bool) (Target, error) {
	t := &kafkaTarget{address: address, prefix: prefix, partitions: partitions}
	if !isProducerIDs {
		return t, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	clusterID, err := t.clusterID(ctx)
	if err != nil {
		return nil, err
	}
	t.broker, err = newBroker(producerIDsBrokerID, clusterID)
	if err != nil {
		return nil, err
	}
	return t, t.broker.register(ctx, t)
}

func (t *kafkaTarget) Write(ctx context.Context, _ int, sequence uint64, batch int) error {
	if t.broker != nil {
		return t.allocateProducerIDs(ctx)
	}
	return t.createTopics(ctx, sequence, batch)
}

func (t *kafkaTarget) clusterID(ctx context.Context) (string, error) {
	request := kmsg.NewPtrDescribeClusterRequest()
	request.Version, request.EndpointType = 1, 2 // of controllers
	answer, err := t.ask(ctx, request)
	if err != nil {
		return "", err
	}
	described := answer.(*kmsg.DescribeClusterResponse)
	return described.ClusterID, kafkaError(described.ErrorCode)
}

func (t *kafkaTarget) allocateProducerIDs(ctx context.Context) error {
	request := kmsg.NewPtrAllocateProducerIDsRequest()
	request.BrokerID, request.BrokerEpoch = t.broker.id, t.broker.epoch
	answer, err := t.ask(ctx, request)
	if err != nil {
		return err
	}
	return kafkaError(answer.(*kmsg.AllocateProducerIDsResponse).ErrorCode)
}

func (t *kafkaTarget) createTopics(ctx context.Context, sequence uint64, batch int) error {
	request := kmsg.NewPtrCreateTopicsRequest()
	request.Version = 7
	request.TimeoutMillis = 30000
	for i := range batch {
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic = fmt.Sprintf("%s-%d-%d", t.prefix, sequence, i)
		topic.NumPartitions, topic.ReplicationFactor = t.partitions, 1
		request.Topics = append(request.Topics, topic)
	}
	answer, err := t.ask(ctx, request)
	if err != nil {
		return err
	}
	for _, topic := range answer.(*kmsg.CreateTopicsResponse).Topics {
		if err := kafkaError(topic.ErrorCode); err != nil {
			return fmt.Errorf("%s: %w", topic.Topic, err)
		}
	}
	return nil
}

func (t *kafkaTarget) ask(ctx context.Context, request kmsg.Request) (kmsg.Response, error) {
	connection, err := t.take(ctx)
	if err != nil {
		return nil, err
	}
	answer, err := connection.ask(ctx, request)
	if err != nil {
		connection.Close()
		return nil, err
	}
	t.mutex.Lock()
	t.idle = append(t.idle, connection)
	t.mutex.Unlock()
	return answer, nil
}

func (t *kafkaTarget) take(ctx context.Context) (*kafkaConnection, error) {
	t.mutex.Lock()
	if last := len(t.idle) - 1; last >= 0 {
		connection := t.idle[last]
		t.idle = t.idle[:last]
		t.mutex.Unlock()
		return connection, nil
	}
	t.mutex.Unlock()
	t.dialing.Lock()
	defer t.dialing.Unlock()
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", t.address)
	if err != nil {
		return nil, err
	}
	return &kafkaConnection{
		Conn: connection, formatter: kmsg.NewRequestFormatter(kmsg.FormatterClientID("loadgen")),
	}, nil
}

func (c *kafkaConnection) ask(ctx context.Context, request kmsg.Request) (kmsg.Response, error) {
	deadline, hasDeadline := ctx.Deadline()
	if !hasDeadline {
		deadline = time.Time{}
	}
	if err := c.SetDeadline(deadline); err != nil {
		return nil, err
	}
	c.sequence++
	if _, err := c.Conn.Write(c.formatter.AppendRequest(nil, request, c.sequence)); err != nil {
		return nil, err
	}
	var head [8]byte // length and correlation id
	if _, err := io.ReadFull(c.Conn, head[:]); err != nil {
		return nil, err
	}
	size := int(binary.BigEndian.Uint32(head[:4])) - 4
	if size < 0 || size > kafkaAnswerLimit {
		return nil, fmt.Errorf("an answer of %d bytes", size)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(c.Conn, body); err != nil {
		return nil, err
	}
	answer := request.ResponseKind()
	if answer.IsFlexible() && len(body) > 0 {
		body = body[1:] // no tags in the header
	}
	return answer, answer.ReadFrom(body)
}

func kafkaError(code int16) error {
	if code == 0 {
		return nil
	}
	return fmt.Errorf("error %d", code)
}

func (t *kafkaTarget) Close() {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for _, connection := range t.idle {
		connection.Close()
	}
}
