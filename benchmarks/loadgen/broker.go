package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	brokerID = 100
	// Another one asks for producer ids, with an epoch that no restart of the first changes.
	producerIDsBrokerID = 101
	heartbeatEvery      = time.Second
	registerEvery       = 100 * time.Millisecond
	registerTries       = 300
)

// What a broker of Kafka 4.3 supports, as far as a controller asks.
var brokerFeatures = []struct {
	name     string
	min, max int16
}{
	{"metadata.version", 7, 30}, {"kraft.version", 0, 1}, {"transaction.version", 0, 2}, {"group.version", 0, 1},
	{"eligible.leader.replicas.version", 0, 1}, {"share.version", 0, 2}, {"streams.version", 0, 1},
}

type fakeBroker struct {
	id          int32
	targets     []*kafkaTarget
	clusterID   string
	incarnation [16]byte
	directory   [16]byte
	epoch       int64
}

// runBroker registers a broker that holds nothing with Kafka's controllers, so that topics can be placed. It prints
// "ready" once it is unfenced, and keeps itself so until its input ends.
func runBroker(addresses []string, clusterID string) error {
	broker, err := newBroker(brokerID, clusterID)
	if err != nil {
		return err
	}
	for _, address := range addresses {
		broker.targets = append(broker.targets, &kafkaTarget{address: address})
	}
	err = fmt.Errorf("no controller answered")
	for range registerTries {
		if err = broker.beatAnywhere(); err == nil {
			break
		}
		time.Sleep(registerEvery)
	}
	if err != nil {
		return err
	}
	fmt.Println("ready")
	go func() {
		for {
			time.Sleep(heartbeatEvery)
			_ = broker.beatAnywhere() // there may be no leader for a while: the next one hears of it
		}
	}()
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// newBroker is one that is not registered yet.
func newBroker(id int32, clusterID string) (*fakeBroker, error) {
	broker := &fakeBroker{id: id, clusterID: clusterID, epoch: -1}
	for _, random := range [][]byte{broker.incarnation[:], broker.directory[:]} {
		if _, err := rand.Read(random); err != nil {
			return nil, err
		}
	}
	return broker, nil
}

func (b *fakeBroker) beatAnywhere() error {
	var err error
	for _, target := range b.targets {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		err = b.beat(ctx, target)
		cancel()
		if err == nil {
			return nil
		}
	}
	return err
}

func (b *fakeBroker) beat(ctx context.Context, target *kafkaTarget) error {
	if b.epoch < 0 {
		if err := b.register(ctx, target); err != nil {
			return err
		}
	}
	request := kmsg.NewPtrBrokerHeartbeatRequest()
	request.Version = 1
	request.BrokerID, request.BrokerEpoch, request.CurrentMetadataOffset = b.id, b.epoch, b.epoch
	answer, err := target.ask(ctx, request)
	if err != nil {
		return err
	}
	beat := answer.(*kmsg.BrokerHeartbeatResponse)
	if err := kafkaError(beat.ErrorCode); err != nil {
		return err
	}
	if beat.IsFenced {
		return fmt.Errorf("still fenced")
	}
	return nil
}

func (b *fakeBroker) register(ctx context.Context, target *kafkaTarget) error {
	request := kmsg.NewPtrBrokerRegistrationRequest()
	request.Version = 4
	request.BrokerID, request.ClusterID, request.IncarnationID = b.id, b.clusterID, b.incarnation
	listener := kmsg.NewBrokerRegistrationRequestListener()
	listener.Name, listener.Host, listener.Port = "PLAINTEXT", "127.0.0.1", 9
	request.Listeners = append(request.Listeners, listener)
	for _, each := range brokerFeatures {
		feature := kmsg.NewBrokerRegistrationRequestFeature()
		feature.Name, feature.MinSupportedVersion, feature.MaxSupportedVersion = each.name, each.min, each.max
		request.Features = append(request.Features, feature)
	}
	request.LogDirs = append(request.LogDirs, b.directory)
	request.PreviousBrokerEpoch = -1
	answer, err := target.ask(ctx, request)
	if err != nil {
		return err
	}
	registered := answer.(*kmsg.BrokerRegistrationResponse)
	if err := kafkaError(registered.ErrorCode); err != nil {
		return err
	}
	b.epoch = registered.BrokerEpoch
	return nil
}
