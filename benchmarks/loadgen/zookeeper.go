package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// As many sessions as this are shared by all clients; each pipelines what it is given.
const zooKeeperSessions = 16

type zooKeeperTarget struct {
	address, prefix string
	value           []byte
	mutex           sync.Mutex
	sessions        [zooKeeperSessions]*zk.Conn
}

// oneServer is a list of one that may be tried again at once: the client library would wait a second.
type oneServer struct{ address string }

func (s *oneServer) Init([]string) error { return nil }
func (s *oneServer) Len() int            { return 1 }
func (s *oneServer) Connected()          {}
func (s *oneServer) Next() (string, bool) {
	time.Sleep(probeEvery)
	return s.address, false
}

type quiet struct{}

func (quiet) Printf(string, ...interface{}) {}

func openZooKeeper(address, prefix string) (Target, error) {
	return &zooKeeperTarget{address: address, prefix: prefix, value: []byte(strings.Repeat("v", 128))}, nil
}

// session is the one of this client, made when it is first needed.
func (t *zooKeeperTarget) session(client int) (*zk.Conn, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	index := client % zooKeeperSessions
	if t.sessions[index] == nil {
		session, _, err := zk.Connect([]string{t.address}, 10*time.Second, zk.WithLogger(quiet{}), zk.WithLogInfo(false),
			zk.WithHostProvider(&oneServer{address: t.address}))
		if err != nil {
			return nil, err
		}
		t.sessions[index] = session
	}
	return t.sessions[index], nil
}

func (t *zooKeeperTarget) path(sequence uint64, i int) string {
	return fmt.Sprintf("/%s-%d-%d", t.prefix, sequence, i)
}

func (t *zooKeeperTarget) Write(ctx context.Context, client int, sequence uint64, batch int) error {
	session, err := t.session(client)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- t.create(session, sequence, batch) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *zooKeeperTarget) create(session *zk.Conn, sequence uint64, batch int) error {
	acl := zk.WorldACL(zk.PermAll)
	if batch == 1 {
		_, err := session.Create(t.path(sequence, 0), t.value, 0, acl)
		return err
	}
	creates := make([]interface{}, batch)
	for i := range batch {
		creates[i] = &zk.CreateRequest{Path: t.path(sequence, i), Data: t.value, Acl: acl}
	}
	results, err := session.Multi(creates...)
	for _, result := range results {
		err = errors.Join(err, result.Error)
	}
	return err
}

// Close takes a second for each session whose server does not answer.
func (t *zooKeeperTarget) Close() {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for _, session := range t.sessions {
		if session != nil {
			session.Close()
		}
	}
}
