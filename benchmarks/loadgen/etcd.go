package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

type etcdTarget struct {
	client *clientv3.Client
	prefix string
	value  string
}

func openEtcd(address, prefix string) (Target, error) {
	client, err := clientv3.New(clientv3.Config{
		Endpoints: []string{address}, DialTimeout: 5 * time.Second, DialOptions: fixedWindows(),
	})
	if err != nil {
		return nil, err
	}
	return &etcdTarget{client: client, prefix: prefix, value: strings.Repeat("v", 128)}, nil
}

func (t *etcdTarget) key(sequence uint64, i int) string {
	return fmt.Sprintf("%s-%d-%d", t.prefix, sequence, i)
}

func (t *etcdTarget) Write(ctx context.Context, _ int, sequence uint64, batch int) error {
	if batch == 1 {
		_, err := t.client.Put(ctx, t.key(sequence, 0), t.value)
		return err
	}
	puts := make([]clientv3.Op, batch)
	for i := range batch {
		puts[i] = clientv3.OpPut(t.key(sequence, i), t.value)
	}
	_, err := t.client.Txn(ctx).Then(puts...).Commit()
	return err
}

func (t *etcdTarget) Close() { t.client.Close() }
